//! The statements of a group.

use crate::statements;
use guichet::values::{EsimOrderId, Moment, PlanId};
use guichet_sandbox::store::{
    Billed, Customer, EsimOrder, Fulfilment, IdempotentRequest, Intent, Plan, Session, Write,
};
use sqlx::PgConnection;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// Executes the writes of a group in the open transaction. Returns whether each had an effect.
pub(crate) async fn write_all(connection: &mut PgConnection, group: &[Write]) -> Result<Vec<bool>, sqlx::Error> {
    let mut effects = vec![true; group.len()];
    let mut rows = Rows::default();
    for (position, write) in reserve(connection, group, &mut effects).await? {
        rows.add(position, write);
    }
    rows.change(connection, &mut effects).await?;
    rows.create(connection, &mut effects).await?;
    // Last, so that objects created in the same group are deleted too.
    for merchant in rows.resets {
        statements::reset(connection, merchant).await?;
    }
    for (position, second) in rows.seconds {
        effects[position] = statements::save_second(connection, second).await?;
    }
    Ok(effects)
}

/// Executes the writes whose order matters, and reserves the idempotency keys. Returns the writes that are left.
async fn reserve<'a>(
    connection: &mut PgConnection,
    group: &'a [Write],
    effects: &mut [bool],
) -> Result<Vec<(usize, &'a Write)>, sqlx::Error> {
    let mut left = Vec::new();
    let mut reserved: Vec<(usize, &IdempotentRequest, &str)> = Vec::new();
    for (position, write) in group.iter().enumerate() {
        match write {
            // The key is reserved in the same transaction: it exists only with its object.
            Write::IfKeyIsNew { request, made, write } => {
                reserved.push((position, request, made));
                left.push((position, &**write));
            }
            Write::AddMerchant(merchant) => effects[position] = statements::add_merchant(connection, merchant).await?,
            Write::ChangeKey { merchant, key_fingerprint } => {
                effects[position] = statements::change_key(connection, merchant, key_fingerprint).await?;
            }
            Write::AdvanceClock { merchant, seconds } => {
                effects[position] = statements::advance_clock(connection, merchant, *seconds).await?;
            }
            Write::DeleteExpiredKeys { wall, limit } => {
                take(connection, std::mem::take(&mut reserved), effects).await?;
                effects[position] = statements::delete_expired_keys(connection, *wall, *limit).await?;
            }
            write => left.push((position, write)),
        }
    }
    take(connection, reserved, effects).await?;
    left.retain(|(position, _)| effects[*position]);
    Ok(left)
}

async fn take(
    connection: &mut PgConnection,
    reserved: Vec<(usize, &IdempotentRequest, &str)>,
    effects: &mut [bool],
) -> Result<(), sqlx::Error> {
    for keys in rounds(reserved, |(_, request, _)| (&*request.merchant, request.operation, &*request.fingerprint)) {
        let taken = statements::take_keys(connection, &keys).await?;
        mark(effects, keys.iter().map(|(position, _, made)| (*position, *made)), taken);
    }
    Ok(())
}

/// The rows that a group writes, by table, each with its write's position in the group.
#[derive(Default)]
struct Rows<'a> {
    billed: Vec<(usize, &'a Billed)>,
    deactivated: Vec<(usize, &'a PlanId)>,
    esim_orders: Vec<(usize, &'a EsimOrder)>,
    fulfilled: Vec<&'a (EsimOrderId, Fulfilment)>,
    new_intents: Vec<(usize, &'a Intent, &'a Customer)>,
    plans: Vec<(usize, &'a Plan)>,
    resets: Vec<&'a str>,
    revoked: Vec<(usize, &'a str, Moment)>,
    saved_intents: Vec<(usize, &'a Intent)>,
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
            Write::DeactivatePlan { id } => self.deactivated.push((position, id)),
            Write::Fulfil(fulfilled) => self.fulfilled.extend(fulfilled),
            Write::Reset { merchant } => self.resets.push(merchant),
            Write::RevokeSession { fingerprint, at } => self.revoked.push((position, fingerprint, *at)),
            Write::SaveBilled(billed) => self.billed.extend(billed.iter().map(|billed| (position, billed))),
            Write::SaveIntent(intent) => self.saved_intents.push((position, intent)),
            Write::SaveIntents(intents) => self.saved_intents.extend(intents.iter().map(|intent| (position, intent))),
            Write::SaveSecond(second) => self.seconds.push((position, *second)),
            Write::AddMerchant(_)
            | Write::AdvanceClock { .. }
            | Write::ChangeKey { .. }
            | Write::DeleteExpiredKeys { .. }
            | Write::IfKeyIsNew { .. } => unreachable!("it is executed before the others"),
        }
    }

    /// Changes rows that exist.
    async fn change(&mut self, connection: &mut PgConnection, effects: &mut [bool]) -> Result<(), sqlx::Error> {
        for intents in rounds(std::mem::take(&mut self.saved_intents), |(_, intent)| intent.id.as_str()) {
            let saved = statements::save_intents(connection, &intents).await?;
            mark(effects, intents.iter().map(|(position, intent)| (*position, intent.id.as_str())), saved);
        }
        for ids in rounds(std::mem::take(&mut self.deactivated), |(_, id)| id.as_str()) {
            let exist = statements::deactivate_plans(connection, &ids).await?;
            mark(effects, ids.iter().map(|(position, id)| (*position, id.as_str())), exist);
        }
        for fulfilled in rounds(std::mem::take(&mut self.fulfilled), |(order, _)| order.as_str()) {
            statements::fulfil(connection, &fulfilled).await?;
        }
        for revoked in rounds(std::mem::take(&mut self.revoked), |(_, fingerprint, _)| *fingerprint) {
            let done = statements::revoke_sessions(connection, &revoked).await?;
            mark(effects, revoked.iter().map(|(position, fingerprint, _)| (*position, *fingerprint)), done);
        }
        Ok(())
    }

    /// Creates rows, those of lists in the group's order, and changes subscriptions with what they create.
    async fn create(&mut self, connection: &mut PgConnection, effects: &mut [bool]) -> Result<(), sqlx::Error> {
        if !self.sessions.is_empty() {
            self.sessions.sort_unstable_by_key(|session| &*session.fingerprint);
            statements::add_sessions(connection, &self.sessions).await?;
        }
        if !self.plans.is_empty() {
            let added = statements::add_plans(connection, &self.plans).await?;
            mark(effects, self.plans.iter().map(|(position, plan)| (*position, plan.id.as_str())), added);
        }
        if !self.esim_orders.is_empty() {
            let added = statements::add_esim_orders(connection, &self.esim_orders).await?;
            mark(effects, self.esim_orders.iter().map(|(position, order)| (*position, order.id.as_str())), added);
        }
        let billed = self.bill(connection, effects).await?;
        let mut charges: Vec<&Intent> = billed.iter().flat_map(|billed| &billed.charges).collect();
        // Sorted by time, whichever subscription was billed first: lists show charges in this order.
        charges.sort_by_key(|charge| charge.created_at);
        let new: Vec<&Intent> = self.new_intents.iter().map(|(_, intent, _)| *intent).chain(charges).collect();
        if !new.is_empty() {
            let added = statements::add_intents(connection, &new).await?;
            mark(effects, self.new_intents.iter().map(|(position, intent, _)| (*position, intent.id.as_str())), added);
        }
        let payers =
            self.new_intents.iter().filter(|(position, _, _)| effects[*position]).map(|(_, _, customer)| *customer);
        let customers: Vec<&Customer> =
            payers.chain(billed.iter().filter_map(|billed| billed.customer.as_ref())).collect();
        statements::add_customers(connection, &customers).await
    }

    /// Writes the subscriptions with their events. Returns those that were stored.
    async fn bill(&self, connection: &mut PgConnection, effects: &mut [bool]) -> Result<Vec<&'a Billed>, sqlx::Error> {
        let mut stored = vec![true; self.billed.len()];
        let (mut new, mut saved) = (Vec::new(), Vec::new());
        for (row, (_, billed)) in self.billed.iter().enumerate() {
            match &billed.customer {
                Some(customer) => new.push((row, (*billed, customer))),
                None => saved.push((row, *billed)),
            }
        }
        for saved in rounds(saved, |(_, billed)| billed.subscription.id.as_str()) {
            let billed: Vec<&Billed> = saved.iter().map(|(_, billed)| *billed).collect();
            let done = statements::save_subscriptions(connection, &billed).await?;
            mark(&mut stored, saved.iter().map(|(row, billed)| (*row, billed.subscription.id.as_str())), done);
        }
        if !new.is_empty() {
            let rows: Vec<(&Billed, &Customer)> = new.iter().map(|(_, row)| *row).collect();
            let added = statements::add_subscriptions(connection, &rows).await?;
            mark(&mut stored, new.iter().map(|(row, (billed, _))| (*row, billed.subscription.id.as_str())), added);
        }
        for ((position, _), stored) in self.billed.iter().zip(&stored) {
            effects[*position] &= stored;
        }
        let kept = self.billed.iter().zip(stored).filter(|(_, stored)| *stored);
        let kept: Vec<&Billed> = kept.map(|((_, billed), _)| *billed).collect();
        statements::add_events(connection, &kept).await?;
        Ok(kept)
    }
}

/// Splits rows so that no part has a key twice, because a statement changes a row at most once. Rows of one key keep their order. The
/// rows of a part are sorted by key: two instances lock them in the same order.
fn rounds<T, K: Copy + Eq + Hash + Ord>(rows: Vec<T>, key: impl Fn(&T) -> K) -> Vec<Vec<T>> {
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
    for round in &mut rounds {
        round.sort_unstable_by_key(|row| key(row));
    }
    rounds
}

/// Takes the effect from the rows whose key the statement did not return.
fn mark<'a>(effects: &mut [bool], rows: impl Iterator<Item = (usize, &'a str)>, returned: Vec<String>) {
    let mut returned: HashSet<String> = returned.into_iter().collect();
    for (position, key) in rows {
        effects[position] &= returned.remove(key);
    }
}
