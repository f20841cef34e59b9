//! The interface as bytes: every operation is written as documented, and read back unchanged.

use crate::support::openapi::Example;
use guichet::operations::*;
use guichet::protocol::{Envelope, Fields, IDEMPOTENCY_KEY, Operation, Request, Served, Source, Spec, assemble};
use guichet::values::*;
use guichet_sandbox::openapi;
use serde_json::{Map, Value, json};

/// Every operation: its method and path, and the fields that the document shows. `None`: the document does not show the
/// operation.
pub const INTERFACE: &[(&str, &str, Option<&str>)] = &[
    ("create_session", "POST /v1/sessions/create", Some("customer_email")),
    ("validate_session", "POST /v1/sessions/validate", Some("")),
    ("revoke_session", "POST /v1/sessions/revoke", Some("")),
    ("list_payment_methods", "GET /v1/payment-methods", Some("country_code")),
    (
        "calculate_fee",
        "GET /v1/payment-methods/fee/{payment_method}/{currency}/{amount}",
        Some("payment_method currency amount country_code card_type"),
    ),
    (
        "create_payment_intent",
        "POST /v1/payment-intents",
        Some(
            "firstname lastname email phone amount currency description merchant_reference fee_bearer \
             confirmation_method confirm items redirect_url metadata collect_shipping_address payment_method_types",
        ),
    ),
    ("list_payment_intents", "GET /v1/payment-intents", None),
    ("read_payment_intent", "GET /v1/payment-intents/{id}", None),
    ("attach_payment_method", "POST /v1/payment-intents/{id}/payment-method", None),
    ("confirm_payment_intent", "POST /v1/payment-intents/{id}/confirm", None),
    ("answer_payment_intent", "POST /v1/payment-intents/{id}/answer", None),
    ("cancel_payment_intent", "POST /v1/payment-intents/{id}/cancel", None),
    ("abandon_payment_intent", "POST /v1/payment-intents/{id}/abandon", None),
    ("list_customers", "GET /v1/customers", Some("")),
    ("list_esim_packages", "GET /v1/esim/packages", Some("")),
    ("create_esim_order", "POST /v1/esim/orders", Some("package_id quantity")),
    ("read_esim_order", "GET /v1/esim/orders/{id}", None),
    ("create_plan", "POST /v1/subscriptions/plans", Some("name code amount currency billing_cycle trial_days")),
    ("list_plans", "GET /v1/subscriptions/plans", Some("")),
    ("deactivate_plan", "DELETE /v1/subscriptions/plans/{id}", Some("id")),
    ("create_subscription", "POST /v1/subscriptions", None),
    ("list_subscriptions", "GET /v1/subscriptions", None),
    ("read_subscription", "GET /v1/subscriptions/{id}", None),
    ("pause_subscription", "POST /v1/subscriptions/{id}/pause", Some("id immediately trigger_after_failures")),
    ("resume_subscription", "POST /v1/subscriptions/{id}/resume", Some("id")),
    ("cancel_subscription", "POST /v1/subscriptions/{id}/cancel", Some("id immediately")),
    ("change_subscription_payment_method", "PUT /v1/subscriptions/{id}/payment-method", Some("id")),
    ("configure_fallback", "PUT /v1/subscriptions/{id}/fallback", Some("id trigger_after_failures")),
];

#[test]
fn every_operation_is_written_as_documented() {
    let described = openapi();
    macro_rules! check {
        ($($operation:ident)*) => {$(is_written_as_documented::<$operation>(&described);)*};
    }
    guichet::every_operation!(check);
    for row in rows() {
        assert_eq!(row.written.method.as_str(), row.method, "{}", row.name);
        assert_eq!(row.written.target, row.target, "{}", row.name);
        let body: Option<Value> = row.written.body.as_deref().map(|body| serde_json::from_str(body).unwrap());
        assert_eq!(body, row.body, "{}", row.name);
    }
}

/// Compares an operation with its row, and its example as a client writes it with the example in the description.
fn is_written_as_documented<O: Served>(described: &Value) {
    let Spec { name, method, path, source, .. } = O::SPEC;
    let row = INTERFACE.iter().find(|(row, ..)| *row == name);
    let (_, endpoint, documented) = row.unwrap_or_else(|| panic!("{name} has no row in tests/service/interface.rs"));
    assert_eq!(format!("{} {path}", method.as_str()), *endpoint, "{name}");
    assert_eq!(source == Source::Documented, documented.is_some(), "{name}");
    let example = Example::of(described, method.as_str(), path);
    let operation = O::read(&mut Fields::new(example.fields())).expect("an example is valid");
    let written = assemble(&operation).expect("an example can be sent");
    assert_eq!(written.target, example.target(path), "{name}");
    let body: Option<Value> = written.body.map(|body| serde_json::from_str(&body).expect("it is JSON"));
    assert_eq!(body, example.body, "{name}");
    assert_eq!(written.idempotency_key, example.header, "{name}");
}

#[test]
fn every_operation_is_read_back_as_it_was_written() {
    for row in rows() {
        assert_eq!(row.read_back, Ok(row.written.clone()), "{}", row.name);
    }
}

#[test]
fn only_session_operations_use_the_session_envelope() {
    macro_rules! check {
        ($($operation:ident)*) => {$(
            let spec = <$operation as Operation>::SPEC;
            assert_eq!(spec.envelope == Envelope::Session, spec.path.starts_with("/v1/sessions/"), "{}", spec.name);
        )*};
    }
    guichet::every_operation!(check);
}

#[test]
fn every_field_error_is_reported_at_once() {
    let fields = Fields::new(object(
        json!({ "amount": 5000, "currency": "xaf", "phone": "+237", "redirect_url": "javascript:alert(1)" }),
    ));
    let errors = CreatePaymentIntent::parse(fields).unwrap_err();
    let errors: Vec<_> = errors.into_iter().map(|error| (error.param, error.code)).collect();
    let expected = [
        ("firstname", "parameter_missing"),
        ("lastname", "parameter_missing"),
        ("phone", "parameter_invalid"),
        ("amount", "parameter_invalid"),
        ("currency", "parameter_invalid"),
        ("description", "parameter_missing"),
        ("merchant_reference", "parameter_missing"),
        ("redirect_url", "parameter_invalid"),
    ];
    assert_eq!(errors, expected.map(|(param, code)| (param.to_owned(), code.to_owned())));
}

#[test]
fn without_an_email_and_a_phone_the_email_is_reported_missing() {
    let fields = Fields::new(object(json!({
        "firstname": "Awa", "lastname": "Ngo", "amount": "5000", "description": "Shoes", "merchant_reference": "ORDER-17",
    })));
    let errors = CreatePaymentIntent::parse(fields).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].param.as_str(), errors[0].code.as_str()), ("email", "parameter_missing"));
}

#[test]
fn a_resource_that_is_serialized_shows_no_secret() {
    let secret = "pi_1_secret_2";
    let sent = json!({
        "id": "pi_1", "amount": "5000", "currency": "XAF", "status": "requires_action", "client_secret": secret,
        "checkout_url": format!("https://pay.example/pi_1#client_secret={secret}"),
        "next_action": { "type": "redirect", "url": format!("https://issuer.example/#token={secret}") },
    });
    let intent: PaymentIntent = serde_json::from_value(sent).unwrap();
    assert_eq!(intent.client_secret.as_ref().map(ClientSecret::expose), Some(secret));
    for text in [serde_json::to_string(&intent).unwrap(), format!("{intent:?}")] {
        assert!(text.contains("***") && !text.contains("secret_2"), "{text}");
    }
    let session: CreatedSession = serde_json::from_value(json!({ "session_token": "cst_1" })).unwrap();
    assert_eq!(serde_json::to_value(&session).unwrap()["session_token"], "***");
    let esim: Esim = serde_json::from_value(json!({ "iccid": "89", "activation_code": "LPA:1$x" })).unwrap();
    assert_eq!(serde_json::to_value(&esim).unwrap()["activation_code"], "***");
}

struct Row {
    name: &'static str,
    method: &'static str,
    target: &'static str,
    body: Option<Value>,
    written: Request,
    read_back: Result<Request, String>,
}

fn row<O: Served>(operation: O, method: &'static str, target: &'static str, body: Option<Value>) -> Row {
    let written = assemble(&operation).unwrap();
    let read_back = match O::read(&mut Fields::new(fields_of::<O>(&written))) {
        Some(read) => Ok(assemble(&read).unwrap()),
        None => Err("could not be read".to_owned()),
    };
    Row { name: O::SPEC.name, method, target, body, written, read_back }
}

/// What the examples do not show: characters that are encoded, defaults, and every optional field.
fn rows() -> Vec<Row> {
    let intent = || IntentId::new("pi_1/2").unwrap();
    let package = || EsimPackageId::new("esp_1").unwrap();
    let plain = || {
        CreatePaymentIntent::new(
            MerchantReference::new("ORDER-17").unwrap(),
            Amount::units(5_000),
            "Shoes",
            CustomerName { firstname: "Awa", lastname: "Ngo" },
        )
        .email(Email::new("awa@example.com").unwrap())
    };
    let card = Card { number: "4242424242424242".into(), exp_month: 12, exp_year: 2034, cvc: "123".into() };
    vec![
        row(
            ListPaymentMethods::new().country_code(Country::new("GH").unwrap()),
            "GET",
            "/v1/payment-methods?country_code=GH",
            None,
        ),
        row(
            CalculateFee::new(MethodCode::new("mobile_money").unwrap(), Currency::xaf(), Amount::units(5_000)),
            "GET",
            "/v1/payment-methods/fee/mobile_money/XAF/5000?card_type=local",
            None,
        ),
        row(
            CalculateFee::new(MethodCode::new("carte d'été/1").unwrap(), Currency::xaf(), Amount::units(5_000))
                .country_code(Country::cm())
                .card_type(CardType::International),
            "GET",
            "/v1/payment-methods/fee/carte%20d%27%C3%A9t%C3%A9%2F1/XAF/5000?country_code=CM&card_type=international",
            None,
        ),
        row(
            plain(),
            "POST",
            "/v1/payment-intents",
            Some(json!({
                "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com", "amount": "5000", "currency": "XAF",
                "description": "Shoes", "merchant_reference": "ORDER-17", "fee_bearer": "merchant",
                "confirmation_method": "automatic", "confirm": false, "collect_shipping_address": false,
            })),
        ),
        row(
            plain()
                .phone(Phone::new("237670000000").unwrap())
                .currency(Currency::new("USD").unwrap())
                .fee_bearer(FeeBearer::Customer)
                .confirmation_method(ConfirmationMethod::Manual)
                .confirm(true)
                .items(vec![Item::new("Shoe \"left\"", Amount::units(2_500), Currency::xaf(), 2)])
                .redirect_url(RedirectUrl::new("https://shop.example/return?order=17#top").unwrap())
                .metadata([("basket".to_owned(), json!("b1")), ("nested".to_owned(), json!({ "a": [1, null] }))].into())
                .collect_shipping_address(true)
                .payment_method_types(vec!["card".into(), "mobile_money".into()]),
            "POST",
            "/v1/payment-intents",
            Some(json!({
                "firstname": "Awa", "lastname": "Ngo", "email": "awa@example.com", "phone": "237670000000", "amount": "5000",
                "currency": "USD", "description": "Shoes", "merchant_reference": "ORDER-17", "fee_bearer": "customer",
                "confirmation_method": "manual", "confirm": true,
                "items": [{ "name": "Shoe \"left\"", "price": 2500, "currency": "XAF", "quantity": 2 }],
                "redirect_url": "https://shop.example/return?order=17#top",
                "metadata": { "basket": "b1", "nested": { "a": [1, null] } },
                "collect_shipping_address": true, "payment_method_types": ["card", "mobile_money"],
            })),
        ),
        row(
            ListPaymentIntents::new().limit(PageLimit::new(20).unwrap()).starting_after(intent()),
            "GET",
            "/v1/payment-intents?limit=20&starting_after=pi_1%2F2",
            None,
        ),
        row(ReadPaymentIntent::new(intent()), "GET", "/v1/payment-intents/pi_1%2F2", None),
        row(
            AttachPaymentMethod::new(intent(), Instrument::mobile_money(Phone::new("237670000000").unwrap())),
            "POST",
            "/v1/payment-intents/pi_1%2F2/payment-method",
            Some(json!({ "payment_method": { "type": "mobile_money", "phone": "237670000000" } })),
        ),
        row(
            AttachPaymentMethod::new(intent(), Instrument::Card { card }),
            "POST",
            "/v1/payment-intents/pi_1%2F2/payment-method",
            Some(json!({ "payment_method": {
                "type": "card", "card": { "number": "4242424242424242", "exp_month": 12, "exp_year": 2034, "cvc": "123" },
            } })),
        ),
        row(
            AbandonPaymentIntent::new(intent(), 2_u32),
            "POST",
            "/v1/payment-intents/pi_1%2F2/abandon",
            Some(json!({ "attempt": 2 })),
        ),
        row(
            ListEsimPackages::new().limit(PageLimit::new(2).unwrap()).starting_after(package()),
            "GET",
            "/v1/esim/packages?limit=2&starting_after=esp_1",
            None,
        ),
        row(
            CreateEsimOrder::new(package()),
            "POST",
            "/v1/esim/orders",
            Some(json!({ "package_id": "esp_1", "quantity": 1 })),
        ),
        row(
            CreateEsimOrder::new(package()).quantity(EsimQuantity::new(5).unwrap()),
            "POST",
            "/v1/esim/orders",
            Some(json!({ "package_id": "esp_1", "quantity": 5 })),
        ),
        row(
            CreateEsimOrder::new(package()).idempotency_key(IdempotencyKey::new("order-17").unwrap()),
            "POST",
            "/v1/esim/orders",
            Some(json!({ "package_id": "esp_1", "quantity": 1 })),
        ),
        row(
            gold(),
            "POST",
            "/v1/subscriptions/plans",
            Some(json!({
                "name": "Gold", "code": "gold-monthly", "amount": 5000, "currency": "XAF", "billing_cycle": "monthly",
                "trial_days": 0,
            })),
        ),
        row(
            gold().currency(Currency::new("USD").unwrap()).trial_days(14),
            "POST",
            "/v1/subscriptions/plans",
            Some(json!({
                "name": "Gold", "code": "gold-monthly", "amount": 5000, "currency": "USD", "billing_cycle": "monthly",
                "trial_days": 14,
            })),
        ),
        row(
            ListPlans::new()
                .limit(PageLimit::new(20).unwrap())
                .starting_after(PlanId::new("plan_1").unwrap())
                .include_inactive(true),
            "GET",
            "/v1/subscriptions/plans?limit=20&starting_after=plan_1&include_inactive=true",
            None,
        ),
        row(
            subscribe(PlanCode::new("gold-monthly").unwrap().into()),
            "POST",
            "/v1/subscriptions",
            Some(json!({
                "plan": "gold-monthly", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo",
                "payment_method": { "type": "mobile_money", "phone": "237670000000" },
            })),
        ),
        row(
            subscribe(PlanId::new("plan_1").unwrap().into()).metadata([("seat".to_owned(), json!(4))].into()),
            "POST",
            "/v1/subscriptions",
            Some(json!({
                "plan": "plan_1", "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo",
                "payment_method": { "type": "mobile_money", "phone": "237670000000" }, "metadata": { "seat": 4 },
            })),
        ),
        row(
            PauseSubscription::new(subscription()),
            "POST",
            "/v1/subscriptions/sub_1%2F2/pause",
            Some(json!({ "immediately": true })),
        ),
        row(
            PauseSubscription::new(subscription()).immediately(false).trigger_after_failures(2_u32),
            "POST",
            "/v1/subscriptions/sub_1%2F2/pause",
            Some(json!({ "immediately": false, "trigger_after_failures": 2 })),
        ),
        row(
            CancelSubscription::new(subscription()),
            "POST",
            "/v1/subscriptions/sub_1%2F2/cancel",
            Some(json!({ "immediately": false })),
        ),
        row(
            CancelSubscription::new(subscription()).immediately(true),
            "POST",
            "/v1/subscriptions/sub_1%2F2/cancel",
            Some(json!({ "immediately": true })),
        ),
        row(
            ConfigureFallback::new(subscription(), mobile_money()),
            "PUT",
            "/v1/subscriptions/sub_1%2F2/fallback",
            Some(json!({
                "payment_method": { "type": "mobile_money", "phone": "237670000000" }, "trigger_after_failures": 3,
            })),
        ),
        row(
            ConfigureFallback::new(subscription(), mobile_money()).trigger_after_failures(1_u32),
            "PUT",
            "/v1/subscriptions/sub_1%2F2/fallback",
            Some(json!({
                "payment_method": { "type": "mobile_money", "phone": "237670000000" }, "trigger_after_failures": 1,
            })),
        ),
    ]
}

fn gold() -> CreatePlan {
    let code = PlanCode::new("gold-monthly").unwrap();
    CreatePlan::new("Gold", code, Amount::units(5_000), BillingCycle::Monthly)
}

fn subscribe(plan: PlanKey) -> CreateSubscription {
    CreateSubscription::new(
        plan,
        Email::new("awa@example.com").unwrap(),
        CustomerName { firstname: "Awa", lastname: "Ngo" },
        mobile_money(),
    )
}

fn subscription() -> SubscriptionId {
    SubscriptionId::new("sub_1/2").unwrap()
}

fn mobile_money() -> Instrument {
    Instrument::mobile_money(Phone::new("237670000000").unwrap())
}

/// The fields of a request, as a server finds them by the `Spec` alone.
fn fields_of<O: Operation>(request: &Request) -> Map<String, Value> {
    let mut fields =
        request.body.as_deref().map(|body| object(serde_json::from_str(body).unwrap())).unwrap_or_default();
    let url = url::Url::parse("http://service.invalid").unwrap().join(&request.target).unwrap();
    for (name, value) in url.query_pairs() {
        fields.insert(name.into_owned(), Value::String(value.into_owned()));
    }
    let (path, _) = request.target.split_once('?').unwrap_or((&request.target, ""));
    if let Some(key) = &request.idempotency_key {
        fields.insert(IDEMPOTENCY_KEY.to_owned(), Value::String(key.clone()));
    }
    for (template, segment) in O::SPEC.path.split('/').zip(path.split('/')) {
        if let Some(name) = template.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            let decoded = url::form_urlencoded::parse(format!("x={segment}").as_bytes()).next().unwrap().1.into_owned();
            fields.insert(name.to_owned(), Value::String(decoded));
        }
    }
    fields
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}
