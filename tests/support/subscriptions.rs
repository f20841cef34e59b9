//! Calls about plans and subscriptions, over HTTP.

use super::api::{Merchant, Reply};
use guichet::values::Moment;
use serde_json::{Value, json};

pub const HOUR: u32 = 3_600;
pub const DAY: u32 = 24 * HOUR;

impl Merchant {
    /// Creates a plan with 5,000 XAF per period. Returns its code.
    pub async fn plan(&self, cycle: &str, trial_days: u32) -> String {
        let code = format!("{cycle}-{trial_days}");
        let fields = json!({
            "name": "Gold", "code": code, "amount": 5000, "billing_cycle": cycle, "trial_days": trial_days,
        });
        let reply = self.call("POST", "/v1/subscriptions/plans", fields).await;
        assert!(matches!(reply.status, 201 | 409), "{}", reply.text);
        code
    }

    /// Creates a subscription of the customer Awa with this payment method.
    pub async fn subscribe(&self, plan: &str, method: Value) -> Value {
        let reply = self.call("POST", "/v1/subscriptions", subscription(plan, method)).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
        reply.body["data"].clone()
    }

    /// Reads a subscription.
    pub async fn read_subscription(&self, subscription: &Value) -> Value {
        let reply = self.call("GET", &path(subscription, ""), Value::Null).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.body["data"].clone()
    }

    /// Changes a subscription: `POST` of `pause`, `resume`, `cancel`; `PUT` of `payment-method`, `fallback`.
    pub async fn change_subscription(&self, subscription: &Value, verb: &str, fields: Value) -> Reply {
        let method = if matches!(verb, "payment-method" | "fallback") { "PUT" } else { "POST" };
        self.call(method, &path(subscription, verb), fields).await
    }

    /// The same for a change that must succeed. Returns the subscription.
    pub async fn changed_subscription(&self, subscription: &Value, verb: &str, fields: Value) -> Value {
        let reply = self.change_subscription(subscription, verb, fields).await;
        assert_eq!(reply.status, 200, "{verb}: {}", reply.text);
        reply.body["data"].clone()
    }

    /// All payment intents, oldest first.
    pub async fn intents(&self) -> Vec<Value> {
        let (mut all, mut next) = (Vec::new(), "/v1/payment-intents".to_owned());
        loop {
            let page = self.call("GET", &next, Value::Null).await;
            all.extend(page.body["data"].as_array().unwrap().iter().cloned());
            match page.body["pagination"]["next_cursor"].as_str() {
                Some(cursor) => next = format!("/v1/payment-intents?starting_after={cursor}"),
                None => break,
            }
        }
        all.reverse();
        all
    }

    /// The charges of a subscription in order: `{period}:{attempt}`, seconds since the subscription's creation, and the
    /// intent's status.
    pub async fn charges(&self, subscription: &Value) -> Vec<(String, i64, String)> {
        let prefix = format!("{}:", subscription["id"].as_str().unwrap());
        let created_at = subscription["created_at"].as_i64().unwrap();
        let charge = |intent: &Value| {
            let name = intent["merchant_reference"].as_str()?.strip_prefix(&prefix)?.to_owned();
            Some((name, intent["created_at"].as_i64()? - created_at, intent["status"].as_str()?.to_owned()))
        };
        let mut charges: Vec<_> = self.intents().await.iter().filter_map(charge).collect();
        charges.sort_by_key(|(name, ..)| name.split(':').map(|number| number.parse().unwrap()).collect::<Vec<u32>>());
        charges
    }

    /// The events of a subscription, without the prefix `subscription.`.
    pub async fn subscription_events(&self, subscription: &Value) -> Vec<String> {
        let events = self.tenant.events().await.unwrap();
        let events = events.iter().filter(|event| subscription["id"] == event.subject.as_str());
        events.map(|event| event.kind.strip_prefix("subscription.").unwrap().to_owned()).collect()
    }

    pub async fn advance(&self, seconds: u32) {
        self.tenant.clock().advance(seconds).await.unwrap();
    }
}

/// The smallest valid body of a subscription.
pub fn subscription(plan: &str, method: Value) -> Value {
    let mut fields =
        json!({ "plan": plan, "customer_email": "awa@example.com", "firstname": "Awa", "lastname": "Ngo" });
    fields["payment_method"] = method["payment_method"].clone();
    fields
}

/// The seconds between a subscription's creation and one of its times. `None` if it is null.
pub fn after(subscription: &Value, moment: &str) -> Option<i64> {
    let at = Moment::new(subscription[moment].as_str()?).unwrap();
    Some(at.unix() - subscription["created_at"].as_i64().unwrap())
}

/// Expected charges, for comparison: `("0:1", 0, "succeeded")`.
pub fn expected(charges: &[(&str, i64, &str)]) -> Vec<(String, i64, String)> {
    charges.iter().map(|(name, at, status)| ((*name).to_owned(), *at, (*status).to_owned())).collect()
}

fn path(subscription: &Value, verb: &str) -> String {
    let id = subscription["id"].as_str().unwrap();
    if verb.is_empty() { format!("/v1/subscriptions/{id}") } else { format!("/v1/subscriptions/{id}/{verb}") }
}
