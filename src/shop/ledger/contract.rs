//! What every store must do. A store's tests call it with the stores of two servers on one database.

use super::apply::apply;
use super::clock::Clock;
use super::event::{Answer, Asked, Click, Event, Got, OrderState, Purchase, Reading, Reply, Seen, Service};
use super::shared::Shared;
use super::store::{OpenEvent, Store};
use super::{Commit, Decision, Effect, Known, Order, decide};
use crate::shop::Owner;
use serde_json::json;
use std::fmt::Debug;

/// Fails by a panic that names what is not kept. The database is empty before, and is not to be used after.
#[expect(clippy::panic, reason = "a contract fails like a test")]
pub async fn contract<S: Store>(one: &S, other: &S) {
    let (service, awa) = (Service::default(), Owner::Customer("awa".to_owned()));
    let now = done(one.now().await);

    // What one server has stored, the other loads; another owner's count is their own.
    let sent = done(apply(one, "ORDER-1", &awa, &service, &Clock::new(false), &click(&awa)).await).expect("an order");
    let loaded = done(other.load("ORDER-1", &awa, now).await);
    assert_eq!(loaded.order.as_ref(), Some(&sent.order), "the other server loads another order");
    assert_eq!(loaded.open, 1, "the other server counts another number of its owner's");
    let strange = done(other.load("ORDER-2", &Owner::Customer("paul".to_owned()), now).await);
    assert_eq!((strange.order, strange.open, strange.taken.len()), (None, 0, 0), "another owner has something");

    // Of two that were decided from one version, one is stored, and nothing of the other.
    let known = Known { open: 1, ..Known::default() };
    let reply = |id: &str| {
        Event::Reply(Reply {
            reference: "ORDER-1".to_owned(),
            send: 0,
            earlier: Vec::new(),
            got: payment(id, "requires_action"),
        })
    };
    let [first, second] = ["pi_1", "pi_2"].map(|id| decide(&sent.order, &known, &reply(id), now));
    let commit = |decision: &Decision| Commit::new(Some(&sent.order), decision, &known, now).expect("a change");
    assert!(done(one.commit(&commit(&first)).await), "the first of two is refused");
    assert!(!done(other.commit(&commit(&second)).await), "a commit from an older version is stored");
    let loaded = done(one.load("ORDER-1", &awa, now).await);
    assert_eq!(loaded.order.as_ref(), Some(&first.order), "a commit that was refused has changed the order");
    assert_eq!(done(one.find("pi_2").await), [""; 0], "a commit that was refused has left a name");

    // A payment is found by each of its names.
    for name in ["ORDER-1", "pi_1", "gch_pi_1"] {
        assert_eq!(done(other.find(name).await), ["ORDER-1"], "the payment is not found by {name}");
    }

    // A new payment is stored only if its owner's count is still that by which it was decided.
    let fresh = Order::new("ORDER-3", awa.clone(), 1);
    for (open, is_stored) in [(0, false), (2, false), (1, true)] {
        let known = Known { open, ..Known::default() };
        let decision = decide(&fresh, &known, &click(&awa), now);
        let commit = Commit::new(None, &decision, &known, now).expect("a change");
        assert_eq!(done(one.commit(&commit).await), is_stored, "one of its owner's counts, and {open} was decided by");
    }
    assert_eq!(done(one.load("ORDER-3", &awa, now).await).open, 2);
    assert_eq!(
        done(one.load("ORDER-3", &awa, now + 24 * 60 * 60).await).open,
        0,
        "a payment counts for longer than it says"
    );

    // No reference is two orders'.
    let known = Known { open: 2, ..Known::default() };
    let mut twin = Order::new("ORDER", awa.clone(), 1);
    twin.payments.clone_from(&sent.order.payments);
    let decision = Decision { order: twin, effects: Vec::new() };
    let taken = Commit::new(None, &decision, &known, now).expect("a change");
    assert!(!done(one.commit(&taken).await), "a reference of another order is stored");
    let loaded = done(one.load("ORDER", &awa, now).await);
    assert_eq!(loaded.order, None, "an order is stored whose reference is another's");
    assert!(
        loaded.taken.contains("ORDER-1") && loaded.taken.contains("ORDER-3"),
        "references that are taken are not given"
    );

    assert!(done(other.has_due().await), "a payment that is to be read later is not known");

    // A payment is due from its time on, and not any more when it says so.
    let row = &commit(&first).rows[0];
    let due_at = row.due_at.expect("an open payment is read");
    let due_between = async |now, beyond| done(other.due(now, beyond).await);
    let references =
        async |now| due_between(now, i64::MAX).await.into_iter().map(|due| due.reference).collect::<Vec<_>>();
    assert!(!references(due_at - 1).await.contains(&row.reference), "a payment is due before its time");
    assert!(references(due_at).await.contains(&row.reference), "a payment is not due at its time");
    done(one.returned("ORDER-1", now).await);
    let all = due_between(due_at, i64::MAX).await;
    let due = all.into_iter().find(|due| due.reference == "ORDER-1").expect("due");
    assert_eq!((due.returned_at, due.since, due.owner), (Some(now), due_at, "customer:awa".to_owned()));

    done(one.postpone("ORDER-1", due_at + 60).await);
    assert!(!references(due_at + 59).await.contains(&row.reference), "a payment that was postponed is due");
    let ahead = due_between(0, due_at + 59).await;
    assert!(ahead.iter().any(|due| due.reference == "ORDER-1"), "a payment is lost whose time lies too far ahead");

    // An event stays until it is closed, on each server.
    let reading = Event::Reading(Reading {
        reference: "ORDER-1".to_owned(),
        asked: Asked::Read("pi_1".to_owned()),
        at: now,
        for_page: false,
        got: payment("pi_1", "succeeded"),
    });
    let paid = done(apply(other, "ORDER-1", &awa, &service, &Clock::new(false), &reading).await).expect("an order");
    let is_paid = paid
        .effects
        .iter()
        .any(|effect| matches!(effect, Effect::OrderChanged(changed) if changed.state == OrderState::Paid));
    assert!(is_paid, "a payment that succeeded has not paid the order");
    let events = done(one.events(None).await);
    let [OpenEvent { name, version, .. }] = &*events else {
        panic!("one event is open, and the store gives {events:?}")
    };
    assert_eq!((name.as_str(), *version), ("ORDER-1", paid.order.version));
    done(one.close(&events[0]).await);
    done(other.close(&events[0]).await);
    assert_eq!(done(other.events(None).await), [], "a closed event is open");

    // What all servers share is replaced by one of two.
    let before = done(one.shared().await);
    let [mine, yours] = [15, 16].map(|seconds| Shared { round_until: now + seconds, ..before.clone() });
    assert!(done(one.replace_shared(&before, &mine).await), "what is shared cannot be replaced");
    assert!(!done(other.replace_shared(&before, &yours).await), "two servers have the round");
    assert_eq!(done(other.shared().await).round_until, mine.round_until);

    // A copy sells nothing.
    let before = done(one.shared().await);
    assert!(done(one.replace_shared(&before, &Shared { copied_at: Some(now), ..before.clone() }).await));
    let refused =
        done(apply(other, "ORDER-4", &awa, &service, &Clock::new(false), &click(&awa)).await).expect("an order");
    let is_refused = matches!(&refused.effects[0], Effect::Answer(Answer::Error { status: 503, .. }));
    assert!(is_refused && done(one.order("ORDER-4").await).is_none(), "a copy was served");
}

/// A click of this owner on an order of 45,000 XAF.
#[must_use]
pub fn click(owner: &Owner) -> Event {
    let body = json!({"firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com", "description": "Shoes", "amount": "45000"});
    Event::Click(Click {
        owner: owner.clone(),
        visit: None,
        purchase: Purchase::Costs(body),
        nonce: String::new(),
        mark: String::new(),
        quote: None,
    })
}

fn payment(id: &str, status: &str) -> Got {
    let seen =
        json!({"id": id, "payment_ref": format!("gch_{id}"), "amount": "45000", "currency": "XAF", "status": status});
    Got::Payment(Box::new(serde_json::from_value::<Seen>(seen).expect("a payment")))
}

fn done<T, E: Debug>(result: Result<T, E>) -> T {
    result.expect("the store answers")
}
