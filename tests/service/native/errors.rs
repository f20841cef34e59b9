//! The cause of an error: the step at which the network failed, and the library's own error as the source.

use super::{client, intent_id, key, read};
use crate::support::fake_service::{FakeService, reply};
use guichet::Client;
use guichet::native::{UnreadableReply, reqwest};
use guichet::protocol::{Error, Kind, NetworkFailure};
use std::error::Error as _;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

#[tokio::test]
async fn a_name_that_does_not_exist_is_a_dns_failure() {
    let error = failing("https://unknown.guichet.invalid").await;
    assert_failure(&error, NetworkFailure::Dns);
}

#[tokio::test]
async fn a_closed_port_is_a_refused_connection() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    let error = failing(&format!("http://127.0.0.1:{port}")).await;
    assert_failure(&error, NetworkFailure::Refused);
    let refused = causes(&error).into_iter().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    assert_eq!(refused.map(std::io::Error::kind), Some(std::io::ErrorKind::ConnectionRefused));
}

#[tokio::test]
async fn an_address_that_never_answers_is_a_connect_timeout() {
    // If the backlog is full, the system drops further connection attempts.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let listener = socket.listen(1).expect("it listens");
    let address = listener.local_addr().expect("an address");
    let mut held = Vec::new();
    while let Ok(Ok(stream)) =
        tokio::time::timeout(Duration::from_millis(800), tokio::net::TcpStream::connect(address)).await
    {
        held.push(stream);
        assert!(held.len() < 5_000, "the backlog does not fill up");
    }
    let client = Client::builder(&format!("http://{address}"), key())
        .connect_timeout(Duration::from_millis(200))
        .build()
        .expect("a client");
    let error = client.read_payment_intent(&intent_id("pi_1")).await.expect_err("no connection is accepted");
    assert_failure(&error, NetworkFailure::ConnectTimeout);
}

#[tokio::test]
async fn a_silent_service_is_a_timeout_and_a_call_has_a_deadline_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let client = client(&format!("http://{}", listener.local_addr().expect("an address")));
    let hasty = client.with_deadline(Duration::from_millis(50));
    let error = hasty.read_payment_intent(&intent_id("pi_1")).await.expect_err("silence");
    assert_eq!((error.kind(), error.network()), (Kind::Timeout, None));
    assert!(causes(&error).iter().any(|cause| cause.is::<tokio::time::error::Elapsed>()), "{error:?}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_tls_failure() {
    for greeting in ["HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "\u{1}\u{2}garbage", ""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("https://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                // Read the ClientHello, so that closing the socket sends FIN instead of RST.
                let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4096]).await;
                let _ = stream.write_all(greeting.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        let error = failing(&base_url).await;
        assert_failure(&error, NetworkFailure::Tls);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_interrupted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base_url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{").await;
        }
    });
    let error = failing(&base_url).await;
    assert_failure(&error, NetworkFailure::Interrupted);
}

#[tokio::test]
async fn an_unreadable_reply_names_its_field_and_shows_no_value() {
    let body = r#"{"data":{"id":["cst_test_secret"],"amount":"1","currency":"XAF","status":"succeeded"}}"#;
    let service = FakeService::start(vec![reply("200 OK", body), reply("200 OK", "cst_test_secret")]).await;
    let error = read(&service).await.expect_err("the id is a string");
    let cause = error.source().and_then(|cause| cause.downcast_ref::<UnreadableReply>()).expect("the field");
    assert_eq!((error.kind(), cause.field()), (Kind::Unreadable, Some("id")));
    assert!(error.to_string().contains("id"), "{error}");
    let no_json = read(&service).await.expect_err("no JSON");
    for error in [error, no_json] {
        assert!(!shown(&error).contains("cst_test_secret"), "{}", shown(&error));
        assert!(error.reply().is_some(), "the reply is kept");
    }
}

#[tokio::test]
async fn no_error_shows_the_requested_address() {
    let error = client("http://127.0.0.1:1")
        .read_payment_intent(&intent_id("pi_private"))
        .await
        .expect_err("no service listens there");
    assert!(!shown(&error).contains("pi_private"), "{}", shown(&error));
    assert!(causes(&error).iter().any(|cause| cause.is::<reqwest::Error>()));
}

/// The error of a read.
async fn failing(base_url: &str) -> Error {
    let client = Client::builder(base_url, key()).deadline(Duration::from_secs(5)).build().expect("a client");
    client.read_payment_intent(&intent_id("pi_1")).await.expect_err("it fails")
}

fn assert_failure(error: &Error, failure: NetworkFailure) {
    assert_eq!((error.kind(), error.network()), (Kind::Offline, Some(failure)), "{}", shown(error));
    assert!(causes(error).iter().any(|cause| cause.is::<reqwest::Error>()), "the library's error is kept");
}

/// The causes of an error, outermost first.
fn causes(error: &Error) -> Vec<&(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source()).collect()
}

fn shown(error: &Error) -> String {
    causes(error).iter().fold(format!("{error} {error:?}"), |shown, cause| format!("{shown}: {cause} {cause:?}"))
}
