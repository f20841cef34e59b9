//! The native client against the sandbox, over a socket.

use guichet::native::QuoteRequest;
use guichet::operations::{
    CalculateFee, Card, CreatePaymentIntent, CustomerName, Instrument, Item, ListPaymentMethods, PaidWith,
};
use guichet::protocol::Kind;
use guichet::values::{
    Amount, CardType, CheckoutUrl, Country, Currency, Email, FeeBearer, IntentStatus, MerchantReference, MethodCode,
    Phone, RedirectUrl, SessionToken,
};
use guichet::{Client, SecretKey};
use guichet_sandbox::{Fault, Sandbox, Tenant};

#[tokio::test]
async fn a_session_is_created_validated_and_revoked() {
    let (sandbox, merchant, client) = open().await;
    let before = merchant.now().await.expect("the time").unix();
    let session = client.create_session(&email()).await.expect("a session");
    assert_eq!(session.customer_email, "awa@example.com");
    let created = session.ends().expect("a moment").unix() - 30 * 60;
    assert!(
        (before..=merchant.now().await.expect("the time").unix()).contains(&created),
        "30 minutes from its creation"
    );

    let customer = client.customer(&session.session_token);
    let state = customer.validate().await.expect("an answer");
    assert_eq!((state.valid, state.customer_email.as_deref()), (true, Some("awa@example.com")));
    assert!(customer.revoke().await.expect("it is revoked").revoked);
    assert!(customer.revoke().await.expect("a logout can be repeated").revoked);
    let state = customer.validate().await.expect("an answer");
    assert_eq!((state.valid, state.reason.as_deref()), (false, Some("revoked")));
    sandbox.stop().await;
}

#[tokio::test]
async fn an_expired_or_unknown_session_is_a_result_and_no_error() {
    let (sandbox, merchant, client) = open().await;
    let session = client.create_session(&email()).await.expect("a session");
    merchant.clock().advance(30 * 60).await.expect("the clock moves");
    let state = client.customer(&session.session_token).validate().await.expect("an answer");
    assert_eq!((state.valid, state.reason.as_deref()), (false, Some("expired")));

    let unknown = client.customer(&SessionToken::new("cst_test_unknown"));
    assert_eq!(unknown.validate().await.expect("a response").reason.as_deref(), Some("unknown"));
    assert_eq!(unknown.revoke().await.expect_err("unknown").kind(), Kind::Session);
    sandbox.stop().await;
}

#[tokio::test]
async fn methods_and_fees_are_read() {
    let (sandbox, _, client) = open().await;
    let country = Country::cm();
    let methods =
        client.list_payment_methods(&ListPaymentMethods::new().country_code(country.clone())).await.expect("methods");
    assert!(methods.iter().any(|method| method.id.code().as_str() == "mobile_money" && method.active));
    let method = MethodCode::new("mobile_money").expect("a code");
    let fee = client
        .calculate_fee(&CalculateFee::new(method, Currency::xaf(), amount()).country_code(country))
        .await
        .expect("a fee");
    assert_eq!([fee.amount, fee.fee, fee.total_payable], [45_000, 900, 45_900].map(Amount::units));
    sandbox.stop().await;
}

#[tokio::test]
async fn quotes_show_what_the_customer_pays_and_the_merchant_gets_cheapest_first() {
    let (sandbox, _, client) = open().await;
    let (local, international) = (Some(CardType::Local), Some(CardType::International));
    // If the merchant bears the fee, the customer pays the same with every method, and the service's order stays.
    for (bearer, expected) in [
        (
            FeeBearer::Customer,
            [
                ("mobile_money", None, 45_900, 45_000),
                ("card", local, 46_305, 45_000),
                ("card", international, 46_755, 45_000),
            ],
        ),
        (
            FeeBearer::Merchant,
            [
                ("mobile_money", None, 45_000, 44_100),
                ("card", local, 45_000, 43_695),
                ("card", international, 45_000, 43_245),
            ],
        ),
    ] {
        let sale = QuoteRequest::new(amount()).fee_bearer(bearer).country_code(Country::cm());
        let quotes = client.quotes(&sale).await.expect("quotes");
        let figures = quotes.iter().map(|quote| {
            let price = quote.price.as_ref().expect("a price");
            let gets = price.merchant_gets.and_then(Amount::whole_units).expect("whole units");
            let pays = price.customer_pays.whole_units().expect("whole units");
            assert_eq!(price.currency, Currency::xaf());
            (quote.payment_method.as_str(), quote.card_type, pays, gets)
        });
        assert_eq!(figures.collect::<Vec<_>>(), expected, "{bearer}");
    }
    sandbox.stop().await;
}

#[tokio::test]
async fn a_method_whose_fee_cannot_be_calculated_is_quoted_with_its_error() {
    let (sandbox, merchant, client) = open().await;
    merchant.fault(Fault::status::<CalculateFee>(422)).await.expect("a fault");
    let quotes = client.quotes(&QuoteRequest::new(amount()).fee_bearer(FeeBearer::Customer)).await.expect("quotes");
    assert_eq!(quotes.len(), 3);
    assert!(quotes[..2].iter().all(|quote| quote.price.is_ok()));
    let error = quotes[2].price.as_ref().expect_err("the last method has no fee");
    assert_eq!((error.kind(), error.operation()), (Kind::Refused, Some("calculate_fee")));
    sandbox.stop().await;
}

#[tokio::test]
async fn an_order_is_one_intent_and_is_paid_by_phone() {
    let (sandbox, merchant, client) = open().await;
    let intent = client.create_payment_intent(&order("ORDER-17")).await.expect("an intent");
    assert_eq!((intent.amount, &intent.status), (amount(), &IntentStatus::RequiresAction));
    assert!(intent.checkout_url.as_ref().is_some_and(|url: &CheckoutUrl| url.expose().starts_with(sandbox.base_url())));
    let repeated = client.create_payment_intent(&order("ORDER-17")).await.expect("the same intent");
    assert_eq!((repeated.id, repeated.payment_ref), (intent.id.clone(), intent.payment_ref.clone()));

    let phone = Phone::new("237670000002").expect("a phone");
    client.attach_payment_method(&intent.id, Instrument::mobile_money(phone)).await.expect("it is tried");
    merchant.clock().advance(60).await.expect("the clock moves");
    let declined = client.read_payment_intent(&intent.id).await.expect("the intent");
    assert_eq!(declined.status, IntentStatus::RequiresAction);
    assert_eq!(declined.last_payment_error.map(|error| error.code).as_deref(), Some("insufficient_funds"));

    let phone = Phone::new("237670000000").expect("a phone");
    client.attach_payment_method(&intent.id, Instrument::mobile_money(phone)).await.expect("it is tried");
    assert_eq!(client.read_payment_intent(&intent.id).await.expect("the intent").status, IntentStatus::Succeeded);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_card_pays_and_its_number_is_not_stored() {
    let (sandbox, merchant, client) = open().await;
    let intent = client.create_payment_intent(&order("ORDER-18")).await.expect("an intent");
    let card = Card { number: "4242424242424242".into(), exp_month: 12, exp_year: 2034, cvc: "123".into() };
    client.attach_payment_method(&intent.id, Instrument::Card { card }).await.expect("it is tried");
    merchant.clock().advance(60).await.expect("the clock moves");
    let paid = client.read_payment_intent(&intent.id).await.expect("the intent");
    assert_eq!(paid.status, IntentStatus::Succeeded);
    let PaidWith::Card { brand, last4 } = paid.payment_method.expect("a method") else { panic!("it was a card") };
    assert_eq!((brand.as_str(), last4.as_str()), ("visa", "4242"));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_reused_reference_is_a_conflict_that_names_the_existing_intent() {
    let (sandbox, _, client) = open().await;
    let intent = client.create_payment_intent(&order("ORDER-19")).await.expect("an intent");
    let other = order("ORDER-19").fee_bearer(FeeBearer::Merchant);
    let error = client.create_payment_intent(&other).await.expect_err("another body");
    assert_eq!((error.kind(), error.code()), (Kind::Refused, Some("merchant_reference_conflict")));
    assert_eq!(error.existing_id(), Some(intent.id.as_str()));
    assert!(error.request_id().is_some());
    sandbox.stop().await;
}

#[tokio::test]
async fn another_merchants_intent_is_not_found_and_a_wrong_key_is_refused() {
    let (sandbox, _, client) = open().await;
    let intent = client.create_payment_intent(&order("ORDER-20")).await.expect("an intent");
    let other_merchant = client_of(&sandbox.merchant().await.expect("another merchant"));
    assert_eq!(other_merchant.read_payment_intent(&intent.id).await.expect_err("not theirs").kind(), Kind::NotFound);

    let wrong =
        Client::builder(sandbox.base_url(), SecretKey::new("sk_test_wrong").expect("a key")).build().expect("a client");
    let error = wrong.read_payment_intent(&intent.id).await.expect_err("a wrong key");
    assert_eq!((error.kind(), error.code()), (Kind::Session, Some("invalid_key")));
    sandbox.stop().await;
}

async fn open() -> (Sandbox, Tenant, Client) {
    let sandbox = Sandbox::start().await.expect("a sandbox");
    let merchant = sandbox.merchant().await.expect("a merchant");
    let client = client_of(&merchant);
    (sandbox, merchant, client)
}

fn client_of(merchant: &Tenant) -> Client {
    let key = SecretKey::new(merchant.secret_key().expose()).expect("a key");
    Client::builder(merchant.base_url(), key).build().expect("a client")
}

fn order(reference: &str) -> CreatePaymentIntent {
    let reference = MerchantReference::new(reference).expect("a reference");
    CreatePaymentIntent::new(reference, amount(), "Shoes", CustomerName { firstname: "Awa", lastname: "Ngono" })
        .email(email())
        .fee_bearer(FeeBearer::Customer)
        .items(vec![Item::new("Wouri trainers", amount(), Currency::xaf(), 1)])
        .redirect_url(RedirectUrl::new("https://shop.example/return").expect("an address"))
}

fn amount() -> Amount {
    Amount::units(45_000)
}

fn email() -> Email {
    Email::new("awa@example.com").expect("an e-mail")
}
