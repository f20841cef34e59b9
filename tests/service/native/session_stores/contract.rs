//! The contract of a store: the same history gives the same answers on every store.

use super::{REMEMBER_FOR, client, on_postgres, on_redis, session, token};
use crate::support::postgres::PostgresServer;
use guichet::native::{KeepResult, KeptSession, MemoryStore, SessionStore};
use guichet_sessions::PostgresSessions;
use proptest::prelude::*;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_has_the_same_answers_on_every_store(history in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let names = Names::new();
            let in_memory = answers(&MemoryStore::default(), &names, &history).await;
            let on_postgres = PostgresSessions::connect(&DATABASE, &client()).await.expect("PostgreSQL");
            assert_eq!(answers(&on_postgres, &names, &history).await, in_memory, "PostgreSQL, {history:#?}");
            assert_eq!(answers(&on_redis().await, &names, &history).await, in_memory, "Redis, {history:#?}");
        });
    }
}

/// A step of a history. A session is named by its number among those of its login.
#[derive(Clone, Debug)]
enum Step {
    Newest {
        login: usize,
    },
    /// `again`: the same session as in the login's last step of this kind.
    Keep {
        login: usize,
        again: bool,
        replaced: Option<usize>,
    },
    End {
        login: usize,
    },
    Forget {
        login: usize,
        session: usize,
    },
    HasEnded {
        login: usize,
        session: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let login = || prop_oneof![4 => Just(0_usize), 1 => 1..LOGINS.len()];
    prop_oneof![
        3 => login().prop_map(|login| Step::Newest { login }),
        6 => (login(), prop::bool::weighted(0.2), prop::option::weighted(0.8, 0..3_usize))
            .prop_map(|(login, again, replaced)| Step::Keep { login, again, replaced }),
        1 => login().prop_map(|login| Step::End { login }),
        2 => (login(), 0..8_usize).prop_map(|(login, session)| Step::Forget { login, session }),
        3 => (login(), 0..8_usize).prop_map(|(login, session)| Step::HasEnded { login, session }),
    ]
}

/// Logins are any text.
const LOGINS: [&str; 4] = ["login", "login\0", "", "é\u{202e}'; DROP TABLE guichet_logins; --"];

/// All histories share a database: to create one takes longer than a history.
static DATABASE: LazyLock<String> = LazyLock::new(|| PostgresServer::shared().create_database());

/// Names that no other history uses.
struct Names(String);

impl Names {
    fn new() -> Self {
        static HISTORIES: AtomicU32 = AtomicU32::new(0);
        Self(format!("history-{}", HISTORIES.fetch_add(1, Ordering::Relaxed)))
    }
    fn login(&self, login: usize) -> String {
        format!("{}{}", self.0, LOGINS[login])
    }
    fn session(&self, login: usize, number: usize) -> String {
        format!("{}_{login}_{number}", self.0)
    }
}

#[derive(Debug, PartialEq)]
enum Answer {
    Newest(Option<KeptSession>),
    Kept(KeepResult),
    Left(Vec<KeptSession>),
    Forgotten,
    HasEnded(bool),
}

async fn answers(store: &impl SessionStore, names: &Names, history: &[Step]) -> Vec<Answer> {
    let mut created = [0; LOGINS.len()];
    let mut answers = Vec::new();
    for step in history {
        answers.push(match *step {
            Step::Newest { login } => Answer::Newest(store.newest(&names.login(login)).await.expect("an answer")),
            Step::Keep { login, again, replaced } => {
                if !again || created[login] == 0 {
                    created[login] += 1;
                }
                // 0 is the session before this one.
                let replaced = replaced.and_then(|back| (created[login] - 1_usize).checked_sub(back));
                let replaced = replaced.map(|number| token(&names.session(login, number)));
                let session = session(&names.session(login, created[login]));
                let kept = store.keep(&names.login(login), &session, replaced.as_ref()).await;
                Answer::Kept(kept.expect("an answer"))
            }
            Step::End { login } => Answer::Left(store.end(&names.login(login), REMEMBER_FOR).await.expect("an answer")),
            Step::Forget { login, session } => {
                store.forget(&names.login(login), &token(&names.session(login, session))).await.expect("an answer");
                Answer::Forgotten
            }
            Step::HasEnded { login, session } => {
                let token = token(&names.session(login, session));
                Answer::HasEnded(store.has_ended(&token).await.expect("an answer"))
            }
        });
    }
    answers
}

#[tokio::test]
async fn a_login_has_one_newest_session_until_it_ends() {
    async fn check(store: impl SessionStore) {
        let [one, two, three] = ["one-1", "one-2", "one-3"].map(session);
        assert_eq!(store.keep("one", &one, None).await.expect("an answer"), KeepResult::Stored);
        assert_eq!(store.keep("one", &two, None).await.expect("an answer"), KeepResult::Other(one.clone()));
        assert_eq!(store.keep("one", &two, Some(&one.token)).await.expect("an answer"), KeepResult::Stored);
        assert_eq!(
            store.keep("one", &three, Some(&one.token)).await.expect("an answer"),
            KeepResult::Other(two.clone())
        );
        assert_eq!(store.keep("one", &two, None).await.expect("an answer"), KeepResult::Stored, "a repeated step");
        assert_eq!(store.newest("one").await.expect("an answer"), Some(two.clone()));
        assert!(!store.has_ended(&one.token).await.expect("an answer"));

        assert_eq!(store.end("one", REMEMBER_FOR).await.expect("an answer"), [one.clone(), two.clone()]);
        assert_eq!(store.newest("one").await.expect("an answer"), None);
        assert_eq!(store.keep("one", &three, None).await.expect("an answer"), KeepResult::LoginEnded);
        store.forget("one", &one.token).await.expect("an answer");
        assert_eq!(store.end("one", REMEMBER_FOR).await.expect("an answer").len(), 1, "the other is forgotten");
        for session in [&one, &two] {
            assert!(store.has_ended(&session.token).await.expect("an answer"), "it is remembered, forgotten or not");
        }
        assert!(!store.has_ended(&three.token).await.expect("an answer"));
    }
    check(MemoryStore::default()).await;
    check(on_postgres().await).await;
    check(on_redis().await).await;
}
