//! Writes a group: the rows of all its writes, one table after the other.

use super::Value;
use super::open_group::OpenGroup;
use super::writes::{self, NewRow, ReservedKey};
use crate::rules::billing::Plan;
use crate::rules::{EsimOrder, Intent, Session};
use crate::store::{Billed, Customer, Write};
use std::collections::HashMap;
use std::hash::Hash;

/// Executes the writes of a group in an open transaction. Returns whether each had an effect.
///
/// # Errors
/// If a statement fails. The transaction must be rolled back.
pub(super) async fn write_group(open: &mut OpenGroup<'_>, group: &[Write]) -> Result<Vec<bool>, sqlx::Error> {
    let mut effects = vec![true; group.len()];
    let mut rows = Rows::default();
    for (position, write) in reserve(open, group, &mut effects).await? {
        rows.add(position, write);
    }
    for (statement, changes) in [
        (writes::SAVE_INTENT, std::mem::take(&mut rows.saved_intents)),
        (writes::DEACTIVATE_PLAN, std::mem::take(&mut rows.deactivated)),
        (writes::FULFIL, std::mem::take(&mut rows.fulfilled)),
        (writes::REVOKE_SESSION, std::mem::take(&mut rows.revoked)),
    ] {
        change(open, statement, changes, &mut effects).await?;
    }
    rows.create(open, &mut effects).await?;
    // Last, so that objects created in the same group are deleted too.
    for merchant in rows.resets {
        for statement in writes::DELETE_RECORDS {
            open.execute(statement, &[merchant.into()]).await?;
        }
    }
    for (position, second) in rows.seconds {
        effects[position] = open.execute(writes::SAVE_SECOND, &[second.into()]).await?;
    }
    Ok(effects)
}

/// Adds rows, in this order. Returns which of them the table did not refuse.
async fn add<'a, R: NewRow + 'a>(
    open: &mut OpenGroup<'_>,
    rows: impl IntoIterator<Item = &'a R>,
) -> Result<Vec<bool>, sqlx::Error> {
    let rows: Vec<_> = rows.into_iter().map(R::values).collect();
    if rows.is_empty() { Ok(Vec::new()) } else { open.add::<R>(rows).await }
}

/// Executes the writes whose order matters, and reserves the idempotency keys. Returns the writes that are left.
async fn reserve<'a>(
    open: &mut OpenGroup<'_>,
    group: &'a [Write],
    effects: &mut [bool],
) -> Result<Vec<(usize, &'a Write)>, sqlx::Error> {
    let mut left = Vec::new();
    let mut reserved: Vec<(usize, ReservedKey<'_>)> = Vec::new();
    for (position, write) in group.iter().enumerate() {
        match write {
            // The key is reserved in the same transaction: it exists only with its object.
            Write::IfKeyIsNew { request, made, write } => {
                reserved.push((position, ReservedKey { request, made }));
                left.push((position, &**write));
            }
            Write::AddMerchant(merchant) => {
                keep(effects, [position], add(open, [merchant]).await?);
            }
            // No other group gives the key to a merchant meanwhile.
            Write::ChangeKey { merchant, key_fingerprint } => {
                let values = [key_fingerprint.as_str().into(), merchant.as_str().into()];
                effects[position] = open.execute(writes::CHANGE_KEY, &values).await?;
            }
            Write::AdvanceClock { merchant, seconds } => {
                let values = [(*seconds).into(), merchant.as_str().into()];
                effects[position] = open.execute(writes::ADVANCE_CLOCK, &values).await?;
            }
            Write::SetOperators { merchant, operators } => {
                let values = [operators.text().into(), merchant.as_str().into()];
                effects[position] = open.execute(writes::SET_OPERATORS, &values).await?;
            }
            Write::DeleteExpiredKeys { wall, limit } => {
                take(open, std::mem::take(&mut reserved), effects).await?;
                let values = [wall.unix().into(), (*limit).into()];
                effects[position] = open.execute(writes::DELETE_EXPIRED_KEYS, &values).await?;
            }
            write => left.push((position, write)),
        }
    }
    take(open, reserved, effects).await?;
    left.retain(|(position, _)| effects[*position]);
    Ok(left)
}

async fn take(
    open: &mut OpenGroup<'_>,
    reserved: Vec<(usize, ReservedKey<'_>)>,
    effects: &mut [bool],
) -> Result<(), sqlx::Error> {
    let key = |(_, ReservedKey { request, .. }): &(usize, ReservedKey<'_>)| {
        (request.merchant.clone(), request.operation, request.fingerprint.clone())
    };
    for keys in rounds(reserved, key) {
        let taken = add(open, keys.iter().map(|(_, key)| key)).await?;
        keep(effects, keys.iter().map(|(position, _)| *position), taken);
    }
    Ok(())
}

/// A change of a row that exists.
struct Change<'a> {
    /// The position in the group of the write whose effect it is.
    position: Option<usize>,
    /// The row's key, then the values of the statement.
    values: Vec<Value<'a>>,
    key: &'a str,
}

impl<'a> Change<'a> {
    fn new(position: usize, key: &'a str, others: impl IntoIterator<Item = Value<'a>>) -> Self {
        Self { position: Some(position), values: [key.into()].into_iter().chain(others).collect(), key }
    }
}

/// Changes rows, and takes the effect from the writes whose row does not allow it.
async fn change(
    open: &mut OpenGroup<'_>,
    statement: &'static str,
    changes: Vec<Change<'_>>,
    effects: &mut [bool],
) -> Result<(), sqlx::Error> {
    for changes in rounds(changes, |change| change.key) {
        let (positions, values): (Vec<_>, Vec<_>) =
            changes.into_iter().map(|change| (change.position, change.values)).unzip();
        let done = open.change(statement, values).await?;
        for (position, done) in positions.into_iter().zip(done) {
            if let Some(position) = position {
                effects[position] &= done;
            }
        }
    }
    Ok(())
}

/// The rows that a group writes, by table, each with its write's position in the group.
#[derive(Default)]
struct Rows<'a> {
    billed: Vec<(usize, &'a Billed)>,
    deactivated: Vec<Change<'a>>,
    esim_orders: Vec<(usize, &'a EsimOrder)>,
    fulfilled: Vec<Change<'a>>,
    new_intents: Vec<(usize, &'a Intent, &'a Customer)>,
    plans: Vec<(usize, &'a Plan)>,
    resets: Vec<&'a str>,
    revoked: Vec<Change<'a>>,
    saved_intents: Vec<Change<'a>>,
    seconds: Vec<(usize, i64)>,
    sessions: Vec<&'a Session>,
}

impl<'a> Rows<'a> {
    fn add(&mut self, position: usize, write: &'a Write) {
        match write {
            Write::AddEsimOrder(order) => self.esim_orders.push((position, order)),
            Write::AddIntent(row) => self.new_intents.push((position, &row.0, &row.1)),
            Write::AddPlan(plan) => self.plans.push((position, plan)),
            Write::AddSession(session) => self.sessions.push(session),
            Write::DeactivatePlan { id } => self.deactivated.push(Change::new(position, id.as_str(), [])),
            Write::Fulfil(fulfilled) => self.fulfilled.extend(fulfilled.iter().map(|(order, fulfilment)| {
                let values = [fulfilment.paid_by.as_str().into(), fulfilment.at.unix().into()];
                // An order that is fulfilled already counts, too.
                Change { position: None, ..Change::new(position, order.as_str(), values) }
            })),
            Write::Reset { merchant } => self.resets.push(merchant),
            Write::RevokeSession { fingerprint, at } => {
                self.revoked.push(Change::new(position, fingerprint, [at.unix().into()]));
            }
            Write::SaveBilled(billed) => self.billed.extend(billed.iter().map(|billed| (position, billed))),
            Write::SaveIntents(intents) => {
                self.saved_intents.extend(intents.iter().map(|intent| {
                    let values = [intent.version.into(), intent.state_text().into()];
                    Change::new(position, intent.id.as_str(), values)
                }));
            }
            Write::SaveSecond(second) => self.seconds.push((position, *second)),
            Write::AddMerchant(_)
            | Write::AdvanceClock { .. }
            | Write::ChangeKey { .. }
            | Write::DeleteExpiredKeys { .. }
            | Write::IfKeyIsNew { .. }
            | Write::SetOperators { .. } => unreachable!("it is executed before the others"),
        }
    }

    /// Creates rows, those of lists in the group's order, and changes subscriptions with what they create.
    async fn create(&self, open: &mut OpenGroup<'_>, effects: &mut [bool]) -> Result<(), sqlx::Error> {
        add(open, self.sessions.iter().copied()).await?;
        let added = add(open, self.plans.iter().map(|(_, plan)| *plan)).await?;
        keep(effects, self.plans.iter().map(|(position, _)| *position), added);
        let added = add(open, self.esim_orders.iter().map(|(_, order)| *order)).await?;
        keep(effects, self.esim_orders.iter().map(|(position, _)| *position), added);
        let billed = self.bill(open, effects).await?;
        let mut charges: Vec<&Intent> = billed.iter().flat_map(|billed| &billed.charges).collect();
        // Sorted by time, whichever subscription was billed first: lists show charges in this order.
        charges.sort_by_key(|charge| charge.created_at);
        let new = self.new_intents.iter().map(|(_, intent, _)| *intent).chain(charges);
        let added = add(open, new).await?;
        keep(effects, self.new_intents.iter().map(|(position, _, _)| *position), added);
        let payers =
            self.new_intents.iter().filter(|(position, _, _)| effects[*position]).map(|(_, _, customer)| *customer);
        let customers = payers.chain(billed.iter().filter_map(|billed| billed.customer.as_ref()));
        add(open, customers).await.map(drop)
    }

    /// Writes the subscriptions with their events. Returns those that were stored.
    async fn bill(&self, open: &mut OpenGroup<'_>, effects: &mut [bool]) -> Result<Vec<&'a Billed>, sqlx::Error> {
        let mut stored = vec![true; self.billed.len()];
        let (mut new, mut saved) = (Vec::new(), Vec::new());
        for (row, (_, billed)) in self.billed.iter().enumerate() {
            let subscription = &billed.subscription;
            let values = [subscription.version.into(), subscription.state_text().into(), billed.due_at().into()];
            match &billed.customer {
                Some(_) => new.push((row, *billed)),
                None => saved.push(Change::new(row, subscription.id.as_str(), values)),
            }
        }
        change(open, writes::SAVE_SUBSCRIPTION, saved, &mut stored).await?;
        let added = add(open, new.iter().map(|(_, billed)| *billed)).await?;
        keep(&mut stored, new.iter().map(|(row, _)| *row), added);
        keep(effects, self.billed.iter().map(|(position, _)| *position), stored.iter().copied());
        let kept = self.billed.iter().zip(stored).filter(|(_, stored)| *stored);
        let kept: Vec<&Billed> = kept.map(|((_, billed), _)| *billed).collect();
        let of = |billed: &&'a Billed| billed.numbered_events().map(|event| (*billed, event)).collect::<Vec<_>>();
        let events: Vec<_> = kept.iter().flat_map(of).collect();
        add(open, &events).await?;
        Ok(kept)
    }
}

/// Splits rows so that no part has a key twice, because a statement changes a row at most once. Rows of one key keep
/// their order.
fn rounds<T, K: Eq + Hash>(rows: Vec<T>, key: impl Fn(&T) -> K) -> Vec<Vec<T>> {
    let mut seen: HashMap<K, usize> = HashMap::new();
    let mut rounds: Vec<Vec<T>> = Vec::new();
    for row in rows {
        let number = seen.entry(key(&row)).or_default();
        if rounds.len() == *number {
            rounds.push(Vec::new());
        }
        rounds[*number].push(row);
        *number += 1;
    }
    rounds
}

/// Takes the effect from the writes at these positions whose rows were refused.
fn keep(effects: &mut [bool], positions: impl IntoIterator<Item = usize>, done: impl IntoIterator<Item = bool>) {
    for (position, done) in positions.into_iter().zip(done) {
        effects[position] &= done;
    }
}
