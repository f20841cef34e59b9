//! The builder's HTTP settings, as the service sees them.

use super::{INTENT, intent_id, key, order};
use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use guichet::Client;
use guichet::native::{QuoteRequest, reqwest};
use guichet::protocol::{Kind, NetworkFailure};
use guichet::values::Amount;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::{Instrument, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

#[tokio::test]
async fn the_application_is_named_in_the_user_agent() {
    let service = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let client = Client::builder(&service.base_url, key()).user_agent_suffix("shoeshop/1.4").build().expect("a client");
    client.read_payment_intent(&intent_id("pi_1")).await.expect("the intent");
    let expected = concat!("user-agent: guichet/", env!("CARGO_PKG_VERSION"), " shoeshop/1.4\r\n");
    assert!(service.requests()[0].contains(expected), "{}", service.requests()[0]);

    let error =
        Client::builder(&service.base_url, key()).user_agent_suffix("line\nend").build().expect_err("no header");
    assert_eq!(error.kind(), Kind::Input);
}

#[tokio::test]
async fn requests_go_through_the_configured_proxy() {
    let proxy = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let client = Client::builder("http://127.0.0.1:1", key())
        .proxy(reqwest::Proxy::http(&proxy.base_url).expect("an address"))
        .build()
        .expect("a client");
    client.read_payment_intent(&intent_id("pi_1")).await.expect("the intent");
    assert!(proxy.requests()[0].starts_with("GET http://127.0.0.1:1/v1/payment-intents/pi_1 HTTP"));
}

#[tokio::test]
async fn an_own_reqwest_client_is_used_and_must_not_follow_redirects() {
    let elsewhere = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let location: &'static str = format!("Location: {}/v1/payment-intents/pi_1", elsewhere.base_url).leak();
    let headers: &'static [&'static str] = vec![location].leak();
    let moved = ScriptedResponse::Reply("307 Temporary Redirect", headers, String::new());
    let service = FakeService::start(vec![reply("200 OK", INTENT), moved]).await;
    let own = reqwest::Client::builder().no_proxy().user_agent("shoeshop").build().expect("a client");
    let client = Client::builder(&service.base_url, key()).http_client(own.clone()).build().expect("a client");
    client.read_payment_intent(&intent_id("pi_1")).await.expect("the intent");
    assert!(service.requests()[0].contains("user-agent: shoeshop\r\n"));

    let error = client.read_payment_intent(&intent_id("pi_1")).await.expect_err("a reply of another address");
    assert_eq!(error.kind(), Kind::Address);
    assert!(error.message().contains("Policy::none()"), "{error}");
    assert!(!elsewhere.requests()[0].contains("sk_test"), "reqwest drops the credential for another origin");

    let elsewhere = FakeService::start(vec![reply("200 OK", INTENT)]).await;
    let location: &'static str = format!("Location: {}/v1/payment-intents/pi_1/confirm", elsewhere.base_url).leak();
    let headers: &'static [&'static str] = vec![location].leak();
    let moved = ScriptedResponse::Reply("307 Temporary Redirect", headers, String::new());
    let service = FakeService::start(vec![moved]).await;
    let client = Client::builder(&service.base_url, key()).http_client(own.clone()).build().expect("a client");
    let error = client.confirm_payment_intent(&intent_id("pi_1")).await.expect_err("a reply of another address");
    assert_eq!(error.kind(), Kind::Uncertain, "the other address may have executed it: {error}");

    // Wherever a redirect leads, the request is not sent again.
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let busy = || reply(status, r#"{"error":{"retryable":true}}"#);
        let elsewhere = FakeService::start(vec![busy(), busy()]).await;
        let location: &'static str = format!("Location: {}/v1/payment-intents/pi_1/confirm", elsewhere.base_url).leak();
        let headers: &'static [&'static str] = vec![location].leak();
        let moved = || ScriptedResponse::Reply("303 See Other", headers, String::new());
        let service = FakeService::start(vec![moved(), moved()]).await;
        let client = Client::builder(&service.base_url, key()).http_client(own.clone()).build().expect("a client");
        let error = client.confirm_payment_intent(&intent_id("pi_1")).await.expect_err("a reply of another address");
        assert_eq!((error.kind(), service.requests().len()), (Kind::Uncertain, 1), "{error}");
    }

    let both = Client::builder(&service.base_url, key()).http_client(own).user_agent_suffix("shoeshop/1.4");
    assert_eq!(both.build().expect_err("one of the two").kind(), Kind::Input);
}

#[tokio::test]
async fn a_refusal_by_a_client_of_the_applications_own_says_what_it_is() {
    let own = |builder: reqwest::ClientBuilder| builder.no_proxy().build().expect("a client");
    let client = |base_url: &str, own| Client::builder(base_url, key()).http_client(own).build().expect("a client");

    let service = FakeService::start(vec![]).await;
    let encrypted = client(&service.base_url, own(reqwest::Client::builder().https_only(true)));
    let error = encrypted.read_payment_intent(&intent_id("pi_1")).await.expect_err("plain http");
    assert_eq!((error.kind(), error.network(), error.is_retryable()), (Kind::Input, None, false), "{error}");
    assert!(error.message().contains("https_only"), "{error}");
    assert!(service.requests().is_empty());

    let moved = || ScriptedResponse::Reply("307 Temporary Redirect", &["Location: /elsewhere"], String::new());
    let service = FakeService::start((0..9).map(|_| moved()).collect()).await;
    let refusing = reqwest::redirect::Policy::custom(|attempt| attempt.error("on purpose"));
    for (policy, requests) in [(refusing, 1), (reqwest::redirect::Policy::limited(2), 3)] {
        let client = client(&service.base_url, own(reqwest::Client::builder().redirect(policy)));
        let before = service.requests().len();
        let error = client.read_payment_intent(&intent_id("pi_1")).await.expect_err("a redirect");
        assert_eq!((error.kind(), error.network()), (Kind::Address, None), "{error}");
        assert!(error.message().contains("Policy::none()"), "{error}");
        assert_eq!(service.requests().len() - before, requests, "it is not sent again");
        let error = client.confirm_payment_intent(&intent_id("pi_1")).await.expect_err("a redirect");
        assert_eq!(error.kind(), Kind::Uncertain, "a server on the way may have executed it: {error}");
    }
}

#[tokio::test]
async fn a_service_of_a_private_authority_is_trusted_once_its_root_is_added() {
    let base_url = https_service();
    let builder = || Client::builder(&base_url, key());
    let distrustful = builder().build().expect("a client");
    let error = distrustful.read_payment_intent(&intent_id("pi_1")).await.expect_err("an unknown authority");
    assert_eq!(error.network(), Some(NetworkFailure::Certificate), "{error}");

    let root = reqwest::Certificate::from_pem(include_bytes!("certificates/root.pem")).expect("a certificate");
    let client = builder().root_certificate(root).build().expect("a client");
    client.read_payment_intent(&intent_id("pi_1")).await.expect("the intent");
}

#[tokio::test]
async fn each_call_has_a_span_without_secrets() {
    let busy = r#"{"message":"Busy.","error":{"code":"unavailable","retryable":true}}"#;
    let good = ScriptedResponse::Reply("201 Created", &["Request-Id: req_7"], INTENT.to_owned());
    let service = FakeService::start(vec![reply("503 Service Unavailable", busy), good]).await;
    let spans = Spans::default();
    let subscriber = tracing_subscriber::registry().with(spans.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    Client::builder(&service.base_url, key())
        .build()
        .expect("a client")
        .create_payment_intent(&order())
        .await
        .expect("an intent");
    let recorded = spans.0.lock().expect("not poisoned").join(" ");
    for field in [
        "operation=create_payment_intent",
        "merchant_reference=ORDER-17",
        "attempt=2",
        "status=201",
        "request_id=req_7",
    ] {
        assert!(recorded.contains(field), "{field} is missing: {recorded}");
    }
    for secret in ["sk_test", "pi_1_secret", "awa@example.com"] {
        assert!(!recorded.contains(secret), "{recorded}");
    }
}

#[tokio::test]
async fn every_call_of_the_quotes_is_in_the_callers_span() {
    let methods = r#"{"data":[{"id":"svc_mobile_money","name":"Mobile money","active":true},{"id":"svc_card","name":"Card","active":true}]}"#;
    let fee = r#"{"data":{"amount":5000,"currency":"XAF","fee":100,"total_payable":5100}}"#;
    let mut replies = vec![reply("200 OK", methods)];
    replies.extend((0..3).map(|_| reply("200 OK", fee)));
    let service = FakeService::start(replies).await;
    let parents = Parents::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(parents.clone()));
    let client = Client::builder(&service.base_url, key()).build().expect("a client");
    let request = QuoteRequest::new(Amount::units(5_000));
    let checkout = tracing::info_span!("checkout");
    let quotes = client.quotes(&request).instrument(checkout).await.expect("the quotes");
    assert_eq!(quotes.len(), 3);
    assert_eq!(*parents.0.lock().expect("not poisoned"), ["checkout"; 4]);
}

/// The span that each call was made in.
#[derive(Clone, Default)]
struct Parents(Arc<Mutex<Vec<&'static str>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Parents {
    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, id: &tracing::Id, context: Context<'_, S>) {
        if attributes.metadata().name() == "guichet" {
            let parent = context.span(id).and_then(|span| span.parent()).map_or("none", |parent| parent.name());
            self.0.lock().expect("not poisoned").push(parent);
        }
    }
}

/// Records every field of every span and event.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &tracing::span::Attributes<'_>, _: &tracing::Id, _: Context<'_, S>) {
        attributes.record(&mut &*self);
    }
    fn on_record(&self, _: &tracing::Id, values: &tracing::span::Record<'_>, _: Context<'_, S>) {
        values.record(&mut &*self);
    }
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        event.record(&mut &*self);
    }
}

impl Visit for &Spans {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.lock().expect("not poisoned").push(format!("{}={value:?}", field.name()));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.lock().expect("not poisoned").push(format!("{}={value}", field.name()));
    }
}

/// A TLS server whose certificate is of an authority that no machine trusts.
pub(crate) fn https_service() -> String {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("certificates/server.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("certificates/server.key")).expect("a key");
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a server");
    let (config, listener) = (Arc::new(config), std::net::TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let base_url = format!("https://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = rustls::StreamOwned::new(connection, stream);
            // A client that does not trust the certificate closes the connection.
            if stream.read(&mut [0; 4096]).is_ok() {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", INTENT.len());
                let _ = stream.write_all([&head, INTENT].concat().as_bytes());
            }
        }
    });
    base_url
}
