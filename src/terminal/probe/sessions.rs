//! Decision 4: sessions, and what each credential may do.

use super::asking::{Prober, Seen};
use super::intents::order;
use crate::operations::{CreateSession, ListPaymentMethods, ListPlans, RevokeSession, ValidateSession};
use crate::values::{Email, Moment};

pub(super) async fn rows(probe: &mut Prober) {
    let Ok(email) = Email::new("probe@example.com") else { return };
    let session = probe.send(CreateSession::new(email)).await;
    let token = session.text("session_token").to_owned();
    let token = Some(token.as_str()).filter(|token| !token.is_empty());
    probe.row("document", "a session is made", session.is_good() && token.is_some(), &session);

    let valid = probe.send_as(ValidateSession::new(), token).await;
    let told = valid.data()["valid"] == true && valid.text("customer_email") == "probe@example.com";
    probe.row("4", "validate: 200, valid, and whose it is", valid.status == 200 && told, &valid);
    let same_end = Moment::new(valid.text("expires_at")).ok();
    let kept = same_end.is_some() && same_end == Moment::new(session.text("expires_at")).ok();
    probe.row("4", "… and the same end: using a session does not lengthen it", kept, &valid);
    let with_key = probe.send(ValidateSession::new()).await;
    probe.row("4", "validate takes no secret key: 401", with_key.status == 401, &with_key);
    let methods = probe.send_as(ListPaymentMethods::new(), token).await;
    probe.row("4", "a session lists payment methods", methods.is_good(), &methods);
    let nobody = probe.send_as(ListPaymentMethods::new(), None).await;
    probe.row("4", "nobody lists payment methods: 401", nobody.status == 401, &nobody);
    let plans = probe.send_as(ListPlans::new(), token).await;
    probe.row("4", "a session lists plans", plans.is_good(), &plans);
    let pays = match order(probe, 4) {
        Ok(order) => probe.send_as(order, token).await,
        Err(_) => Seen::default(),
    };
    probe.row("4", "a session makes no intent: 403 role_required", pays.is(403, "role_required"), &pays);

    let revoked = probe.send_as(RevokeSession::new(), token).await;
    probe.row("4", "revoke: 200, revoked", revoked.status == 200 && revoked.data()["revoked"] == true, &revoked);
    let again = probe.send_as(RevokeSession::new(), token).await;
    probe.row("4", "revoke can be repeated: 200", again.status == 200, &again);
    let ended = probe.send_as(ValidateSession::new(), token).await;
    let why = |seen: &Seen, reason: &str| {
        seen.status == 401 && seen.data()["valid"] == false && seen.text("reason") == reason
    };
    probe.row("4", "validate afterwards: 401, not valid, revoked", why(&ended, "revoked"), &ended);
    let unknown = probe.send_as(ValidateSession::new(), Some("cst_test_guichet_probe_nobody")).await;
    probe.row("4", "validate of an unknown token: 401, not valid, unknown", why(&unknown, "unknown"), &unknown);
}
