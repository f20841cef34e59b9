//! Decision 4: sessions, and the roles of each credential.

use super::intents::order;
use super::prober::{Prober, Reply};
use guichet::operations::{CreateSession, ListPaymentMethods, ListPlans, RevokeSession, ValidateSession};
use guichet::values::{Email, Moment};

pub(super) async fn rows(probe: &mut Prober) {
    let Ok(email) = Email::new("probe@example.com") else { return };
    let session = probe.send(CreateSession::new(email)).await;
    let token = session.text("session_token").to_owned();
    let token = Some(token.as_str()).filter(|token| !token.is_empty());
    probe.row("document", "a session is created", session.is_success() && token.is_some(), &session);

    let valid = probe.send_as(ValidateSession::new(), token).await;
    let is_valid = valid.data()["valid"] == true && valid.text("customer_email") == "probe@example.com";
    probe.row("4", "validate: 200, valid, and the customer's e-mail", valid.status == 200 && is_valid, &valid);
    let same_end = Moment::new(valid.text("expires_at")).ok();
    let kept = same_end.is_some() && same_end == Moment::new(session.text("expires_at")).ok();
    probe.row("4", "… and the same expires_at: use does not extend a session", kept, &valid);
    let with_key = probe.send(ValidateSession::new()).await;
    probe.row("4", "validate takes no secret key: 401", with_key.status == 401, &with_key);
    let methods = probe.send_as(ListPaymentMethods::new(), token).await;
    probe.row("4", "a session lists payment methods", methods.is_success(), &methods);
    let anonymous = probe.send_as(ListPaymentMethods::new(), None).await;
    probe.row("4", "without a credential, listing payment methods: 401", anonymous.status == 401, &anonymous);
    let plans = probe.send_as(ListPlans::new(), token).await;
    probe.row("4", "a session lists plans", plans.is_success(), &plans);
    let pays = match order(probe, 14) {
        Ok(order) => probe.send_as(order, token).await,
        Err(_) => Reply::default(),
    };
    probe.refused("4", "a session cannot create an intent: 403 role_required", "403 role_required", &pays);

    let revoked = probe.send_as(RevokeSession::new(), token).await;
    probe.row("4", "revoke: 200, revoked", revoked.status == 200 && revoked.data()["revoked"] == true, &revoked);
    let again = probe.send_as(RevokeSession::new(), token).await;
    probe.row("4", "revoke can be repeated: 200", again.status == 200, &again);
    let ended = probe.send_as(ValidateSession::new(), token).await;
    let why = |reply: &Reply, reason: &str| {
        reply.status == 401 && reply.data()["valid"] == false && reply.text("reason") == reason
    };
    probe.row("4", "validate afterwards: 401, not valid, revoked", why(&ended, "revoked"), &ended);
    let unknown = probe.send_as(ValidateSession::new(), Some("cst_test_guichet_probe_nobody")).await;
    probe.row("4", "validate of an unknown token: 401, not valid, unknown", why(&unknown, "unknown"), &unknown);
}
