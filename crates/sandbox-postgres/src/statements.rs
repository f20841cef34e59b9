//! The statements of writes, by table: each for all rows of a group. They return the ids of the rows that had an effect.

use guichet::values::{EsimOrderId, Moment, PlanId};
use guichet_sandbox::store::sql::{ADD_MERCHANT, ADVANCE_CLOCK, DELETE_RECORDS, SAVE_SECOND};
use guichet_sandbox::store::{
    Billed, Customer, EsimOrder, Fulfilment, IdempotentRequest, Intent, MerchantRow, Plan, Session, Subscription,
};
use sqlx::PgConnection;
use sqlx::postgres::PgBindIterExt as _;

type Result<T> = std::result::Result<T, sqlx::Error>;

/// Stores a second of the service's clock; a later one that is stored already stays.
pub(crate) async fn save_second(connection: &mut PgConnection, second: i64) -> Result<bool> {
    let saved = sqlx::query(SAVE_SECOND).bind(second).execute(connection).await?;
    Ok(saved.rows_affected() == 1)
}

/// Adds the customers that do not exist yet, in this order.
pub(crate) async fn add_customers(connection: &mut PgConnection, customers: &[&Customer]) -> Result<()> {
    if customers.is_empty() {
        return Ok(());
    }
    let text = "INSERT INTO customers (id, merchant, contact, firstname, lastname, email, phone, created_at) \
        SELECT id, merchant, contact, firstname, lastname, email, phone, created_at FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[]) WITH ORDINALITY \
        AS new (id, merchant, contact, firstname, lastname, email, phone, created_at, ordinality) ORDER BY ordinality ON CONFLICT DO NOTHING";
    sqlx::query(text)
        .bind(customers.iter().map(|customer| &*customer.id).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.merchant).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.contact).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.firstname).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.lastname).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.email).bind_iter())
        .bind(customers.iter().map(|customer| &*customer.phone).bind_iter())
        .bind(customers.iter().map(|customer| customer.created_at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

/// Adds orders, in this order.
pub(crate) async fn add_esim_orders(
    connection: &mut PgConnection,
    orders: &[(usize, &EsimOrder)],
) -> Result<Vec<String>> {
    let text = "INSERT INTO esim_orders (id, merchant, package, quantity, amount, currency, created_at) \
        SELECT id, merchant, package, quantity, amount, currency, created_at FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::bigint[], $5::bigint[], $6::text[], $7::bigint[]) WITH ORDINALITY \
        AS new (id, merchant, package, quantity, amount, currency, created_at, ordinality) ORDER BY ordinality ON CONFLICT DO NOTHING RETURNING id";
    let orders = || orders.iter().map(|(_, order)| *order);
    sqlx::query_scalar(text)
        .bind(orders().map(|order| order.id.as_str()).bind_iter())
        .bind(orders().map(|order| &*order.merchant).bind_iter())
        .bind(orders().map(|order| order.package.as_str()).bind_iter())
        .bind(orders().map(|order| i64::from(order.quantity)).bind_iter())
        .bind(orders().map(|order| i64::try_from(order.amount).unwrap_or(i64::MAX)).bind_iter())
        .bind(orders().map(|order| order.currency.as_str()).bind_iter())
        .bind(orders().map(|order| order.created_at.unix()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Stores the fulfilments of different orders. A fulfilled order does not change.
pub(crate) async fn fulfil(connection: &mut PgConnection, fulfilled: &[&(EsimOrderId, Fulfilment)]) -> Result<()> {
    let text = "UPDATE esim_orders SET paid_by = new.paid_by, fulfilled_at = new.at \
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS new (id, paid_by, at) \
        WHERE esim_orders.id = new.id AND esim_orders.paid_by IS NULL";
    sqlx::query(text)
        .bind(fulfilled.iter().map(|(order, _)| order.as_str()).bind_iter())
        .bind(fulfilled.iter().map(|(_, fulfilment)| fulfilment.paid_by.as_str()).bind_iter())
        .bind(fulfilled.iter().map(|(_, fulfilment)| fulfilment.at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

/// Reserves different keys, each for the id of an object that is created now. Returns the ids whose key was free: a key is not while
/// another object was created under it and it has not expired.
pub(crate) async fn take_keys(
    connection: &mut PgConnection,
    keys: &[(usize, &IdempotentRequest, &str)],
) -> Result<Vec<String>> {
    // A new key's time is one lifetime after the request's time.
    let text = "INSERT INTO idempotency_keys (merchant, operation, fingerprint, digest, made, expires_at) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) \
        ON CONFLICT (merchant, operation, fingerprint) DO UPDATE \
        SET digest = excluded.digest, made = excluded.made, expires_at = excluded.expires_at \
        WHERE idempotency_keys.expires_at <= excluded.expires_at - $7 RETURNING made";
    let requests = || keys.iter().map(|(_, request, _)| *request);
    sqlx::query_scalar(text)
        .bind(requests().map(|request| &*request.merchant).bind_iter())
        .bind(requests().map(|request| request.operation).bind_iter())
        .bind(requests().map(|request| &*request.fingerprint).bind_iter())
        .bind(requests().map(|request| &*request.digest).bind_iter())
        .bind(keys.iter().map(|(_, _, made)| *made).bind_iter())
        .bind(requests().map(|request| request.expires_at().unix()).bind_iter())
        .bind(IdempotentRequest::LIFETIME)
        .fetch_all(connection)
        .await
}

/// Deletes at most `limit` keys that have expired by their merchants' clocks. `false` if there are none. Keys that another instance is
/// deleting are left to it.
pub(crate) async fn delete_expired_keys(connection: &mut PgConnection, wall: Moment, limit: i64) -> Result<bool> {
    let text = "DELETE FROM idempotency_keys WHERE (merchant, operation, fingerprint) IN \
        (SELECT idempotency_keys.merchant, operation, fingerprint FROM merchants JOIN idempotency_keys \
        ON idempotency_keys.merchant = merchants.id AND idempotency_keys.expires_at <= $1 + merchants.clock_offset \
        ORDER BY merchants.id, expires_at, operation, fingerprint LIMIT $2 FOR UPDATE OF idempotency_keys SKIP LOCKED)";
    let deleted = sqlx::query(text).bind(wall.unix()).bind(limit).execute(connection).await?;
    Ok(deleted.rows_affected() > 0)
}

/// Adds the intents whose reference is free, in this order.
pub(crate) async fn add_intents(connection: &mut PgConnection, intents: &[&Intent]) -> Result<Vec<String>> {
    let text = "INSERT INTO intents (id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version, esim_order) \
        SELECT id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version, esim_order \
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], \
        $10::bigint[], $11::text[]) WITH ORDINALITY \
        AS new (id, merchant, merchant_reference, payment_ref, digest, body, state, created_at, expires_at, version, esim_order, ordinality) \
        ORDER BY ordinality ON CONFLICT DO NOTHING RETURNING id";
    sqlx::query_scalar(text)
        .bind(intents.iter().map(|intent| intent.id.as_str()).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.merchant).bind_iter())
        .bind(intents.iter().map(|intent| intent.merchant_reference()).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.payment_ref).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.digest).bind_iter())
        .bind(intents.iter().map(|intent| &*intent.body).bind_iter())
        .bind(intents.iter().map(|intent| intent.state_text()).bind_iter())
        .bind(intents.iter().map(|intent| intent.created_at.unix()).bind_iter())
        .bind(intents.iter().map(|intent| intent.expires_at.unix()).bind_iter())
        .bind(intents.iter().map(|intent| intent.version).bind_iter())
        .bind(intents.iter().map(|intent| intent.esim_order()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Stores the next states of different intents whose version has not changed since it was read.
pub(crate) async fn save_intents(connection: &mut PgConnection, intents: &[(usize, &Intent)]) -> Result<Vec<String>> {
    let text = "UPDATE intents SET state = new.state, version = intents.version + 1 \
        FROM unnest($1::text[], $2::bigint[], $3::text[]) AS new (id, version, state) \
        WHERE intents.id = new.id AND intents.version = new.version RETURNING intents.id";
    sqlx::query_scalar(text)
        .bind(intents.iter().map(|(_, intent)| intent.id.as_str()).bind_iter())
        .bind(intents.iter().map(|(_, intent)| intent.version).bind_iter())
        .bind(intents.iter().map(|(_, intent)| intent.state_text()).bind_iter())
        .fetch_all(connection)
        .await
}

pub(crate) async fn add_merchant(connection: &mut PgConnection, merchant: &MerchantRow) -> Result<bool> {
    let added = sqlx::query(ADD_MERCHANT)
        .bind(&merchant.id)
        .bind(&merchant.name)
        .bind(&merchant.key_fingerprint)
        .bind(merchant.clock_offset)
        .bind(merchant.place)
        .execute(connection)
        .await?;
    Ok(added.rows_affected() == 1)
}

pub(crate) async fn change_key(connection: &mut PgConnection, merchant: &str, key_fingerprint: &str) -> Result<bool> {
    // No other instance can give the key to a merchant meanwhile: the group holds the lock of the keys.
    let text = "UPDATE merchants SET key_fingerprint = $1 WHERE id = $2 \
                AND NOT EXISTS (SELECT 1 FROM merchants AS other WHERE other.key_fingerprint = $1 AND other.id <> $2)";
    let changed = sqlx::query(text).bind(key_fingerprint).bind(merchant).execute(connection).await?;
    Ok(changed.rows_affected() == 1)
}

pub(crate) async fn advance_clock(connection: &mut PgConnection, merchant: &str, seconds: i64) -> Result<bool> {
    let advanced = sqlx::query(ADVANCE_CLOCK).bind(seconds).bind(merchant).execute(connection).await?;
    Ok(advanced.rows_affected() == 1)
}

/// Deletes everything of a merchant but its name and its key.
pub(crate) async fn reset(connection: &mut PgConnection, merchant: &str) -> Result<()> {
    let own = [
        "UPDATE merchants SET clock_offset = 0, reset_at_number = nextval('request_numbers') WHERE id = $1",
        // After the merchant: who adds a fault locks it first, too.
        "DELETE FROM faults WHERE merchant = $1",
        "DELETE FROM requests WHERE merchant = $1",
    ];
    for text in DELETE_RECORDS.into_iter().chain(own) {
        sqlx::query(text).bind(merchant).execute(&mut *connection).await?;
    }
    Ok(())
}

/// Adds the plans whose code is free, in this order.
pub(crate) async fn add_plans(connection: &mut PgConnection, plans: &[(usize, &Plan)]) -> Result<Vec<String>> {
    let text = "INSERT INTO plans (id, merchant, code, offer, active, created_at) \
        SELECT id, merchant, code, offer, active, created_at FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bool[], \
        $6::bigint[]) WITH ORDINALITY AS new (id, merchant, code, offer, active, created_at, ordinality) \
        ORDER BY ordinality ON CONFLICT DO NOTHING RETURNING id";
    let plans = || plans.iter().map(|(_, plan)| *plan);
    sqlx::query_scalar(text)
        .bind(plans().map(|plan| plan.id.as_str()).bind_iter())
        .bind(plans().map(|plan| &*plan.merchant).bind_iter())
        .bind(plans().map(|plan| plan.code()).bind_iter())
        .bind(plans().map(Plan::offer_text).bind_iter())
        .bind(plans().map(|plan| plan.active).bind_iter())
        .bind(plans().map(|plan| plan.created_at.unix()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Deactivates plans.
pub(crate) async fn deactivate_plans(connection: &mut PgConnection, ids: &[(usize, &PlanId)]) -> Result<Vec<String>> {
    sqlx::query_scalar("UPDATE plans SET active = FALSE WHERE id = ANY($1) RETURNING id")
        .bind(ids.iter().map(|(_, id)| id.as_str()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Adds sessions.
pub(crate) async fn add_sessions(connection: &mut PgConnection, sessions: &[&Session]) -> Result<()> {
    let text = "INSERT INTO sessions (fingerprint, merchant, email, created_at, expires_at) \
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]) ON CONFLICT DO NOTHING";
    sqlx::query(text)
        .bind(sessions.iter().map(|session| &*session.fingerprint).bind_iter())
        .bind(sessions.iter().map(|session| &*session.merchant).bind_iter())
        .bind(sessions.iter().map(|session| &*session.email).bind_iter())
        .bind(sessions.iter().map(|session| session.created_at.unix()).bind_iter())
        .bind(sessions.iter().map(|session| session.expires_at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}

/// Revokes different sessions. A revoked one keeps its time of revocation.
pub(crate) async fn revoke_sessions(
    connection: &mut PgConnection,
    revoked: &[(usize, &str, Moment)],
) -> Result<Vec<String>> {
    let text = "UPDATE sessions SET revoked_at = new.at FROM unnest($1::text[], $2::bigint[]) AS new (fingerprint, at) \
        WHERE sessions.fingerprint = new.fingerprint AND revoked_at IS NULL RETURNING sessions.fingerprint";
    sqlx::query_scalar(text)
        .bind(revoked.iter().map(|(_, fingerprint, _)| *fingerprint).bind_iter())
        .bind(revoked.iter().map(|(_, _, at)| at.unix()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Adds new subscriptions, each with its customer's contact, in this order.
pub(crate) async fn add_subscriptions(
    connection: &mut PgConnection,
    new: &[(&Billed, &Customer)],
) -> Result<Vec<String>> {
    let text = "INSERT INTO subscriptions (id, merchant, contact, terms, state, due_at, created_at, version) \
        SELECT id, merchant, contact, terms, state, due_at, created_at, version FROM unnest($1::text[], $2::text[], $3::text[], \
        $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[]) WITH ORDINALITY \
        AS new (id, merchant, contact, terms, state, due_at, created_at, version, ordinality) \
        ORDER BY ordinality ON CONFLICT DO NOTHING RETURNING id";
    let subscriptions = || new.iter().map(|(billed, _)| &billed.subscription);
    sqlx::query_scalar(text)
        .bind(subscriptions().map(|of| of.id.as_str()).bind_iter())
        .bind(subscriptions().map(|of| &*of.merchant).bind_iter())
        .bind(new.iter().map(|(_, customer)| &*customer.contact).bind_iter())
        .bind(subscriptions().map(Subscription::terms_text).bind_iter())
        .bind(subscriptions().map(Subscription::state_text).bind_iter())
        .bind(new.iter().map(|(billed, _)| billed.due_at()).bind_iter())
        .bind(subscriptions().map(|of| of.created_at.unix()).bind_iter())
        .bind(subscriptions().map(|of| of.version).bind_iter())
        .fetch_all(connection)
        .await
}

/// Stores the next states of different subscriptions whose version has not changed since it was read.
pub(crate) async fn save_subscriptions(connection: &mut PgConnection, billed: &[&Billed]) -> Result<Vec<String>> {
    let text = "UPDATE subscriptions SET state = new.state, due_at = new.due_at, version = subscriptions.version + 1 \
        FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) AS new (id, version, state, due_at) \
        WHERE subscriptions.id = new.id AND subscriptions.version = new.version RETURNING subscriptions.id";
    let subscriptions = || billed.iter().map(|billed| &billed.subscription);
    sqlx::query_scalar(text)
        .bind(subscriptions().map(|of| of.id.as_str()).bind_iter())
        .bind(subscriptions().map(|of| of.version).bind_iter())
        .bind(subscriptions().map(Subscription::state_text).bind_iter())
        .bind(billed.iter().map(|billed| billed.due_at()).bind_iter())
        .fetch_all(connection)
        .await
}

/// Adds the events of these subscriptions, in this order.
pub(crate) async fn add_events(connection: &mut PgConnection, billed: &[&Billed]) -> Result<()> {
    let events =
        || billed.iter().flat_map(|billed| billed.numbered_events().map(|event| (&billed.subscription, event)));
    if events().next().is_none() {
        return Ok(());
    }
    let text = "INSERT INTO subscription_events (subscription, number, merchant, kind, at) \
        SELECT subscription, number, merchant, kind, at FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) \
        WITH ORDINALITY AS new (subscription, number, merchant, kind, at, ordinality) ORDER BY ordinality ON CONFLICT DO NOTHING";
    sqlx::query(text)
        .bind(events().map(|(of, _)| of.id.as_str()).bind_iter())
        .bind(events().map(|(_, (number, _, _))| number).bind_iter())
        .bind(events().map(|(of, _)| &*of.merchant).bind_iter())
        .bind(events().map(|(_, (_, _, kind))| kind).bind_iter())
        .bind(events().map(|(_, (_, at, _))| at.unix()).bind_iter())
        .execute(connection)
        .await
        .map(drop)
}
