//! Customer sessions.

use super::examples::Examples;
use super::{Described, Done, Handle, Outcomes, Service};
use crate::auth::{require_valid, session_unknown};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::rules::{LIFETIME, Session, SessionStatus};
use crate::store::Write;
use crate::tokens::{self, SESSION_TOKEN, fingerprint};
use guichet::operations::{CreateSession, RevokeSession, ValidateSession};
use guichet::values::SessionToken;

const CREATED: &str = "The session was created.";
const VALID: &str = "The session is valid.";
const ENDED: &str = "The session was ended.";

impl Handle<CreateSession> for Service {
    async fn handle(&self, caller: Caller, operation: CreateSession) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let token = SessionToken::new(tokens::secret(SESSION_TOKEN).expose());
        let now = merchant.now();
        let session = Session {
            fingerprint: fingerprint(token.expose()),
            merchant: merchant.id().to_owned(),
            email: operation.customer_email.to_string(),
            created_at: now,
            expires_at: now.plus(LIFETIME),
            revoked_at: None,
        };
        let reply = replies::new_session(&session, &token);
        self.store.write(Write::AddSession(session)).await?;
        Ok(Done::created(reply).with_message(CREATED))
    }
}

impl Described for CreateSession {
    const OUTCOMES: Outcomes = Outcomes::CREATED;

    fn example(examples: &Examples) -> (Self, Done) {
        let data = replies::new_session(&examples.session(), &examples.session_token());
        (CreateSession::new(examples.email()), Done::created(data).with_message(CREATED))
    }
}

impl Handle<ValidateSession> for Service {
    async fn handle(&self, caller: Caller, _: ValidateSession) -> Result<Done, Problem> {
        let about = |problem: Problem, reason| problem.with_data(replies::invalid_session(reason));
        let Caller::Session(merchant, session) = caller else { return Err(about(session_unknown(), "unknown")) };
        let now = merchant.now();
        let reason = if session.status(now) == SessionStatus::Revoked { "revoked" } else { "expired" };
        require_valid(&session, now).map_err(|problem| about(problem, reason))?;
        Ok(Done::ok(replies::valid_session(&session)).with_message(VALID))
    }
}

impl Described for ValidateSession {
    fn example(examples: &Examples) -> (Self, Done) {
        (ValidateSession::new(), Done::ok(replies::valid_session(&examples.session())).with_message(VALID))
    }
}

impl Handle<RevokeSession> for Service {
    /// Revokes the session. Revoking it again succeeds and returns the time of the first revocation, so that a client
    /// can repeat a logout.
    async fn handle(&self, caller: Caller, _: RevokeSession) -> Result<Done, Problem> {
        let Caller::Session(merchant, session) = caller else { return Err(session_unknown()) };
        let now = merchant.now();
        let revoked_at = match session.revoked_at {
            Some(before) => before,
            None => {
                require_valid(&session, now)?;
                self.store.write(Write::RevokeSession { fingerprint: session.fingerprint.clone(), at: now }).await?;
                now
            }
        };
        Ok(Done::ok(replies::revoked_session(&session, revoked_at)).with_message(ENDED))
    }
}

impl Described for RevokeSession {
    fn example(examples: &Examples) -> (Self, Done) {
        let data = replies::revoked_session(&examples.session(), examples.now);
        (RevokeSession::new(), Done::ok(data).with_message(ENDED))
    }
}
