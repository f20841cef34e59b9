//! A payment intent against a model of it: whatever is asked, in whatever order and by whomever, the service over HTTP and
//! a few plain structs agree. The seed of a failure is printed, with the shortest way to it.

use crate::support::api::{Reply, Shop, card, order, phone};
use crate::support::model::{SANDBOX, WALL_CLOCK, cases, run};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn the_service_behaves_as_the_model(commands in prop::collection::vec(command(), 1..40)) {
        run(async {
            let mut world = World::new().await;
            for command in &commands {
                world.obey(command).await;
            }
            world.keeps_its_invariants().await;
            world.every_approval_is_accounted_for().await;
        });
    }

    #[test]
    fn concurrent_requests_never_start_two_attempts(commands in prop::collection::vec(command(), 2..12), manual in any::<bool>()) {
        run(async {
            let mut world = World::new().await;
            world.obey(&Command { what: What::Create { manual, confirm: false }, ..CREATE }).await;
            let intent = world.intents[0].as_ref().unwrap().told.clone();
            let asked: Vec<_> = commands.iter().filter(|command| !matches!(command.what, What::Create { .. } | What::Advance { .. } | What::SetBack { .. })).collect();
            let asked = asked.into_iter().map(|command| {
                let (shop, intent, command) = (world.shop.clone(), intent.clone(), command.clone());
                tokio::spawn(async move { ask(&shop, &intent, &command.what, Some(shop.key())).await })
            });
            let mut charged = BTreeMap::new();
            for answer in asked.collect::<Vec<_>>() {
                let reply = answer.await.unwrap();
                assert!(matches!(reply.status, 200 | 409), "{}", reply.text);
                let told = &reply.body["data"];
                // What waits for a step may change its method; an attempt that was made has one.
                if told["attempts"].as_u64() > Some(0) && told["next_action"].is_null() && told["status"] != "canceled" {
                    let first = charged.entry(told["attempts"].as_u64()).or_insert_with(|| told["payment_method"].clone());
                    assert_eq!(first, &told["payment_method"], "one attempt, one method");
                }
            }
            world.keeps_its_invariants().await;
        });
    }
}

/// One thing that someone asks.
#[derive(Clone, Debug)]
struct Command {
    /// Of which intent.
    of: usize,
    who: Who,
    what: What,
    /// Whether it is asked twice, as by someone who lost the answer.
    twice: bool,
}

const CREATE: Command =
    Command { of: 0, who: Who::Merchant, what: What::Create { manual: false, confirm: false }, twice: false };

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Who {
    ClientSecret,
    Customer,
    Merchant,
    Nobody,
    OtherCustomer,
    OtherMerchant,
}

#[derive(Clone, Debug)]
enum What {
    Advance {
        hundreds: u32,
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
    /// The wall clock is set so far back.
    SetBack {
        hours: i64,
    },
}

/// The instruments of the table, and what each comes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Method {
    ApprovedLateAfterTimeout,
    ApprovedLateAfterUnavailable,
    AsksForCode,
    AsksForRedirect,
    Blocked,
    Hangs,
    Pays,
    PaysByCard,
    PaysInThirtySeconds,
    Recovers,
    TimesOut,
    TooPoor,
}

fn command() -> impl Strategy<Value = Command> {
    let method = prop::sample::select(vec![
        Method::ApprovedLateAfterTimeout,
        Method::ApprovedLateAfterTimeout,
        Method::ApprovedLateAfterUnavailable,
        Method::ApprovedLateAfterUnavailable,
        Method::AsksForCode,
        Method::AsksForRedirect,
        Method::Blocked,
        Method::Hangs,
        Method::Pays,
        Method::PaysByCard,
        Method::PaysInThirtySeconds,
        Method::Recovers,
        Method::TimesOut,
        Method::TooPoor,
    ]);
    let what = prop_oneof![
        // Hundreds of seconds, so that the seconds which the test itself takes say nothing; and now and then a day.
        3 => prop_oneof![4 => 1..4_u32, 1 => Just(864)].prop_map(|hundreds| What::Advance { hundreds }),
        2 => any::<bool>().prop_map(|right| What::Answer { right }),
        6 => method.prop_map(What::Attach),
        1 => Just(What::Cancel),
        2 => any::<bool>().prop_map(|approve| What::Challenge { approve }),
        2 => Just(What::Confirm),
        4 => (prop::bool::weighted(0.4), any::<bool>()).prop_map(|(manual, confirm)| What::Create { manual, confirm }),
        1 => (0..3_i64).prop_map(|hours| What::SetBack { hours }),
    ];
    let who = prop_oneof![
        4 => Just(Who::ClientSecret),
        3 => Just(Who::Merchant),
        2 => Just(Who::Customer),
        1 => prop::sample::select(vec![Who::Nobody, Who::OtherCustomer, Who::OtherMerchant]),
    ];
    (0..2_usize, who, what, prop::bool::weighted(0.2)).prop_map(|(of, who, what, twice)| Command {
        of,
        who,
        what,
        twice,
    })
}

/// What the model knows of an intent.
#[derive(Clone, Debug)]
struct Intent {
    /// The service's own object, from when it was made.
    told: Value,
    manual: bool,
    confirm: bool,
    status: &'static str,
    attempts: u32,
    method: Option<Method>,
    waits_for: Option<&'static str>,
    /// When the attempt under way ends (`None`: never), and with which decline.
    ends: Option<(u32, Option<&'static str>)>,
    declined: Option<&'static str>,
    reason: Option<&'static str>,
    expires: u32,
    /// The page that the customer was last sent to, and how many attempts there had been by then.
    issuer: Option<(String, u32)>,
    /// The declined attempts that the operator approves: when, which, and of what.
    approvals: Vec<(u32, u32, Method)>,
    /// The attempts that were approved beside another, or after the end.
    duplicates: Vec<u32>,
    /// Which attempt a late approval made a success.
    paid_late: Option<u32>,
    /// When it came to its final status.
    final_at: Option<u32>,
}

impl Intent {
    /// What time alone has made of it.
    fn at(&mut self, now: u32) {
        let approved = self.approvals.iter().copied().filter(|(at, attempt, _)| {
            let told = self.duplicates.contains(attempt) || self.paid_late == Some(*attempt);
            *at <= now && !told
        });
        // What comes before, comes first.
        if let Some((at, attempt, method)) = approved.min_by_key(|(at, attempt, _)| (*at, *attempt)) {
            self.moves_on(at);
            if self.status == "requires_action" {
                (self.status, self.waits_for, self.declined) = ("succeeded", None, None);
                self.final_at = Some(at);
                self.paid_late = Some(attempt);
                self.method = Some(method);
            } else {
                self.duplicates.push(attempt);
            }
            return self.at(now);
        }
        self.moves_on(now);
    }

    /// What time alone has made of it by then, late approvals aside.
    fn moves_on(&mut self, now: u32) {
        if let ("processing", Some((at, decline))) = (self.status, self.ends)
            && at <= now
        {
            self.ends = None;
            self.declined = decline;
            self.status = match decline {
                None => "succeeded",
                Some("fraud_blocked") => "failed",
                Some(_) if self.attempts == 3 => "failed",
                Some(_) => "requires_action",
            };
            self.final_at = (self.status != "requires_action").then_some(at);
            // An attempt that ran past the expiry leaves nothing to wait for.
            self.expires = self.expires.max(at);
        }
        if self.status == "requires_action" && self.expires <= now {
            (self.status, self.reason, self.waits_for) = ("canceled", Some("expired"), None);
            self.final_at = Some(self.expires);
        }
    }

    fn charge(&mut self, now: u32) {
        let (after, decline) = match self.method.unwrap() {
            Method::ApprovedLateAfterTimeout => {
                self.approvals.push((now + 600, self.attempts + 1, Method::ApprovedLateAfterTimeout));
                (300, Some("payer_timeout"))
            }
            Method::ApprovedLateAfterUnavailable => {
                self.approvals.push((now + 600, self.attempts + 1, Method::ApprovedLateAfterUnavailable));
                (0, Some("provider_unavailable"))
            }
            Method::AsksForCode => return self.waits_for = Some("otp"),
            Method::AsksForRedirect => return self.waits_for = Some("redirect"),
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
        (self.status, self.waits_for, self.declined) = ("processing", None, None);
        self.attempts += 1;
        self.ends = Some((end, decline));
        self.at(now);
    }

    /// What a command of someone who may send it makes of the intent, and the status that is answered.
    fn obey(&mut self, who: Who, what: &What, now: u32) -> u16 {
        let open = self.status == "requires_action";
        match what {
            What::Attach(method) if open => {
                (self.method, self.waits_for, self.declined) = (Some(*method), None, None);
                match self.manual && !self.confirm {
                    true => self.waits_for = Some("confirm"),
                    false => self.charge(now),
                }
                200
            }
            What::Attach(method) if self.method == Some(*method) => 200,
            What::Confirm if self.manual && who != Who::Merchant => 403,
            What::Confirm if open && self.method.is_some() && !matches!(self.waits_for, Some("otp" | "redirect")) => {
                self.waits_for = None;
                self.charge(now);
                200
            }
            What::Answer { right } if open && self.waits_for == Some("otp") => {
                self.attempt(now, (!right).then_some("incorrect_otp"), now);
                200
            }
            What::Cancel if open => {
                let reason = if who == Who::Merchant { "requested_by_merchant" } else { "requested_by_customer" };
                (self.status, self.reason, self.waits_for) = ("canceled", Some(reason), None);
                self.final_at = Some(now);
                200
            }
            What::Cancel if self.status == "canceled" => 200,
            _ => 409,
        }
    }
}

/// The service, and what the model says of it.
struct World {
    shop: Shop,
    other: Shop,
    /// Seconds since it began.
    now: u32,
    intents: [Option<Intent>; 2],
}

impl World {
    async fn new() -> Self {
        let merchant = || async { Shop::of(SANDBOX.merchant().await.unwrap()) };
        Self { shop: merchant().await, other: merchant().await, now: 0, intents: [None, None] }
    }

    async fn obey(&mut self, command: &Command) {
        for _ in 0..1 + u32::from(command.twice) {
            match command.what {
                What::Advance { hundreds } => {
                    // And 40, so that no two things of one intent come due within the same few seconds.
                    self.shop.tenant.clock().advance(100 * hundreds + 40).await.unwrap();
                    self.now += 100 * hundreds + 40;
                }
                What::SetBack { hours } => WALL_CLOCK.shift(-3_600 * hours),
                What::Create { manual, confirm } => self.create(command.of, manual, confirm).await,
                _ => self.move_on(command).await,
            }
            self.agrees(command).await;
        }
    }

    async fn create(&mut self, of: usize, manual: bool, confirm: bool) {
        let mut fields = order(&format!("ORDER-{of}"));
        fields["confirmation_method"] = json!(if manual { "manual" } else { "automatic" });
        fields["confirm"] = json!(confirm);
        let reply = self.shop.secret("POST", "/v1/payment-intents", fields).await;
        match &self.intents[of] {
            None => {
                assert_eq!(reply.status, 201, "{}", reply.text);
                self.intents[of] = Some(Intent {
                    told: reply.body["data"].clone(),
                    manual,
                    confirm,
                    status: "requires_action",
                    attempts: 0,
                    method: None,
                    waits_for: None,
                    ends: None,
                    declined: None,
                    reason: None,
                    expires: self.now + 86_400,
                    issuer: None,
                    approvals: Vec::new(),
                    duplicates: Vec::new(),
                    paid_late: None,
                    final_at: None,
                });
            }
            Some(there) if (there.manual, there.confirm) == (manual, confirm) => {
                assert_eq!((reply.status, &reply.body["data"]["id"]), (200, &there.told["id"]));
            }
            Some(there) => {
                assert_eq!((reply.status, reply.code()), (409, "merchant_reference_conflict"));
                assert_eq!(reply.body["error"]["existing_id"], there.told["id"], "one intent a reference");
            }
        }
    }

    async fn move_on(&mut self, Command { of, who, what, .. }: &Command) {
        let Some(mut intent) = self.intents[*of].take() else { return };
        intent.at(self.now);
        // The secret stays in browsers' histories, and ends a day after the payment has, the issuer's page with it.
        let secret_has_ended = intent.final_at.is_some_and(|end| end + 86_400 <= self.now);
        if let What::Challenge { approve } = what {
            if let Some((url, round)) = &intent.issuer {
                let reply = challenge(&self.shop, url, *approve).await;
                // The round that is open leads on, and the one just decided, whose answer may have been lost.
                let just_decided = round + 1 == intent.attempts && intent.waits_for.is_none();
                let by_the_issuer = intent.method == Some(Method::AsksForRedirect);
                let leads_on = by_the_issuer && (*round == intent.attempts || just_decided);
                let expected = match leads_on && !secret_has_ended {
                    true => (200, &intent.told["checkout_url"]),
                    false => (404, &Value::Null),
                };
                assert_eq!((reply.status, &reply.body["data"]["checkout_url"]), expected);
                // A page of an earlier round, or one that is no longer waited for, decides nothing.
                if intent.status == "requires_action" && intent.waits_for == Some("redirect") {
                    intent.attempt(self.now, (!approve).then_some("rejected_by_payer"), self.now);
                }
            }
        } else {
            let reply = ask(&self.shop, &intent.told, what, self.credential(*who, &intent.told).await).await;
            let expected = match who {
                Who::Nobody => 401,
                Who::OtherCustomer | Who::OtherMerchant => 404,
                Who::ClientSecret if secret_has_ended => 404,
                Who::ClientSecret | Who::Customer | Who::Merchant => intent.obey(*who, what, self.now),
            };
            assert_eq!(reply.status, expected, "{what:?} by {who:?}: {}", reply.text);
            if expected == 409 {
                assert!(reply.message().contains(intent.status), "a refusal names the state: {}", reply.message());
            }
            if let Some(url) = reply.body["data"]["next_action"]["url"].as_str() {
                intent.issuer = Some((url.to_owned(), intent.attempts));
            }
        }
        self.intents[*of] = Some(intent);
    }

    async fn credential(&self, who: Who, intent: &Value) -> Option<String> {
        let session = async |email: &str| {
            let made = self.shop.secret("POST", "/v1/sessions/create", json!({ "customer_email": email })).await;
            made.body["data"]["session_token"].as_str().unwrap().to_owned()
        };
        match who {
            Who::ClientSecret => intent["client_secret"].as_str().map(str::to_owned),
            Who::Customer => Some(session("awa@example.com").await),
            Who::Merchant => Some(self.shop.key()),
            Who::Nobody => None,
            Who::OtherCustomer => Some(session("ngo@example.com").await),
            Who::OtherMerchant => Some(self.other.key()),
        }
    }

    /// The service tells of every intent what the model says.
    async fn agrees(&mut self, after: &Command) {
        for intent in self.intents.iter_mut().flatten() {
            intent.at(self.now);
            let told = self.shop.read(&intent.told).await;
            let duplicates = told["duplicate_payments"].as_array().unwrap().iter();
            let duplicates: Vec<_> =
                duplicates.filter_map(|one| u32::try_from(one["attempt"].as_u64()?).ok()).collect();
            assert_eq!(duplicates, intent.duplicates, "after {after:?}: {told}");
            let text = |value: &Value| value.as_str().map(str::to_owned);
            let seen = (
                text(&told["status"]),
                told["attempts"].as_u64(),
                text(&told["next_action"]["type"]),
                text(&told["last_payment_error"]["code"]),
                text(&told["cancellation_reason"]),
            );
            let said = |word: Option<&str>| word.map(str::to_owned);
            let expected = (
                said(Some(intent.status)),
                Some(intent.attempts.into()),
                said(intent.waits_for),
                said(intent.declined),
                said(intent.reason),
            );
            assert_eq!(seen, expected, "after {after:?}: {told}");
        }
    }

    /// Each approval by the operator is the intent's success, or exactly one duplicate payment.
    async fn every_approval_is_accounted_for(&mut self) {
        self.shop.tenant.clock().advance(2 * 86_400).await.unwrap();
        self.now += 2 * 86_400;
        for intent in self.intents.iter_mut().flatten() {
            let mut approved: Vec<u32> = intent.approvals.iter().map(|(_, attempt, _)| *attempt).collect();
            approved.sort_unstable();
            let told = self.shop.read(&intent.told).await;
            let mut counted: Vec<u32> = told["duplicate_payments"]
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["attempt"].as_u64().unwrap() as u32)
                .collect();
            intent.at(self.now);
            if let Some(attempt) = intent.paid_late {
                assert_eq!(told["status"], "succeeded");
                counted.push(attempt);
            }
            counted.sort_unstable();
            assert_eq!(counted, approved, "{told}");
        }
    }

    /// What holds whatever was asked, read from what the service says has happened.
    async fn keeps_its_invariants(&self) {
        let events = self.shop.tenant.events().await.unwrap();
        for intent in self.intents.iter().flatten() {
            let id = intent.told["id"].as_str().unwrap();
            let passed: Vec<&str> = events
                .iter()
                .filter(|event| event.subject == id && event.kind != "payment_intent.duplicate_payment")
                .map(|event| event.kind.trim_start_matches("payment_intent."))
                .collect();
            let count = |word: &str| passed.iter().filter(|passed| **passed == word).count();
            let last = passed.iter().position(|word| matches!(*word, "succeeded" | "failed" | "canceled"));
            assert!(last.is_none_or(|place| place + 1 == passed.len()), "a final status is final: {passed:?}");
            assert!(count("created") == 1 && count("succeeded") <= 1 && count("processing") <= 3, "{passed:?}");
            let at_once = passed.windows(2).any(|pair| pair == ["processing", "processing"]);
            assert!(!at_once, "never two attempts at once: {passed:?}");
            let read = self.shop.read(&intent.told).await;
            let is_duplicate = |event: &&guichet::sandbox::Event| {
                event.subject == id && event.kind == "payment_intent.duplicate_payment"
            };
            let told = events.iter().filter(is_duplicate).count();
            assert_eq!(told, intent.duplicates.len(), "an event for each duplicate payment");
            assert_eq!(read["attempts"].as_u64(), u64::try_from(count("processing")).ok(), "{passed:?}");
        }
        let listed = self.shop.secret("GET", "/v1/payment-intents", Value::Null).await;
        assert_eq!(
            listed.body["data"].as_array().unwrap().len(),
            self.intents.iter().flatten().count(),
            "one intent a reference"
        );
    }
}

/// Asks for a move of an intent.
async fn ask(shop: &Shop, intent: &Value, what: &What, bearer: Option<String>) -> Reply {
    let (verb, fields) = match what {
        What::Answer { right } => ("answer", json!({ "otp": if *right { "123456" } else { "654321" } })),
        What::Attach(method) => ("payment-method", instrument(*method)),
        What::Cancel => ("cancel", Value::Null),
        What::Confirm => ("confirm", Value::Null),
        What::Challenge { .. } | What::Advance { .. } | What::Create { .. } | What::SetBack { .. } => ("", Value::Null),
    };
    let path = format!("/v1/payment-intents/{}/{verb}", intent["id"].as_str().unwrap());
    match verb {
        "" => shop.ask("GET", path.trim_end_matches('/'), bearer.as_deref(), Value::Null).await,
        _ => shop.ask("POST", &path, bearer.as_deref(), fields).await,
    }
}

async fn challenge(shop: &Shop, url: &str, approve: bool) -> Reply {
    let (address, token) = url.split_once("#token=").unwrap();
    let fields = json!({ "token": token, "decision": if approve { "approve" } else { "refuse" } });
    shop.send("POST", address.strip_prefix(&shop.base_url).unwrap(), None, Some(fields.to_string()), &[]).await
}

fn instrument(method: Method) -> Value {
    match method {
        Method::ApprovedLateAfterTimeout => phone("237670000011"),
        Method::ApprovedLateAfterUnavailable => phone("237670000012"),
        Method::AsksForCode => phone("237670000010"),
        Method::AsksForRedirect => card("4000000000003220"),
        Method::Blocked => phone("237670000009"),
        Method::Hangs => phone("237670000005"),
        Method::Pays => phone("237670000000"),
        Method::PaysByCard => card("4242424242424242"),
        Method::PaysInThirtySeconds => phone("237670000001"),
        Method::Recovers => phone("237670000007"),
        Method::TimesOut => phone("237670000004"),
        Method::TooPoor => phone("237670000002"),
    }
}
