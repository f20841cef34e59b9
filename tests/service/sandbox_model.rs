//! Model-based test of payment intents: random commands of random callers go to the service over HTTP and to a simple
//! model, and the test compares the two after each. A failure prints its seed and the shortest sequence of commands
//! that causes it.

use crate::support::api::{Merchant, Reply, order};
use crate::support::model::{Method, WALL_CLOCK, cases, run};
use crate::support::service::{Event, Sandbox};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn the_service_behaves_as_the_model(commands in prop::collection::vec(command(), 1..40)) {
        run(async |sandbox| {
            let mut comparison = Comparison::new(sandbox).await;
            for command in &commands {
                comparison.apply(command).await;
            }
            comparison.check_invariants().await;
            comparison.check_late_approvals().await;
        });
    }

    #[test]
    fn concurrent_requests_never_start_two_attempts(commands in prop::collection::vec(command(), 2..12), manual in any::<bool>()) {
        run(async |sandbox| {
            let mut comparison = Comparison::new(sandbox).await;
            comparison.apply(&Command { action: Action::Create { manual, confirm: false }, ..CREATE }).await;
            let intent = comparison.intents[0].as_ref().unwrap().created.clone();
            let calls: Vec<_> = commands.iter().filter(|command| !matches!(command.action, Action::Create { .. } | Action::Advance { .. } | Action::SetBack { .. })).collect();
            let calls = calls.into_iter().map(|command| {
                let (shop, intent, command) = (comparison.shop.clone(), intent.clone(), command.clone());
                tokio::spawn(async move { call(&shop, &intent, &command.action, Some(shop.key())).await })
            });
            let mut charged = BTreeMap::new();
            for answer in calls.collect::<Vec<_>>() {
                let reply = answer.await.unwrap();
                assert!(matches!(reply.status, 200 | 409), "{}", reply.text);
                let object = &reply.body["data"];
                let is_charged = matches!(object["next_action"]["type"].as_str(), None | Some("approve_on_phone"));
                // The method may change while an action is awaited, but each attempt has one method.
                if object["attempts"].as_u64() > Some(0) && is_charged && object["status"] != "canceled" {
                    let first = charged.entry(object["attempts"].as_u64()).or_insert_with(|| object["payment_method"].clone());
                    assert_eq!(first, &object["payment_method"], "one attempt, one method");
                }
            }
            comparison.check_invariants().await;
        });
    }
}

/// The seconds of which every advance of the clock but the last is a multiple. The model does not count the seconds
/// that a test itself takes. With this number, whatever is due after 30, 60, 245, 300 or 600 seconds, a day, or a day
/// after one of these, is at least 12 seconds from an advance and from whatever else is due.
const STEP: u32 = 168;

/// One call, or a change of a clock.
#[derive(Clone, Debug)]
struct Command {
    /// The index of the intent.
    of: usize,
    caller: Caller,
    action: Action,
    /// Whether the call is repeated, as after a lost response.
    twice: bool,
}

const CREATE: Command =
    Command { of: 0, caller: Caller::Merchant, action: Action::Create { manual: false, confirm: false }, twice: false };

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Caller {
    ClientSecret,
    Customer,
    Merchant,
    Anonymous,
    OtherCustomer,
    OtherMerchant,
}

#[derive(Clone, Debug)]
enum Action {
    Abandon {
        attempt: u32,
    },
    Advance {
        steps: u32,
    },
    Answer {
        right: bool,
    },
    Attach(Method),
    Cancel,
    Challenge {
        approve: bool,
    },
    Confirm,
    Create {
        manual: bool,
        confirm: bool,
    },
    /// Sets the wall clock back.
    SetBack {
        hours: i64,
    },
}

fn command() -> impl Strategy<Value = Command> {
    let method = prop::sample::select(vec![
        Method::ApprovedLateAfterRefusal,
        Method::ApprovedLateAfterRefusal,
        Method::ApprovedLateAfterTimeout,
        Method::ApprovedLateAfterTimeout,
        Method::ApprovedLateAfterUnavailable,
        Method::ApprovedLateAfterUnavailable,
        Method::AsksForCode,
        Method::AsksForRedirect,
        Method::Blocked,
        Method::FailsThenPays,
        Method::Hangs,
        Method::Pays,
        Method::PaysByCard,
        Method::PaysInThirtySeconds,
        Method::Recovers,
        Method::TimesOut,
        Method::TooPoor,
    ]);
    let action = prop_oneof![
        3 => prop_oneof![4 => 1..4_u32, 1 => Just(86_400 / STEP + 1)].prop_map(|steps| Action::Advance { steps }),
        2 => any::<bool>().prop_map(|right| Action::Answer { right }),
        6 => method.prop_map(Action::Attach),
        2 => (1..4_u32).prop_map(|attempt| Action::Abandon { attempt }),
        1 => Just(Action::Cancel),
        2 => any::<bool>().prop_map(|approve| Action::Challenge { approve }),
        2 => Just(Action::Confirm),
        4 => (prop::bool::weighted(0.4), any::<bool>()).prop_map(|(manual, confirm)| Action::Create { manual, confirm }),
        1 => (0..3_i64).prop_map(|hours| Action::SetBack { hours }),
    ];
    let caller = prop_oneof![
        4 => Just(Caller::ClientSecret),
        3 => Just(Caller::Merchant),
        2 => Just(Caller::Customer),
        1 => prop::sample::select(vec![Caller::Anonymous, Caller::OtherCustomer, Caller::OtherMerchant]),
    ];
    (0..2_usize, caller, action, prop::bool::weighted(0.2)).prop_map(|(of, caller, action, twice)| Command {
        of,
        caller,
        action,
        twice,
    })
}

/// The model of one intent.
#[derive(Clone, Debug)]
struct Intent {
    /// The intent that the service returned when it was created.
    created: Value,
    manual: bool,
    confirm: bool,
    status: &'static str,
    attempts: u32,
    method: Option<Method>,
    next_action: Option<&'static str>,
    /// The declined attempts that the operator may still approve.
    approvable: Vec<u32>,
    /// When the current attempt ends (`None`: never), and its decline.
    ends: Option<(u32, Option<&'static str>)>,
    declined: Option<&'static str>,
    reason: Option<&'static str>,
    expires: u32,
    /// When a payment that was shown as failed succeeds: that of one phone alone.
    pays_after_failing: Option<u32>,
    /// The last issuer page that the service returned, and the number of attempts before it.
    issuer: Option<(String, u32)>,
    /// Late approvals of declined attempts: when, which attempt, which method.
    approvals: Vec<(u32, u32, Method)>,
    /// The attempts whose late approval is a duplicate payment.
    duplicates: Vec<u32>,
    /// The attempt whose late approval paid the intent.
    paid_late: Option<u32>,
    /// When the status became final.
    final_at: Option<u32>,
}

impl Intent {
    /// Applies what is due by `now`, late approvals included.
    fn at(&mut self, now: u32) {
        let approved = self.approvals.iter().copied().filter(|(at, attempt, _)| {
            let known = self.duplicates.contains(attempt) || self.paid_late == Some(*attempt);
            *at <= now && !known
        });
        // Approvals are applied in order of time.
        if let Some((at, attempt, method)) = approved.min_by_key(|(at, attempt, _)| (*at, *attempt)) {
            self.advance_to(at);
            if self.status == "requires_action" {
                (self.status, self.next_action, self.declined) = ("succeeded", None, None);
                self.final_at = Some(at);
                self.paid_late = Some(attempt);
                self.approvable.retain(|declined| *declined != attempt);
                self.method = Some(method);
            } else {
                self.duplicates.push(attempt);
            }
            return self.at(now);
        }
        self.advance_to(now);
    }

    /// Applies what is due by `now`, without late approvals.
    fn advance_to(&mut self, now: u32) {
        if let ("processing", Some((at, decline))) = (self.status, self.ends)
            && at <= now
        {
            self.ends = None;
            self.declined = decline;
            let leaves_open = matches!(decline, Some("payer_timeout" | "provider_unavailable"));
            if leaves_open || self.approvals.iter().any(|(_, attempt, _)| *attempt == self.attempts) {
                self.approvable.push(self.attempts);
            }
            self.status = match decline {
                None => "succeeded",
                Some("fraud_blocked") => "failed",
                Some(_) if self.attempts == 3 => "failed",
                Some(_) => "requires_action",
            };
            self.final_at = (self.status != "requires_action").then_some(at);
            // If an attempt ends after the expiry, the intent expires at the attempt's end.
            self.expires = self.expires.max(at);
        }
        if self.status == "requires_action" && self.expires <= now {
            (self.status, self.reason, self.next_action) = ("canceled", Some("expired"), None);
            self.final_at = Some(self.expires);
        }
        if let Some(at) = self.pays_after_failing.filter(|at| *at <= now) {
            (self.status, self.final_at) = ("succeeded", Some(at));
        }
    }

    fn charge(&mut self, now: u32) {
        let (after, decline) = match self.method.unwrap() {
            Method::ApprovedLateAfterRefusal => {
                self.approvals.push((now + 245, self.attempts + 1, Method::ApprovedLateAfterRefusal));
                (5, Some("rejected_by_payer"))
            }
            Method::ApprovedLateAfterTimeout => {
                self.approvals.push((now + 600, self.attempts + 1, Method::ApprovedLateAfterTimeout));
                (300, Some("payer_timeout"))
            }
            Method::ApprovedLateAfterUnavailable => {
                self.approvals.push((now + 600, self.attempts + 1, Method::ApprovedLateAfterUnavailable));
                (0, Some("provider_unavailable"))
            }
            Method::AsksForCode => return self.next_action = Some("otp"),
            Method::AsksForRedirect => return self.next_action = Some("redirect"),
            Method::FailsThenPays => {
                self.attempt(u32::MAX, None, now);
                (self.status, self.final_at, self.pays_after_failing) = ("failed", Some(now), Some(now + 60));
                return;
            }
            Method::Hangs => (u32::MAX, None),
            Method::Blocked => (0, Some("fraud_blocked")),
            Method::Pays | Method::PaysByCard => (0, None),
            Method::PaysInThirtySeconds => (30, None),
            Method::Recovers => (0, (self.attempts < 2).then_some("provider_unavailable")),
            Method::TimesOut => (300, Some("payer_timeout")),
            Method::TooPoor => (0, Some("insufficient_funds")),
        };
        self.attempt(now.saturating_add(after), decline, now);
    }

    fn attempt(&mut self, end: u32, decline: Option<&'static str>, now: u32) {
        (self.status, self.next_action, self.declined) = ("processing", None, None);
        self.attempts += 1;
        self.ends = Some((end, decline));
        self.at(now);
    }

    /// Applies a call of an authorized caller. Returns the expected status of the response.
    fn apply(&mut self, caller: Caller, action: &Action, now: u32) -> u16 {
        let open = self.status == "requires_action";
        match action {
            Action::Attach(method) if open => {
                (self.method, self.next_action, self.declined) = (Some(*method), None, None);
                match self.manual && !self.confirm {
                    true => self.next_action = Some("confirm"),
                    false => self.charge(now),
                }
                200
            }
            Action::Attach(method) if self.method == Some(*method) => 200,
            Action::Confirm if self.manual && caller != Caller::Merchant => 403,
            Action::Confirm
                if open && self.method.is_some() && !matches!(self.next_action, Some("otp" | "redirect")) =>
            {
                self.next_action = None;
                self.charge(now);
                200
            }
            Action::Answer { right } if open && self.next_action == Some("otp") => {
                self.attempt(now, (!right).then_some("incorrect_otp"), now);
                200
            }
            Action::Abandon { attempt } if *attempt == self.attempts => {
                if let ("processing", Some((at, decline))) = (self.status, self.ends) {
                    // The operator does not learn of it.
                    if decline.is_none() && at < u32::MAX {
                        self.approvals.push((at, self.attempts, self.method.unwrap()));
                    }
                    self.ends = Some((now, Some("payer_timeout")));
                    self.at(now);
                }
                200
            }
            Action::Cancel if open => {
                let reason = if caller == Caller::Merchant { "requested_by_merchant" } else { "requested_by_customer" };
                (self.status, self.reason, self.next_action) = ("canceled", Some(reason), None);
                self.final_at = Some(now);
                200
            }
            Action::Cancel if self.status == "canceled" => 200,
            _ => 409,
        }
    }
}

/// The service and the model, side by side.
struct Comparison {
    shop: Merchant,
    other: Merchant,
    /// Seconds since the test began.
    now: u32,
    intents: [Option<Intent>; 2],
}

impl Comparison {
    async fn new(sandbox: &Sandbox) -> Self {
        let merchant = || async { Merchant::new(sandbox.merchant().await.unwrap()) };
        Self { shop: merchant().await, other: merchant().await, now: 0, intents: [None, None] }
    }

    async fn apply(&mut self, command: &Command) {
        for _ in 0..1 + u32::from(command.twice) {
            match command.action {
                Action::Advance { steps } => self.advance(steps * STEP).await,
                Action::SetBack { hours } => WALL_CLOCK.shift(-3_600 * hours),
                Action::Create { manual, confirm } => self.create(command.of, manual, confirm).await,
                _ => self.call_and_compare(command).await,
            }
            use Method::{ApprovedLateAfterRefusal, ApprovedLateAfterTimeout, ApprovedLateAfterUnavailable};
            if let Action::Attach(ApprovedLateAfterRefusal | ApprovedLateAfterTimeout | ApprovedLateAfterUnavailable)
            | Action::Confirm = command.action
            {
                // The attempt may end after five seconds, and the test itself may take as many. And of two approvals
                // that are due in one second either may be the first.
                self.advance(STEP).await;
            }
            self.check_against_service(command).await;
        }
    }

    async fn advance(&mut self, seconds: u32) {
        self.shop.tenant.clock().advance(seconds).await.unwrap();
        self.now += seconds;
    }

    async fn create(&mut self, of: usize, manual: bool, confirm: bool) {
        let mut fields = order(&format!("ORDER-{of}"));
        fields["confirmation_method"] = json!(if manual { "manual" } else { "automatic" });
        fields["confirm"] = json!(confirm);
        let reply = self.shop.call("POST", "/v1/payment-intents", fields).await;
        match &self.intents[of] {
            None => {
                assert_eq!(reply.status, 201, "{}", reply.text);
                self.intents[of] = Some(Intent {
                    created: reply.body["data"].clone(),
                    manual,
                    confirm,
                    status: "requires_action",
                    attempts: 0,
                    method: None,
                    next_action: None,
                    approvable: Vec::new(),
                    ends: None,
                    declined: None,
                    reason: None,
                    expires: self.now + 86_400,
                    pays_after_failing: None,
                    issuer: None,
                    approvals: Vec::new(),
                    duplicates: Vec::new(),
                    paid_late: None,
                    final_at: None,
                });
            }
            Some(existing) if (existing.manual, existing.confirm) == (manual, confirm) => {
                assert_eq!((reply.status, &reply.body["data"]["id"]), (200, &existing.created["id"]));
            }
            Some(existing) => {
                assert_eq!((reply.status, reply.code()), (409, "merchant_reference_conflict"));
                assert_eq!(reply.body["error"]["existing_id"], existing.created["id"], "one intent per reference");
            }
        }
    }

    async fn call_and_compare(&mut self, Command { of, caller, action, .. }: &Command) {
        let Some(mut intent) = self.intents[*of].take() else { return };
        intent.at(self.now);
        // The client secret stays in browsers' histories. It and the issuer's page end a day after the final status.
        let secret_has_ended = intent.final_at.is_some_and(|end| end + 86_400 <= self.now);
        if let Action::Challenge { approve } = action {
            if let Some((url, round)) = &intent.issuer {
                let reply = challenge(&self.shop, url, *approve).await;
                // The issuer's page leads back to the checkout in the open round, and in the round just decided, whose
                // response may have been lost.
                let just_decided = round + 1 == intent.attempts && intent.next_action.is_none();
                let by_the_issuer = intent.method == Some(Method::AsksForRedirect);
                let leads_on = by_the_issuer && (*round == intent.attempts || just_decided);
                // The address has the client secret only in the reply to the decision that counts.
                let decides = intent.status == "requires_action" && intent.next_action == Some("redirect");
                let page = json!(format!("{}/checkout/{}", self.shop.base_url, intent.created["id"].as_str().unwrap()));
                let expected = match leads_on && !secret_has_ended {
                    true if decides => (200, &intent.created["checkout_url"]),
                    true => (200, &page),
                    false => (404, &Value::Null),
                };
                assert_eq!((reply.status, &reply.body["data"]["checkout_url"]), expected);
                // The page of an earlier round, or one that is no longer awaited, decides nothing.
                if decides {
                    intent.attempt(self.now, (!approve).then_some("rejected_by_payer"), self.now);
                }
            }
        } else {
            let reply =
                call(&self.shop, &intent.created, action, self.credential(*caller, &intent.created).await).await;
            let expected = match caller {
                Caller::Anonymous => 401,
                Caller::OtherCustomer | Caller::OtherMerchant => 404,
                Caller::ClientSecret if secret_has_ended => 404,
                Caller::ClientSecret | Caller::Customer | Caller::Merchant => intent.apply(*caller, action, self.now),
            };
            assert_eq!(reply.status, expected, "{action:?} by {caller:?}: {}", reply.text);
            if expected == 409 {
                assert!(reply.message().contains(intent.status), "a refusal names the state: {}", reply.message());
            }
            if let Some(url) = reply.body["data"]["next_action"]["url"].as_str() {
                intent.issuer = Some((url.to_owned(), intent.attempts));
            }
        }
        self.intents[*of] = Some(intent);
    }

    async fn credential(&self, caller: Caller, intent: &Value) -> Option<String> {
        let session = async |email: &str| {
            let created = self.shop.call("POST", "/v1/sessions/create", json!({ "customer_email": email })).await;
            created.body["data"]["session_token"].as_str().unwrap().to_owned()
        };
        match caller {
            Caller::ClientSecret => intent["client_secret"].as_str().map(str::to_owned),
            Caller::Customer => Some(session("awa@example.com").await),
            Caller::Merchant => Some(self.shop.key()),
            Caller::Anonymous => None,
            Caller::OtherCustomer => Some(session("ngo@example.com").await),
            Caller::OtherMerchant => Some(self.other.key()),
        }
    }

    /// Reads every intent from the service and compares it with the model.
    async fn check_against_service(&mut self, after: &Command) {
        for intent in self.intents.iter_mut().flatten() {
            intent.at(self.now);
            let object = self.shop.read_intent(&intent.created).await;
            let duplicates = object["duplicate_payments"].as_array().unwrap().iter();
            let duplicates: Vec<_> =
                duplicates.filter_map(|one| u32::try_from(one["attempt"].as_u64()?).ok()).collect();
            assert_eq!(duplicates, intent.duplicates, "after {after:?}: {object}");
            let is_open = |attempt: Option<u32>| {
                intent.approvable.iter().any(|declined| attempt.is_none_or(|attempt| *declined == attempt))
            };
            let of_last = intent.declined.is_some() && is_open(Some(intent.attempts));
            let reported =
                [&object["approvable_until"], &object["last_payment_error"]["approvable_until"]].map(Value::is_i64);
            let will_pay = intent.status == "failed" && intent.pays_after_failing.is_some();
            assert_eq!(reported, [is_open(None) && !will_pay, of_last], "after {after:?}: {object}");
            assert_eq!(object.get("approvable_until").is_none(), will_pay, "after {after:?}: {object}");
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let seen = (
                text(&object["status"]),
                object["attempts"].as_u64(),
                text(&object["next_action"]["type"]),
                text(&object["last_payment_error"]["code"]),
                text(&object["cancellation_reason"]),
            );
            let owned = |word: Option<&str>| word.map(str::to_owned);
            let expected = (
                owned(Some(intent.status)),
                Some(intent.attempts.into()),
                // No card is processing for longer than its own call.
                if intent.status == "processing" { owned(Some("approve_on_phone")) } else { owned(intent.next_action) },
                owned(intent.declined),
                owned(intent.reason),
            );
            assert_eq!(seen, expected, "after {after:?}: {object}");
        }
    }

    /// Checks that each late approval is the intent's success or exactly one duplicate payment.
    async fn check_late_approvals(&mut self) {
        self.advance(2 * 86_400).await;
        for intent in self.intents.iter_mut().flatten() {
            let mut approved: Vec<u32> = intent.approvals.iter().map(|(_, attempt, _)| *attempt).collect();
            approved.sort_unstable();
            let object = self.shop.read_intent(&intent.created).await;
            let mut counted: Vec<u32> = object["duplicate_payments"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["attempt"].as_u64().unwrap() as u32)
                .collect();
            intent.at(self.now);
            if let Some(attempt) = intent.paid_late {
                assert_eq!(object["status"], "succeeded");
                counted.push(attempt);
            }
            counted.sort_unstable();
            assert_eq!(counted, approved, "{object}");
        }
    }

    /// Checks what must be true after any sequence of commands, from the service's events.
    async fn check_invariants(&self) {
        let events = self.shop.tenant.events().await.unwrap();
        for intent in self.intents.iter().flatten() {
            let id = intent.created["id"].as_str().unwrap();
            let history: Vec<&str> = events
                .iter()
                .filter(|event| event.subject == id && event.kind != "payment_intent.duplicate_payment")
                .map(|event| event.kind.trim_start_matches("payment_intent."))
                .collect();
            let count = |word: &str| history.iter().filter(|history| **history == word).count();
            let last = history.iter().position(|word| matches!(*word, "succeeded" | "failed" | "canceled"));
            let after = last.map_or(&[][..], |place| &history[place + 1..]);
            let is_exception = intent.pays_after_failing.is_some() && after == ["succeeded"];
            assert!(after.is_empty() || is_exception, "a final status is final: {history:?}");
            assert!(count("created") == 1 && count("succeeded") <= 1 && count("processing") <= 3, "{history:?}");
            let at_once = history.windows(2).any(|pair| pair == ["processing", "processing"]);
            assert!(!at_once, "never two attempts at once: {history:?}");
            let read = self.shop.read_intent(&intent.created).await;
            let is_duplicate = |event: &&Event| event.subject == id && event.kind == "payment_intent.duplicate_payment";
            let duplicates = events.iter().filter(is_duplicate).count();
            assert_eq!(duplicates, intent.duplicates.len(), "an event for each duplicate payment");
            assert_eq!(read["attempts"].as_u64(), u64::try_from(count("processing")).ok(), "{history:?}");
        }
        let listed = self.shop.call("GET", "/v1/payment-intents", Value::Null).await;
        assert_eq!(
            listed.body["data"].as_array().unwrap().len(),
            self.intents.iter().flatten().count(),
            "one intent per reference"
        );
    }
}

/// Sends the call of an action to the service.
async fn call(shop: &Merchant, intent: &Value, action: &Action, bearer: Option<String>) -> Reply {
    let (verb, fields) = match action {
        Action::Abandon { attempt } => ("abandon", json!({ "attempt": attempt })),
        Action::Answer { right } => ("answer", json!({ "otp": if *right { "123456" } else { "654321" } })),
        Action::Attach(method) => ("payment-method", method.body()),
        Action::Cancel => ("cancel", Value::Null),
        Action::Confirm => ("confirm", Value::Null),
        Action::Challenge { .. } | Action::Advance { .. } | Action::Create { .. } | Action::SetBack { .. } => {
            ("", Value::Null)
        }
    };
    let path = format!("/v1/payment-intents/{}/{verb}", intent["id"].as_str().unwrap());
    match verb {
        "" => shop.call_as("GET", path.trim_end_matches('/'), bearer.as_deref(), Value::Null).await,
        _ => shop.call_as("POST", &path, bearer.as_deref(), fields).await,
    }
}

async fn challenge(shop: &Merchant, url: &str, approve: bool) -> Reply {
    let (address, token) = url.split_once("?token=").unwrap();
    let fields = json!({ "token": token, "decision": if approve { "approve" } else { "refuse" } });
    shop.send("POST", address.strip_prefix(&shop.base_url).unwrap(), None, Some(fields.to_string()), &[]).await
}
