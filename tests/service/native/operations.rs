//! Every operation of the interface has a method of the client, which the sandbox accepts over a socket.

use super::{email, order};
use guichet::operations::*;
use guichet::protocol::Operation;
use guichet::values::{
    Amount, BillingCycle, ConfirmationMethod, Currency, MerchantReference, MethodCode, Phone, PlanCode,
};
use guichet::{Client, SecretKey};
use guichet_sandbox::Sandbox;

#[tokio::test]
async fn every_method_of_the_client_gets_a_response() {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let merchant = sandbox.merchant().await.expect("a merchant");
    let key = SecretKey::new(merchant.secret_key().expose()).expect("a key");
    let client = Client::builder(merchant.base_url(), key).build().expect("a client");
    send_all(&client).await.expect("every operation gets a response");

    let requests = merchant.requests().await.expect("the requests");
    for request in &requests {
        assert!(request.status.is_some_and(|status| status < 300), "{request:?}");
    }
    macro_rules! check {
        ($($operation:ident)*) => {$(
            let name = <$operation as Operation>::SPEC.name;
            assert!(requests.iter().any(|request| request.operation == name), "`send_all` does not send {name}");
        )*};
    }
    guichet::every_operation!(check);
    sandbox.stop().await;
}

/// The documentation of a client's method begins with the HTTP method and the path of its operation. Its example runs with
/// the doctests.
#[test]
fn every_operation_has_a_method_of_the_client() {
    let native = crate::support::root().join("src/native");
    let files = std::fs::read_dir(native.join("calls")).expect("the folder exists");
    let files = files.map(|file| file.expect("a file").path()).chain([native.join("customer.rs")]);
    let calls: String = files.map(|file| std::fs::read_to_string(file).expect("it is text")).collect();
    macro_rules! check {
        ($($operation:ident)*) => {$(
            let spec = <$operation as Operation>::SPEC;
            let begin = format!("/// `{} {}`: ", spec.method.as_str(), spec.path);
            assert!(calls.contains(&begin), "{} has no method in src/native/calls/ that begins with {begin}", spec.name);
        )*};
    }
    guichet::every_operation!(check);
}

async fn send_all(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
    let session = client.create_session(&email()).await?;
    let customer = client.customer(&session.session_token);
    customer.validate().await?;
    customer.revoke().await?;

    client.list_payment_methods(&ListPaymentMethods::new()).await?;
    let amount = Amount::units(45_000);
    client.calculate_fee(&CalculateFee::new(MethodCode::new("card")?, Currency::xaf(), amount)).await?;

    let phone = |number| Phone::new(number).map(|phone| Instrument::MobileMoney { phone });
    let numbered = |number: u32| -> Result<CreatePaymentIntent, Box<dyn std::error::Error>> {
        let mut order = order();
        order.merchant_reference = MerchantReference::new(format!("ORDER-{number}"))?;
        Ok(order)
    };
    let manual = client.create_payment_intent(&numbered(1)?.confirmation_method(ConfirmationMethod::Manual)).await?;
    client.attach_payment_method(&manual.id, phone("237670000000")?).await?;
    client.confirm_payment_intent(&manual.id).await?;
    let asking = client.create_payment_intent(&numbered(2)?).await?;
    client.attach_payment_method(&asking.id, phone("237670000010")?).await?;
    client.answer_payment_intent(&asking.id, "123456").await?;
    let given_up = client.create_payment_intent(&numbered(3)?).await?;
    client.cancel_payment_intent(&given_up.id).await?;
    client.read_payment_intent(&given_up.id).await?;
    assert_eq!(client.list_payment_intents(&ListPaymentIntents::new()).await?.entries.len(), 3);
    assert_eq!(client.list_customers(&ListCustomers::new()).await?.entries.len(), 1);

    let package = client.list_esim_packages(&ListEsimPackages::new()).await?.entries.remove(0);
    let order = client.create_esim_order(&CreateEsimOrder::new(package.id)).await?;
    client.read_esim_order(&order.order_id).await?;

    let gold = CreatePlan::new("Gold", PlanCode::new("gold")?, Amount::units(5_000), BillingCycle::Monthly);
    let plan = client.create_plan(&gold).await?;
    let create = CreateSubscription::new(
        plan.code,
        email(),
        CustomerName { firstname: "Awa", lastname: "Ngono" },
        phone("237670000000")?,
    );
    let id = client.create_subscription(&create).await?.id;
    client.change_subscription_payment_method(&id, phone("237690000000")?).await?;
    client.configure_fallback(&ConfigureFallback::new(id.clone(), phone("237670000000")?)).await?;
    client.pause_subscription(&PauseSubscription::new(id.clone())).await?;
    client.resume_subscription(&id).await?;
    client.cancel_subscription(&CancelSubscription::new(id.clone())).await?;
    client.read_subscription(&id).await?;
    assert_eq!(client.list_subscriptions(&ListSubscriptions::new()).await?.entries.len(), 1);
    client.deactivate_plan(&plan.id).await?;
    assert!(client.list_plans(&ListPlans::new()).await?.entries.is_empty());
    Ok(())
}
