//! Lets customers list and change their own subscriptions, authenticated by their session token.
//!
//! This is an example of a guarded merchant API: [`CustomerSession`] is the authenticated customer, the subscription
//! names its owner, and the secret key is used only if the two are equal.

use crate::app::App;
use crate::catalogue::{Customer, PLANS, Plan};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use guichet::native::{CustomerSession, Reason, Refused};
use guichet::operations::{
    CancelSubscription, CreatePlan, CreateSubscription, CustomerName, Instrument, ListSubscriptions, PauseSubscription,
    Subscription,
};
use guichet::values::{Amount, Invalid, Moment, Phone, PlanCode, SubscriptionId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Mutex;

/// Customers subscribe one at a time, so that a second click finds the subscription of the first.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/plans", get(plans))
        .route("/subscriptions", get(list).post(subscribe))
        .route("/subscriptions/{id}/pause", post(pause))
        .route("/subscriptions/{id}/resume", post(resume))
        .route("/subscriptions/{id}/cancel", post(cancel))
}

async fn plans() -> Response {
    Json(json!({ "plans": PLANS })).into_response()
}

async fn list(State(app): State<App>, customer: CustomerSession) -> Result<Response, Refused> {
    let own: Vec<Value> = subscriptions_of(&app, &customer).await?.iter().map(to_json).collect();
    Ok(no_store_json(json!({ "subscriptions": own })))
}

#[derive(Deserialize)]
struct SubscribeRequest {
    plan: String,
}

/// Subscribes with the phone that the shop has on file. Phones are never typed into the shop's pages.
async fn subscribe(State(app): State<App>, customer: CustomerSession, body: Bytes) -> Result<Response, Refused> {
    let request: SubscribeRequest = read(&body)?;
    let unknown = || Refused::new(422, Reason { code: "plan_unknown", message: "The shop has no such plan." });
    let plan = PLANS.iter().find(|plan| plan.code == request.plan).ok_or_else(unknown)?;
    let unknown_customer =
        || Refused::new(422, Reason { code: "customer_unknown", message: "The shop does not know this customer." });
    let buyer = Customer::with_email(&customer.customer_email).ok_or_else(unknown_customer)?;

    let _one_at_a_time = ONE_AT_A_TIME.lock().await;
    let runs = |subscription: &&Subscription| {
        let code = subscription.plan.as_ref().and_then(|plan| plan.code.as_deref());
        code == Some(plan.code) && subscription.status.as_str() != "canceled"
    };
    if let Some(running) = subscriptions_of(&app, &customer).await?.iter().find(runs) {
        return Ok(no_store_json(to_json(running)));
    }
    let (create_plan, create) = (create_plan(plan), create(plan, buyer, &customer));
    match app.client.create_plan(&create_plan.map_err(Refused::broken)?).await {
        Err(error) if error.code() != Some("plan_code_taken") => return Err(error.into()),
        _ => {}
    }
    let made = app.client.create_subscription(&create.map_err(Refused::broken)?).await?;
    Ok((StatusCode::CREATED, no_store_json(to_json(&made))).into_response())
}

/// All subscriptions of a customer, newest first. The service lists those of all customers and has no filter. A shop
/// with many would store which ones belong to whom, as this one does for payments.
async fn subscriptions_of(app: &App, customer: &CustomerSession) -> Result<Vec<Subscription>, Refused> {
    let mut all = app.client.all(&ListSubscriptions::new());
    let mut own = Vec::new();
    while let Some(subscription) = all.next().await {
        own.extend(Some(subscription?).filter(|subscription| customer.owns(subscription.customer_email.as_deref())));
    }
    Ok(own)
}

/// Checks that a subscription belongs to the customer. Otherwise 404, so that its existence is not revealed.
async fn own(app: &App, id: String, customer: &CustomerSession) -> Result<SubscriptionId, Refused> {
    let missing = || Refused::new(404, Reason { code: "resource_missing", message: "There is no such subscription." });
    let id = SubscriptionId::new(id).map_err(|_| missing())?;
    match app.client.read_subscription(&id).await {
        Ok(subscription) if customer.owns(subscription.customer_email.as_deref()) => Ok(id),
        Ok(_) => Err(missing()),
        Err(error) if error.status() == Some(404) => Err(missing()),
        Err(error) => Err(error.into()),
    }
}

fn create_plan(plan: &Plan) -> Result<CreatePlan, Invalid> {
    let (code, amount) = (PlanCode::new(plan.code)?, Amount::units(plan.amount));
    Ok(CreatePlan::new(plan.name.en, code, amount, plan.billing_cycle).trial_days(plan.trial_days))
}

fn create(plan: &Plan, buyer: &Customer, customer: &CustomerSession) -> Result<CreateSubscription, Invalid> {
    let (code, email) = (PlanCode::new(plan.code)?, customer.customer_email.clone());
    let phone = Instrument::mobile_money(Phone::new(buyer.phone)?);
    Ok(CreateSubscription::new(
        code,
        email,
        CustomerName { firstname: buyer.firstname, lastname: buyer.lastname },
        phone,
    ))
}

/// When a change takes effect. Default: the documented one.
#[derive(Default, Deserialize)]
struct Timing {
    immediately: Option<bool>,
}

async fn pause(
    State(app): State<App>,
    customer: CustomerSession,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut pause = PauseSubscription::new(own(&app, id, &customer).await?);
    if let Some(immediately) = read::<Timing>(&body)?.immediately {
        pause = pause.immediately(immediately);
    }
    let id = pause.id.clone();
    after(&app, &id, app.client.pause_subscription(&pause).await?).await
}

async fn resume(
    State(app): State<App>,
    customer: CustomerSession,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let id = own(&app, id, &customer).await?;
    after(&app, &id, app.client.resume_subscription(&id).await?).await
}

async fn cancel(
    State(app): State<App>,
    customer: CustomerSession,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut cancel = CancelSubscription::new(own(&app, id, &customer).await?);
    if let Some(immediately) = read::<Timing>(&body)?.immediately {
        cancel = cancel.immediately(immediately);
    }
    let id = cancel.id.clone();
    after(&app, &id, app.client.cancel_subscription(&cancel).await?).await
}

/// A subscription as the service's reply has it, or else as it is read.
async fn after(app: &App, id: &SubscriptionId, in_reply: Option<Subscription>) -> Result<Response, Refused> {
    let subscription = match in_reply {
        Some(subscription) => subscription,
        None => app.client.read_subscription(id).await?,
    };
    Ok(no_store_json(to_json(&subscription)))
}

/// Reads a request's body. An empty body counts as an empty object, as it does at the service.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|_| {
        Refused::new(400, Reason { code: "invalid_json", message: "The body is not JSON of the expected shape." })
    })
}

/// A subscription as JSON for the pages.
fn to_json(subscription: &Subscription) -> Value {
    let moment = |moment: Option<Moment>| moment.map(|moment| moment.to_string());
    let plan = subscription.plan.as_ref();
    let amount = plan.and_then(|plan| plan.amount.as_ref()).map(Amount::to_string);
    json!({
        "id": subscription.id, "status": subscription.status.as_str(),
        "plan": plan.map(|plan| json!({
            "code": plan.code, "name": plan.name, "amount": amount, "currency": plan.currency, "billing_cycle": plan.billing_cycle,
        })),
        "current_period_end": moment(subscription.current_period_end), "next_charge_at": moment(subscription.next_charge_at),
        "pause_at_period_end": subscription.pause_at_period_end, "cancel_at_period_end": subscription.cancel_at_period_end,
    })
}

fn no_store_json(body: Value) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(body)).into_response()
}
