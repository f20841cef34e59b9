//! Model-based test of customer sessions: in any order of calls, a token is valid until its thirtieth minute or until
//! it is revoked, whichever comes first.

use crate::support::api::Merchant;
use crate::support::model::{WALL_CLOCK, cases, run};
use proptest::prelude::*;
use serde_json::{Value, json};

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn sessions_behave_as_the_model(commands in prop::collection::vec(command(), 1..40)) {
        run(async |sandbox| {
            let shop = Merchant::new(sandbox.merchant().await.unwrap());
            let (mut now, mut sessions) = (0_u32, Vec::<Session>::new());
            for command in &commands {
                match command {
                    Command::Advance { hundreds } => {
                        shop.tenant.clock().advance(100 * hundreds).await.unwrap();
                        now += 100 * hundreds;
                    }
                    Command::Create { customer } => {
                        let email = format!("customer-{customer}@example.com");
                        let created = shop.call("POST", "/v1/sessions/create", json!({ "customer_email": email })).await;
                        assert_eq!(created.status, 201, "{}", created.text);
                        let token = created.body["data"]["session_token"].as_str().unwrap().to_owned();
                        sessions.push(Session { token, email, created: now, revoked: false });
                    }
                    Command::SetBack { hours } => WALL_CLOCK.shift(-3_600 * hours),
                    Command::Revoke { of } => {
                        let Some(session) = pick(&mut sessions, *of) else { continue };
                        let reply = shop.call_as("POST", "/v1/sessions/revoke", Some(&session.token), Value::Null).await;
                        // An expired session cannot be revoked. A revoked one can be revoked again.
                        let expected = if session.revoked { (200, "") } else { session.expected(now) };
                        assert_eq!((reply.status, reply.code()), expected, "{command:?}: {}", reply.text);
                        session.revoked |= reply.status == 200;
                    }
                    Command::Use { of } => {
                        let Some(session) = pick(&mut sessions, *of) else { continue };
                        let reply = shop.call_as("GET", "/v1/subscriptions/plans", Some(&session.token), Value::Null).await;
                        assert_eq!((reply.status, reply.code()), session.expected(now), "{command:?}: {}", reply.text);
                    }
                    Command::Validate { of } => {
                        let Some(session) = pick(&mut sessions, *of) else { continue };
                        let reply = shop.call_as("POST", "/v1/sessions/validate", Some(&session.token), Value::Null).await;
                        assert_eq!((reply.status, reply.code()), session.expected(now), "{command:?}: {}", reply.text);
                        let session_state = &reply.body["data"];
                        assert_eq!(session_state["valid"], reply.status == 200);
                        assert!(reply.status != 200 || session_state["customer_email"] == session.email.as_str());
                    }
                }
            }
        });
    }
}

#[derive(Clone, Debug)]
enum Command {
    Advance {
        hundreds: u32,
    },
    Create {
        customer: u32,
    },
    Revoke {
        of: usize,
    },
    /// Sets the wall clock back.
    SetBack {
        hours: i64,
    },
    Use {
        of: usize,
    },
    Validate {
        of: usize,
    },
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        // Hundreds of seconds, so that the test's own seconds do not matter.
        3 => prop::sample::select(vec![1_u32, 5, 7, 25]).prop_map(|hundreds| Command::Advance { hundreds }),
        3 => (0..3_u32).prop_map(|customer| Command::Create { customer }),
        2 => (0..6_usize).prop_map(|of| Command::Revoke { of }),
        1 => (0..3_i64).prop_map(|hours| Command::SetBack { hours }),
        3 => (0..6_usize).prop_map(|of| Command::Use { of }),
        3 => (0..6_usize).prop_map(|of| Command::Validate { of }),
    ]
}

/// The model of one session.
struct Session {
    token: String,
    email: String,
    created: u32,
    revoked: bool,
}

impl Session {
    /// The status and code of a response to its token.
    fn expected(&self, now: u32) -> (u16, &'static str) {
        match (self.revoked, now - self.created) {
            (true, _) => (401, "session_revoked"),
            (_, 1800..) => (401, "session_expired"),
            _ => (200, ""),
        }
    }
}

fn pick(sessions: &mut [Session], of: usize) -> Option<&mut Session> {
    let last = sessions.len().checked_sub(1)?;
    sessions.get_mut(of.min(last))
}
