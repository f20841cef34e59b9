//! A call of the native client, compared with bare reqwest and the same typed decode.

use crate::measure::{Pairs, Row, microseconds};
use crate::servers;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{get, post};
use guichet::operations::{CreatePaymentIntent, CustomerName, PaymentIntent};
use guichet::protocol::decode;
use guichet::values::{Amount, Email, IntentId, MerchantReference};
use guichet::{Client, SecretKey};

const KEY: &str = "sk_test_0123456789abcdefghijABCDEFGHIJ0123456789abc";
const PAIRS: usize = 5_000;

/// The service's response: a payment intent with all fields.
const REPLY: &str = r#"{"status_code":200,"response_type":"success","data":{"id":"pi_3kTR9sB0000000aZ81bYcD","object":"payment_intent","amount":"45000","currency":"XAF","status":"requires_action","client_secret":"pi_3kTR9sB0000000aZ81bYcD_secret_0123456789abcdefghijABCDEFGHIJ0123456789abc","payment_ref":"gch_3kTR9sB0000000aZ81bYcD","merchant_reference":"ORDER-17","checkout_url":"http://127.0.0.1:4243/checkout/pi_3kTR9sB0000000aZ81bYcD#client_secret=pi_3kTR9sB0000000aZ81bYcD_secret_0123456789abcdefghijABCDEFGHIJ0123456789abc","customer":{"firstname":"Awa","lastname":"Ngono","email":"awa@example.com"},"metadata":{},"fee_bearer":"merchant","amount_payable":"45000","confirmation_method":"automatic","payment_method":null,"next_action":null,"last_payment_error":null,"attempts":0,"created_at":"2026-11-21T08:00:00Z","expires_at":"2026-11-22T08:00:00Z","redirect_url":null,"description":"A pair of shoes","items":[]}}"#;

pub async fn rows() -> Vec<Row> {
    let base = servers::in_a_thread(|| {
        let reply = async || ([(CONTENT_TYPE, "application/json")], REPLY);
        axum::Router::new().route("/v1/payment-intents/{id}", get(reply)).route("/v1/payment-intents", post(reply))
    });
    let client = Client::builder(&base, SecretKey::new(KEY).unwrap()).build().unwrap();
    let bare = servers::reqwest();
    let id = IntentId::new("pi_3kTR9sB0000000aZ81bYcD").unwrap();

    let read = Pairs::timed(
        PAIRS,
        async |_| drop(client.read_payment_intent(&id).await.unwrap()),
        async |_| {
            let url = format!("{base}/v1/payment-intents/{id}");
            drop(decoded(bare.get(url)).await);
        },
    )
    .await;
    let create = Pairs::timed(
        PAIRS,
        async |_| drop(client.create_payment_intent(&order()).await.unwrap()),
        async |_| {
            let body = serde_json::to_vec(&order()).unwrap();
            let request = bare.post(format!("{base}/v1/payment-intents"));
            drop(decoded(request.header(CONTENT_TYPE, "application/json").body(body)).await);
        },
    )
    .await;
    vec![
        Row::at_most("native: read an intent, over bare reqwest", 1.05, &read, microseconds),
        Row::at_most("native: create an intent, over bare reqwest", 1.05, &create, microseconds),
    ]
}

/// The same call, hand-written with reqwest and the types.
async fn decoded(request: reqwest::RequestBuilder) -> PaymentIntent {
    let reply = request.bearer_auth(KEY).send().await.unwrap().error_for_status().unwrap();
    decode(&reply.bytes().await.unwrap()).unwrap()
}

fn order() -> CreatePaymentIntent {
    let reference = MerchantReference::new("ORDER-17").unwrap();
    CreatePaymentIntent::new(
        reference,
        Amount::units(45_000),
        "A pair of shoes",
        CustomerName { firstname: "Awa", lastname: "Ngono" },
    )
    .email(Email::new("awa@example.com").unwrap())
}
