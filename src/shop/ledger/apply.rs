use super::clock::Clock;
use super::store::{Commit, Store};
use super::{Alarm, Answer, Decision, Effect, Event, Known, Order, Service, decide};
use crate::shop::Owner;

/// Decides an event by what is stored, and stores what it changes; from the beginning if another server has changed the
/// order since. None if there is no such order, and the event creates none.
///
/// # Errors
/// Those of the store. Then it is not known whether anything was stored, and the event may be given once more.
pub async fn apply<S: Store>(
    store: &S,
    name: &str,
    owner: &Owner,
    service: &Service,
    clock: &Clock,
    event: &Event,
) -> Result<Option<Decision>, S::Error> {
    loop {
        let (shared, of_store) = (store.shared().await?, store.now().await?);
        let now = clock.now(of_store);
        let loaded = store.load(name, owner, now).await?;
        let service = shared.service(service);
        let known = Known { open: loaded.open, taken: loaded.taken, service, service_now: clock.service_now(of_store) };
        let first = Order::new(name, owner.clone(), shared.epoch);
        let before = match (&loaded.order, event) {
            (Some(order), _) => order,
            (None, Event::Click(_)) => &first,
            (None, _) => return Ok(None),
        };
        if matches!(event, Event::Click(_)) && !shared.may_be_served() {
            // A reference that was sent since the copy would be sent again.
            let effects = vec![
                Effect::Answer(Answer::Error { status: 503, code: "unavailable" }),
                Effect::Alarm(Alarm { what: "copy", about: name.to_owned() }),
            ];
            return Ok(Some(Decision { order: before.clone(), effects }));
        }
        let decision = decide(before, &known, event, now);
        let Some(commit) = Commit::new(loaded.order.as_ref(), &decision, &known, now) else {
            return Ok(Some(decision));
        };
        if store.commit(&commit).await? {
            return Ok(Some(decision));
        }
    }
}
