//! Lists as streams: each entry once, in order, one page at a time.

use super::{client, order};
use crate::support::fake_service::{FakeService, ScriptedResponse, reply};
use guichet::operations::{ListPaymentIntents, ListPaymentMethods};
use guichet::protocol::Kind;
use guichet::values::{IntentId, MerchantReference, PageLimit};

#[tokio::test]
async fn a_list_is_read_to_its_end_by_cursor() {
    let service = FakeService::start(vec![
        page(&["pi_4", "pi_3"], r#"{"has_more":true,"next_cursor":"pi_3","limit":2}"#),
        page(&["pi_2", "pi_1"], r#"{"has_more":true,"next_cursor":"pi_1","limit":2}"#),
        page(&[], r#"{"has_more":false,"next_cursor":null,"limit":2}"#),
    ])
    .await;
    let two = PageLimit::new(2).expect("a limit");
    let mut payments = client(&service.base_url).all(&ListPaymentIntents::new().limit(two));
    let mut ids = Vec::new();
    while let Some(payment) = payments.next().await {
        ids.push(payment.expect("an entry").id.to_string());
        // A page is requested only after every entry of the page before it was read.
        assert_eq!(service.requests().len(), ids.len().div_ceil(2));
    }
    assert_eq!(ids, ["pi_4", "pi_3", "pi_2", "pi_1"]);
    assert!(payments.next().await.is_none(), "the stream has ended");
    let targets: Vec<String> = service.requests().iter().map(|request| target(request)).collect();
    assert_eq!(
        targets,
        [
            "/v1/payment-intents?limit=2",
            "/v1/payment-intents?limit=2&starting_after=pi_3",
            "/v1/payment-intents?limit=2&starting_after=pi_1",
        ]
    );
}

#[tokio::test]
async fn a_plain_array_without_a_cursor_is_the_whole_list() {
    let bare = r#"[{"id":"svc_card","name":"Card","active":true}]"#;
    let odd = r#"{"data":[{"id":"svc_card","name":"Card","active":true}],"pagination":[]}"#;
    let done = r#"{"data":[{"id":"svc_card","name":"Card","active":true}],"pagination":{"has_more":false,"next_cursor":"svc_card"}}"#;
    for body in [bare, odd, done] {
        let service = FakeService::start(vec![reply("200 OK", body)]).await;
        let mut methods = client(&service.base_url).all(&ListPaymentMethods::new());
        assert_eq!(methods.next().await.expect("an entry").expect("a method").id.as_str(), "svc_card");
        assert!(methods.next().await.is_none(), "{body}");
    }
}

#[tokio::test]
async fn a_list_ends_after_an_error() {
    let service = FakeService::start(vec![
        page(&["pi_2"], r#"{"has_more":true,"next_cursor":"pi_2"}"#),
        reply("422 Unprocessable Content", r#"{"message":"No.","error":{"code":"parameter_invalid"}}"#),
    ])
    .await;
    let mut payments = client(&service.base_url).all(&ListPaymentIntents::new());
    assert!(payments.next().await.expect("an entry").is_ok());
    let error = payments.next().await.expect("an error").expect_err("refused");
    assert_eq!((error.kind(), error.operation()), (Kind::Refused, Some("list_payment_intents")));
    assert!(payments.next().await.is_none());
    assert_eq!(service.requests().len(), 2);
}

#[tokio::test]
async fn a_page_that_cannot_be_read_is_kept() {
    let service = FakeService::start(vec![reply("200 OK", "<html>")]).await;
    let mut payments = client(&service.base_url).all(&ListPaymentIntents::new());
    let error = payments.next().await.expect("an error").expect_err("no JSON");
    assert_eq!((error.kind(), error.reply()), (Kind::Unreadable, Some(b"<html>".as_slice())));
}

#[tokio::test]
async fn a_repeated_cursor_is_not_followed_forever() {
    let same_page = || page(&["pi_1"], r#"{"has_more":true,"next_cursor":"pi_1"}"#);
    let service = FakeService::start(vec![same_page(), same_page(), same_page()]).await;
    let mut payments = client(&service.base_url).all(&ListPaymentIntents::new());
    assert!(payments.next().await.expect("an entry").is_ok());
    assert!(payments.next().await.expect("an entry").is_ok());
    assert_eq!(payments.next().await.expect("an error").expect_err("a circle").kind(), Kind::Unreadable);
    assert!(payments.next().await.is_none());
}

#[tokio::test]
async fn cursors_that_form_a_cycle_are_not_followed_forever() {
    let turn = |id| page(&[id], &format!(r#"{{"has_more":true,"next_cursor":"{id}"}}"#));
    let service = FakeService::start(["pi_2", "pi_1", "pi_2", "pi_1", "pi_2"].map(turn).into()).await;
    let mut payments = client(&service.base_url).all(&ListPaymentIntents::new());
    for id in ["pi_2", "pi_1", "pi_2"] {
        assert_eq!(payments.next().await.expect("an entry").expect("a payment").id.as_str(), id);
    }
    assert_eq!(payments.next().await.expect("an error").expect_err("a circle").kind(), Kind::Unreadable);
    assert!(payments.next().await.is_none());
    assert_eq!(service.requests().len(), 3);
}

#[tokio::test]
async fn the_cursor_of_an_empty_page_is_not_followed() {
    let empty = |cursor| page(&[], &format!(r#"{{"has_more":true,"next_cursor":"{cursor}"}}"#));
    let service = FakeService::start(vec![empty("pi_2"), empty("pi_1"), page(&[], "{}")]).await;
    let mut payments = client(&service.base_url).all(&ListPaymentIntents::new());
    let error = payments.next().await.expect("an error").expect_err("an empty page with a cursor");
    assert_eq!((error.kind(), error.operation()), (Kind::Unreadable, Some("list_payment_intents")));
    assert!(payments.next().await.is_none());
    assert_eq!(service.requests().len(), 1);
}

#[tokio::test]
async fn a_list_that_has_more_and_names_no_cursor_ends_with_an_error_that_keeps_the_reply() {
    for pagination in [r#"{"has_more":true}"#, r#"{"has_more":true,"next_cursor":""}"#] {
        let service = FakeService::start(vec![page(&["pi_1"], pagination), page(&["pi_1"], pagination)]).await;
        let client = client(&service.base_url);
        let mut payments = client.all(&ListPaymentIntents::new());
        assert!(payments.next().await.expect("an entry").is_ok());
        let error = payments.next().await.expect("an error").expect_err("there are more entries");
        assert_eq!((error.kind(), error.status()), (Kind::Unreadable, Some(200)));
        let reply = String::from_utf8_lossy(error.reply().expect("it is kept"));
        assert!(reply.contains(pagination), "{reply}");
        assert!(payments.next().await.is_none());
        // One page alone is read, and says so.
        let page = client.list_payment_intents(&ListPaymentIntents::new()).await.expect("a page");
        assert!(page.has_more && page.next.is_none());
    }
}

#[tokio::test]
async fn a_list_whose_first_request_cannot_be_sent_is_one_error() {
    let service = FakeService::start(vec![]).await;
    let mut payments = client(&service.base_url)
        .customer(&guichet::values::SessionToken::new("line\nend"))
        .all(&guichet::operations::ListPaymentMethods::new());
    assert_eq!(payments.next().await.expect("an error").expect_err("no header").kind(), Kind::Input);
    assert!(payments.next().await.is_none());
    assert!(service.requests().is_empty());
}

#[tokio::test]
async fn every_payment_is_listed_once_for_any_page_size() {
    let sandbox = guichet_sandbox::Sandbox::start().await.expect("a sandbox");
    let key = guichet::SecretKey::new(sandbox.secret_key().expose()).expect("a key");
    let client = guichet::Client::builder(sandbox.base_url(), key).build().expect("a client");
    let mut created: Vec<IntentId> = Vec::new();
    for number in 0..7 {
        let reference = MerchantReference::new(format!("ORDER-{number}")).expect("a reference");
        let mut order = order();
        order.merchant_reference = reference;
        created.push(client.create_payment_intent(&order).await.expect("an intent").id);
    }
    created.sort_unstable();
    for limit in [1, 3, 7, 100] {
        let mut payments = client.all(&ListPaymentIntents::new().limit(PageLimit::new(limit).expect("a limit")));
        let mut seen = Vec::new();
        while let Some(payment) = payments.next().await {
            seen.push(payment.expect("an entry").id);
        }
        seen.sort_unstable();
        assert_eq!(seen, created, "{limit} a page");
    }
    sandbox.stop().await;
}

fn page(ids: &[&str], pagination: &str) -> ScriptedResponse {
    let entries: Vec<String> =
        ids.iter().map(|id| format!(r#"{{"id":"{id}","amount":"1","currency":"XAF","status":"succeeded"}}"#)).collect();
    reply("200 OK", format!(r#"{{"status_code":200,"data":[{}],"pagination":{pagination}}}"#, entries.join(",")))
}

fn target(request: &str) -> String {
    request.split(' ').nth(1).unwrap_or_default().to_owned()
}
