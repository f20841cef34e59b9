//! The tests of the contract, which every backend runs: [`check`]. And the records of which they are made.
//!
//! ```no_run
//! # use guichet_sandbox::store::Backend;
//! # async fn open_empty() -> std::sync::Arc<dyn Backend> { unimplemented!() }
//! use guichet_sandbox::store::contract;
//!
//! contract::check(async || open_empty().await);
//! ```

#![allow(clippy::missing_panics_doc, clippy::panic, clippy::unwrap_used, reason = "these are tests")]

use super::{
    After, Backend, Billed, Customer, EsimOrder, Fulfilment, IdempotentRequest, Intent, List, Memory, MerchantRow,
    Plan, Session, Subscription, Write,
};
use crate::rules::billing::{Offer, SubscriptionState, Terms as SubscriptionTerms};
use crate::rules::{
    Behaviour, IntentState, OperatorStatus, OperatorStatuses, PayingWith, Status, Terms, read_instrument,
};
use guichet::operations::Instrument;
use guichet::values::{
    Amount, BillingCycle, Currency, EsimOrderId, EsimPackageId, IntentId, Moment, Phone, PlanCode, PlanId, PlanKey,
    SubscriptionId,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fmt::Debug;
use std::sync::Arc;

const DAY: i64 = 86_400;

/// Tests a backend, and panics if it breaks the contract. `open` makes an empty database and opens it.
pub fn check(open: impl AsyncFn() -> Arc<dyn Backend>) {
    // On one thread: a writer's task begins only when all writes of a group are queued.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let open = async || {
        let store = open().await;
        assert!(store.write(Write::AddMerchant(MerchantRow { place: 0, ..merchant(0) })).await.unwrap());
        store
    };
    macro_rules! promises {
        ($($promise:ident)*) => {
            runtime.block_on(async {$(
                println!("{}", stringify!($promise));
                let store = open().await;
                $promise(&*store).await;
                store.close().await;
            )*});
        };
    }
    promises! {
        a_write_without_effect_does_not_undo_its_group
        an_intent_is_saved_only_as_the_version_that_was_read
        an_intent_that_was_stored_as_failed_is_saved_as_succeeded
        an_idempotency_key_is_free_again_exactly_when_it_expires
        a_reset_deletes_one_merchants_objects_with_those_of_its_group
        charges_that_begin_in_one_write_are_listed_by_their_time
        an_id_with_u0000_is_unknown
        a_closed_store_is_unavailable
    }
    let mut runner =
        TestRunner::new(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() });
    let histories = prop::collection::vec(group(), 1..12);
    let tested = runner.run(&histories, |history| {
        runtime.block_on(async {
            let store = open().await;
            every_history_has_the_same_effects_and_is_read_the_same(&*store, history).await;
            store.close().await;
        });
        Ok(())
    });
    tested.unwrap_or_else(|error| panic!("{error}"));
}

async fn a_write_without_effect_does_not_undo_its_group(store: &dyn Backend) {
    let group = vec![
        Write::AddIntent(Box::new(intent(1, "ORDER-1", None))),
        Write::AddIntent(Box::new(intent(2, "ORDER-1", None))),
        Write::SaveIntents(vec![Intent { version: 9, ..intent(1, "ORDER-1", None).0 }]),
        Write::RevokeSession { fingerprint: "unknown".into(), at: Moment::from_unix(1) },
        Write::AddIntent(Box::new(intent(3, "ORDER-3", None))),
    ];
    assert_eq!(store.commit(group).await.unwrap(), [true, false, false, false, true]);
    let ids: Vec<_> = store.intents("m0", None, 9).await.unwrap().into_iter().map(|intent| intent.id).collect();
    assert_eq!(ids, [intent_id(3), intent_id(1)], "newest first");
    let customers: Vec<_> = store.customers("m0", None, 9).await.unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(customers, ["cus_1"], "one contact is one customer: the first");
}

async fn an_intent_is_saved_only_as_the_version_that_was_read(store: &dyn Backend) {
    let (first, customer) = intent(1, "ORDER-1", None);
    assert!(store.add_intent(first.clone(), customer).await.unwrap());
    assert!(store.save_intent(first.clone()).await.unwrap());
    assert!(!store.save_intent(first.clone()).await.unwrap());
    let both = vec![first.clone(), Intent { version: 2, ..first.clone() }];
    assert!(!store.write(Write::SaveIntents(both)).await.unwrap());
    assert_eq!(store.intent(&first.id).await.unwrap().unwrap().version, 3, "of two, one was stored");
}

async fn an_intent_that_was_stored_as_failed_is_saved_as_succeeded(store: &dyn Backend) {
    let phone = Instrument::mobile_money(Phone::new("237670000014").unwrap());
    let (mut one, customer) = intent(1, "ORDER-1", Some(1));
    one.state = one.state.attach(&one.terms, read_instrument(&phone).unwrap(), Moment::from_unix(1)).unwrap().unwrap();
    assert!(store.add_intent(one.clone(), customer).await.unwrap());
    let paid = one.clone().at(Moment::from_unix(61));
    assert_eq!((one.state.status, paid.state.status), (Status::Failed, Status::Succeeded));
    assert!(store.save_intent(paid.clone()).await.unwrap());
    let read = [
        store.intent(&one.id).await.unwrap(),
        store.intents("m0", None, 9).await.unwrap().pop(),
        store.intents_of_esim_order("m0", &order(1).id).await.unwrap().pop(),
    ];
    assert!(read.iter().all(|read| read.as_ref().is_some_and(|read| read.state == paid.state)), "{read:?}");
}

async fn an_idempotency_key_is_free_again_exactly_when_it_expires(store: &dyn Backend) {
    let request = |now: i64| IdempotentRequest { now: Moment::from_unix(now), ..request("m0", 1) };
    assert!(store.add_esim_order(order(1), Some(request(0))).await.unwrap());
    assert!(!store.add_esim_order(order(2), Some(request(DAY - 1))).await.unwrap());
    assert!(store.esim_order("m0", &order(2).id).await.unwrap().is_none());
    assert_eq!(store.made(&request(DAY - 1)).await.unwrap().unwrap().id, "eso_1");
    assert!(store.made(&request(DAY)).await.unwrap().is_none());
    assert!(store.add_esim_order(order(3), Some(request(DAY))).await.unwrap());
    assert_eq!(store.made(&request(DAY)).await.unwrap().unwrap().id, "eso_3");
}

async fn a_reset_deletes_one_merchants_objects_with_those_of_its_group(store: &dyn Backend) {
    assert!(store.write(Write::AdvanceClock { merchant: "m0".into(), seconds: 60 }).await.unwrap());
    let operators = OperatorStatuses::default().with("mtn_cm", OperatorStatus::Closed);
    assert!(store.write(Write::SetOperators { merchant: "m0".into(), operators: operators.clone() }).await.unwrap());
    assert_eq!(store.merchants().await.unwrap()[0].operators, operators);
    let group = vec![
        Write::AddPlan(Box::new(plan(1, "m0", "gold"))),
        Write::Reset { merchant: "m0".into() },
        Write::AddIntent(Box::new(intent(1, "ORDER-1", None))),
        Write::AddPlan(Box::new(plan(2, "m1", "gold"))),
    ];
    assert_eq!(store.commit(group).await.unwrap(), [true; 4]);
    assert!(store.intents("m0", None, 9).await.unwrap().is_empty());
    assert!(store.plans("m0", true, None, 9).await.unwrap().is_empty());
    assert_eq!(store.plans("m1", true, None, 9).await.unwrap().len(), 1);
    let merchants = store.merchants().await.unwrap();
    assert_eq!((merchants.len(), merchants[0].clock_offset, &*merchants[0].key_fingerprint), (1, 0, "k0"));
    assert_eq!(merchants[0].operators, OperatorStatuses::default());
    let (again, customer) = intent(2, "ORDER-1", None);
    assert!(store.add_intent(again, customer).await.unwrap(), "its reference is free again");
}

async fn charges_that_begin_in_one_write_are_listed_by_their_time(store: &dyn Backend) {
    let charged = |number: u32, at: i64| {
        let charge = Intent { created_at: Moment::from_unix(at), ..intent(number, &format!("R-{number}"), None).0 };
        Billed { charges: vec![charge], ..billed(number, "m0", "a@example.com", 1, None) }
    };
    let all = vec![charged(1, 30), charged(2, 10), charged(3, 20)];
    assert!(store.write(Write::SaveBilled(all)).await.unwrap());
    let listed = store.intents("m0", None, 9).await.unwrap();
    let times: Vec<_> = listed.iter().map(|intent| intent.created_at.unix()).collect();
    assert_eq!(times, [30, 20, 10]);
    let subscription = store.subscription("m0", &subscription_id(3)).await.unwrap().unwrap();
    assert_eq!(subscription.customer_id, "cus_1", "three with one contact are one customer");
}

async fn an_id_with_u0000_is_unknown(store: &dyn Backend) {
    let (one, customer) = intent(1, "ORDER-1", None);
    store.add_intent(one, customer).await.unwrap();
    assert!(store.intent(&IntentId::new("pi_1\0").unwrap()).await.unwrap().is_none());
    assert!(store.intent_by_reference("m0", "ORDER-1\0").await.unwrap().is_none());
    assert!(store.intent_by_payment_ref("m0", "gch_1\0").await.unwrap().is_none());
    assert!(store.position(List::Intents, "m0", "\0").await.unwrap().is_none());
    assert!(store.plan_by_key("m0", &PlanKey::new("\0").unwrap()).await.unwrap().is_none());
    assert!(store.intents("m0", None, 9).await.unwrap().len() == 1, "the next read works");
}

async fn a_closed_store_is_unavailable(store: &dyn Backend) {
    store.close().await;
    assert!(store.merchants().await.is_err());
    assert!(store.write(Write::AddMerchant(merchant(1))).await.is_err());
    assert!(store.queue(Write::SaveSecond(1)).await.is_err());
}

async fn every_history_has_the_same_effects_and_is_read_the_same(store: &dyn Backend, history: Vec<Vec<Step>>) {
    let memory = Memory::default();
    assert!(memory.write(Write::AddMerchant(MerchantRow { place: 0, ..merchant(0) })).await.unwrap());
    let mut known = Known::default();
    let groups = history.len();
    for (done, group) in history.into_iter().enumerate() {
        let before = known.clone();
        let mut writes = Vec::new();
        for step in &group {
            writes.push(known.write(step, &before, &memory).await);
        }
        let effects = memory.commit(writes.clone()).await.unwrap();
        assert_eq!(effects, store.commit(writes.clone()).await.unwrap(), "{writes:#?}");
        // Reading everything takes time: it is done after some groups, and at the end.
        if done % 4 != 0 && done + 1 < groups {
            continue;
        }
        let expected = known.read_all(&memory).await;
        let read = known.read_all(store).await;
        for (expected, read) in expected.iter().zip(&read) {
            assert_eq!(expected, read);
        }
        assert_eq!(expected.len(), read.len());
    }
}

/// A write of a history. A number that refers to an object is its index among those that existed before the group.
#[derive(Clone, Debug)]
enum Step {
    Advance { merchant: u32, seconds: i64 },
    Bill { of: Vec<(usize, bool)>, trial: u32, charged_at: i64 },
    ChangeKey { merchant: u32, key: u32 },
    Deactivate { of: usize },
    DeleteExpired { wall: i64, limit: i64 },
    Fulfil { of: usize },
    Intent { merchant: u32, reference: u32, contact: u32, pays: Option<u32> },
    Merchant { of: u32, key: u32 },
    Order { merchant: u32, key: Option<(u32, i64)> },
    Plan { merchant: u32, code: u32 },
    Reset { merchant: u32 },
    Revoke { of: usize, at: i64 },
    Save { of: Vec<(usize, bool)> },
    Second(i64),
    Session { merchant: u32 },
    Subscribe { merchant: u32, contact: u32, trial: u32, key: Option<(u32, i64)> },
}

fn group() -> impl Strategy<Value = Vec<Step>> {
    let merchant = || 0..3_u32;
    let key = || prop::option::of((0..3_u32, (0..4_i64).prop_map(|half_days| half_days * DAY / 2)));
    let several = || prop::collection::vec((any::<usize>(), prop::bool::weighted(0.2)), 1..4);
    let step = prop_oneof![
        1 => (merchant(), 0..DAY).prop_map(|(merchant, seconds)| Step::Advance { merchant, seconds }),
        3 => (several(), 0..40_u32, 0..9_i64).prop_map(|(of, trial, charged_at)| Step::Bill { of, trial, charged_at }),
        1 => (merchant(), 0..4_u32).prop_map(|(merchant, key)| Step::ChangeKey { merchant, key }),
        1 => any::<usize>().prop_map(|of| Step::Deactivate { of }),
        1 => (0..3 * DAY, 1..3_i64).prop_map(|(wall, limit)| Step::DeleteExpired { wall, limit }),
        1 => any::<usize>().prop_map(|of| Step::Fulfil { of }),
        6 => (merchant(), 0..12_u32, 0..4_u32, prop::option::of(0..6_u32))
            .prop_map(|(merchant, reference, contact, pays)| Step::Intent { merchant, reference, contact, pays }),
        1 => (merchant(), 0..4_u32).prop_map(|(of, key)| Step::Merchant { of, key }),
        2 => (merchant(), key()).prop_map(|(merchant, key)| Step::Order { merchant, key }),
        2 => (merchant(), 0..6_u32).prop_map(|(merchant, code)| Step::Plan { merchant, code }),
        1 => merchant().prop_map(|merchant| Step::Reset { merchant }),
        1 => (any::<usize>(), 0..9_i64).prop_map(|(of, at)| Step::Revoke { of, at }),
        3 => several().prop_map(|of| Step::Save { of }),
        1 => (0..50_i64).prop_map(Step::Second),
        1 => merchant().prop_map(|merchant| Step::Session { merchant }),
        3 => (merchant(), 0..4_u32, 1..40_u32, key())
            .prop_map(|(merchant, contact, trial, key)| Step::Subscribe { merchant, contact, trial, key }),
    ];
    prop::collection::vec(step, 1..8)
}

/// The ids of the objects that a history has created.
#[derive(Clone, Default)]
struct Known {
    last: u32,
    intents: Vec<u32>,
    orders: Vec<u32>,
    plans: Vec<u32>,
    sessions: Vec<u32>,
    subscriptions: Vec<(u32, u32)>,
}

impl Known {
    /// The write of a step.
    async fn write(&mut self, step: &Step, before: &Self, store: &dyn Backend) -> Write {
        self.last += 1;
        let number = self.last;
        let name = |merchant: &u32| format!("m{merchant}");
        let keyed = |write: Write, merchant: &u32, key: &Option<(u32, i64)>, made: String| {
            let request = key
                .map(|(key, now)| IdempotentRequest { now: Moment::from_unix(now), ..request(&name(merchant), key) });
            write.if_key_is_new(request, made)
        };
        match step {
            Step::Advance { merchant, seconds } => Write::AdvanceClock { merchant: name(merchant), seconds: *seconds },
            Step::Bill { of, trial, charged_at } => {
                let mut all = Vec::new();
                for (of, is_stale) in of {
                    let Some((id, merchant)) = picked(&before.subscriptions, *of) else { continue };
                    let stored = store.subscription(&name(&merchant), &subscription_id(id)).await.unwrap();
                    let version = stored.map_or(1, |stored| stored.version) - i64::from(*is_stale);
                    let mut next = billed(id, &name(&merchant), "", *trial, Some(version));
                    self.last += 1;
                    let (charge, _) = intent(self.last, &format!("R-{}", self.last % 30), None);
                    self.intents.push(self.last);
                    let created_at = Moment::from_unix(charged_at + i64::from(id % 3));
                    next.charges = vec![Intent { merchant: name(&merchant), created_at, ..charge }];
                    all.push(next);
                }
                Write::SaveBilled(all)
            }
            Step::ChangeKey { merchant, key } => {
                Write::ChangeKey { merchant: name(merchant), key_fingerprint: format!("k{key}") }
            }
            Step::Deactivate { of } => {
                Write::DeactivatePlan { id: plan(picked(&before.plans, *of).unwrap_or_default(), "", "gold").id }
            }
            Step::DeleteExpired { wall, limit } => {
                Write::DeleteExpiredKeys { wall: Moment::from_unix(*wall), limit: *limit }
            }
            Step::Fulfil { of } => {
                let fulfilment = Fulfilment { paid_by: intent_id(number), at: Moment::from_unix(i64::from(number)) };
                Write::Fulfil(vec![(order(picked(&before.orders, *of).unwrap_or_default()).id, fulfilment)])
            }
            Step::Intent { merchant, reference, contact, pays } => {
                let (intent, customer) = intent(number, &format!("R-{reference}"), *pays);
                self.intents.push(number);
                let contact = format!("{contact}@example.com");
                let customer = Customer { merchant: name(merchant), contact, ..customer };
                Write::AddIntent(Box::new((Intent { merchant: name(merchant), ..intent }, customer)))
            }
            Step::Merchant { of, key } => {
                Write::AddMerchant(MerchantRow { key_fingerprint: format!("k{key}"), ..merchant(*of) })
            }
            Step::Order { merchant, key } => {
                self.orders.push(number);
                let order = EsimOrder { merchant: name(merchant), ..order(number) };
                let made = order.id.to_string();
                keyed(Write::AddEsimOrder(Box::new(order)), merchant, key, made)
            }
            Step::Plan { merchant, code } => {
                self.plans.push(number);
                // Some codes are ids of other plans.
                Write::AddPlan(Box::new(plan(number, &name(merchant), &format!("plan_{code}"))))
            }
            Step::Reset { merchant } => Write::Reset { merchant: name(merchant) },
            Step::Revoke { of, at } => Write::RevokeSession {
                fingerprint: format!("s{}", picked(&before.sessions, *of).unwrap_or_default()),
                at: Moment::from_unix(*at),
            },
            Step::Save { of } => {
                let mut all = Vec::new();
                for (of, is_stale) in of {
                    let Some(id) = picked(&before.intents, *of) else { continue };
                    let (intent, _) = intent(id, "", None);
                    let stored = store.intent(&intent.id).await.unwrap().map_or(1, |stored| stored.version);
                    let state = IntentState { attempts: number, ..IntentState::new() };
                    all.push(Intent { state, version: stored - i64::from(*is_stale), ..intent });
                }
                Write::SaveIntents(all)
            }
            Step::Second(second) => Write::SaveSecond(*second),
            Step::Session { merchant } => {
                self.sessions.push(number);
                Write::AddSession(Session {
                    fingerprint: format!("s{number}"),
                    merchant: name(merchant),
                    email: "awa@example.com".into(),
                    created_at: Moment::from_unix(1),
                    expires_at: Moment::from_unix(9),
                    revoked_at: None,
                })
            }
            Step::Subscribe { merchant, contact, trial, key } => {
                self.subscriptions.push((number, *merchant));
                let billed = billed(number, &name(merchant), &format!("{contact}@example.com"), *trial, None);
                let made = billed.subscription.id.to_string();
                keyed(Write::SaveBilled(vec![billed]), merchant, key, made)
            }
        }
    }

    /// Everything that can be read.
    async fn read_all(&self, store: &dyn Backend) -> Vec<String> {
        let mut all = vec![
            text(&store.latest_second().await),
            text(&store.merchants().await),
            text(&store.merchants_due(Moment::from_unix(10 * DAY)).await),
        ];
        for number in &self.intents {
            all.push(text(&store.intent(&intent_id(*number)).await));
        }
        for number in &self.sessions {
            all.push(text(&store.session(&format!("s{number}")).await));
        }
        for merchant in ["m0", "m1", "m2"] {
            self.read_lists(store, merchant, None, 99, &mut all).await;
            self.read_lists(store, merchant, None, 2, &mut all).await;
            for number in 0..=self.last {
                let named = [
                    (List::Customers, format!("cus_{number}")),
                    (List::Intents, intent_id(number).to_string()),
                    (List::Plans, format!("plan_{number}")),
                    (List::Subscriptions, subscription_id(number).to_string()),
                ];
                for (list, id) in named {
                    let position = store.position(list, merchant, &id).await.unwrap();
                    all.push(format!("{list:?} of {merchant}: {id} is there: {}", position.is_some()));
                    // Each store numbers positions its own way, but the entries after a position must be the same.
                    if position.is_some() {
                        all.push(match list {
                            List::Customers => text(&store.customers(merchant, position, 2).await),
                            List::Intents => text(&store.intents(merchant, position, 2).await),
                            List::Plans => text(&store.plans(merchant, false, position, 2).await),
                            List::Subscriptions => text(&store.subscriptions(merchant, position, 2).await),
                        });
                    }
                }
            }
            all.push(text(&store.intent_by_payment_ref(merchant, "gch_1").await));
            for number in 0..12 {
                all.push(text(&store.intent_by_reference(merchant, &format!("R-{number}")).await));
                all.push(text(&store.plan_by_key(merchant, &PlanKey::new(format!("plan_{number}")).unwrap()).await));
                all.push(text(&store.intents_of_esim_order(merchant, &order(number).id).await));
            }
            for number in &self.orders {
                all.push(text(&store.esim_order(merchant, &order(*number).id).await));
            }
            for (number, _) in &self.subscriptions {
                all.push(text(&store.subscription(merchant, &subscription_id(*number)).await));
            }
            for (key, now) in [(0, 0), (1, DAY), (2, 2 * DAY)] {
                let request = IdempotentRequest { now: Moment::from_unix(now), ..request(merchant, key) };
                all.push(text(&store.made(&request).await));
            }
        }
        all
    }

    async fn read_lists(&self, store: &dyn Backend, merchant: &str, after: After, limit: i64, all: &mut Vec<String>) {
        all.extend([
            text(&store.customers(merchant, after, limit).await),
            text(&store.due(merchant, Moment::from_unix(12 * DAY), limit).await),
            text(&store.esim_orders(merchant, limit).await),
            text(&store.intents(merchant, after, limit).await),
            text(&store.intents_of_open_esim_orders(merchant, limit).await),
            text(&store.plans(merchant, false, after, limit).await),
            text(&store.plans(merchant, true, after, limit).await),
            text(&store.subscription_events(merchant, limit).await),
            text(&store.subscriptions(merchant, after, limit).await),
        ]);
    }
}

fn text(read: &impl Debug) -> String {
    format!("{read:?}")
}

/// Picks one of the values. `None` if there are none.
fn picked<T: Copy>(known: &[T], of: usize) -> Option<T> {
    (!known.is_empty()).then(|| known[of % known.len()])
}

/// The id of the n-th intent.
#[must_use]
pub fn intent_id(number: u32) -> IntentId {
    IntentId::new(format!("pi_{number}")).unwrap()
}

fn subscription_id(number: u32) -> SubscriptionId {
    SubscriptionId::new(format!("sub_{number}")).unwrap()
}

/// The n-th intent, of the merchant `m0`, with its customer. It may pay an eSIM order.
#[must_use]
pub fn intent(number: u32, reference: &str, pays: Option<u32>) -> (Intent, Customer) {
    let metadata = pays.map(|order| format!(r#","metadata":{{"esim_order_id":"eso_{order}"}}"#)).unwrap_or_default();
    let body = format!(
        r#"{{"firstname":"Awa","lastname":"Ngo","email":"awa@example.com","amount":"5000","currency":"XAF","description":"Shoes","merchant_reference":"{reference}","fee_bearer":"merchant","confirmation_method":"automatic","confirm":false{metadata}}}"#
    );
    let intent = Intent {
        id: intent_id(number),
        merchant: "m0".into(),
        payment_ref: "gch_1".into(),
        digest: String::new(),
        terms: Terms::read(&body).unwrap(),
        body,
        state: IntentState::new(),
        created_at: Moment::from_unix(1),
        expires_at: Moment::from_unix(2),
        version: 1,
    };
    (intent, customer(number, "m0", "awa@example.com"))
}

fn customer(number: u32, merchant: &str, contact: &str) -> Customer {
    Customer {
        id: format!("cus_{number}"),
        merchant: merchant.into(),
        contact: contact.into(),
        firstname: "Awa".into(),
        lastname: "Ngo".into(),
        email: contact.into(),
        phone: String::new(),
        created_at: Moment::from_unix(1),
    }
}

/// The n-th merchant: `m1`, with the key of the fingerprint `k1`.
#[must_use]
pub fn merchant(number: u32) -> MerchantRow {
    MerchantRow {
        id: format!("m{number}"),
        name: "Shop".into(),
        key_fingerprint: format!("k{number}"),
        clock_offset: 0,
        operators: OperatorStatuses::default(),
        place: i64::from(number.is_multiple_of(2)),
    }
}

fn offer(code: &str, trial_days: u32) -> Offer {
    Offer {
        name: "Gold".into(),
        code: PlanCode::new(code).unwrap(),
        amount: Amount::units(5_000),
        currency: Currency::xaf(),
        billing_cycle: BillingCycle::Monthly,
        trial_days,
    }
}

/// The n-th plan.
#[must_use]
pub fn plan(number: u32, merchant: &str, code: &str) -> Plan {
    Plan {
        id: PlanId::new(format!("plan_{number}")).unwrap(),
        merchant: merchant.into(),
        offer: offer(code, 0),
        active: true,
        created_at: Moment::from_unix(1),
    }
}

/// A new subscription. With `version`, the next state of a stored one.
#[must_use]
pub fn billed(number: u32, merchant: &str, contact: &str, trial_days: u32, version: Option<i64>) -> Billed {
    let with = PayingWith::MobileMoney { phone: "237670000000".into(), operator: None, behaviour: Behaviour::Hangs };
    let offer = offer("gold", trial_days);
    let (state, _) = SubscriptionState::begin(&offer, with, Moment::from_unix(0));
    let subscription = Subscription {
        id: subscription_id(number),
        merchant: merchant.into(),
        customer_id: String::new(),
        terms: SubscriptionTerms {
            email: contact.into(),
            firstname: "Awa".into(),
            lastname: "Ngo".into(),
            plan: PlanId::new("plan_1").unwrap(),
            offer,
            metadata: None,
        },
        state,
        created_at: Moment::from_unix(1),
        version: version.unwrap_or(1),
    };
    let events = (0..i64::from(trial_days % 3)).map(|at| (Moment::from_unix(at), "renewed")).collect();
    let customer = version.is_none().then(|| customer(number, merchant, contact));
    Billed { subscription, customer, charges: Vec::new(), events }
}

/// The n-th eSIM order, of the merchant `m0`.
#[must_use]
pub fn order(number: u32) -> EsimOrder {
    EsimOrder {
        id: EsimOrderId::new(format!("eso_{number}")).unwrap(),
        merchant: "m0".into(),
        package: EsimPackageId::new("esim_1").unwrap(),
        quantity: 1,
        amount: 5_000,
        currency: Currency::xaf(),
        created_at: Moment::from_unix(1),
        fulfilment: None,
    }
}

/// A request with the n-th idempotency key, at the time 0.
#[must_use]
pub fn request(merchant: &str, key: u32) -> IdempotentRequest {
    IdempotentRequest {
        merchant: merchant.into(),
        operation: "create_esim_order",
        fingerprint: format!("key-{key}"),
        digest: format!("digest-{key}"),
        now: Moment::from_unix(0),
    }
}
