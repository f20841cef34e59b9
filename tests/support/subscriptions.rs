//! Plans and subscriptions, over HTTP.

use super::api::{Reply, Shop};
use guichet::values::Moment;
use serde_json::{Value, json};

pub const HOUR: u32 = 3_600;
pub const DAY: u32 = 24 * HOUR;

impl Shop {
    /// Creates a plan with 5,000 XAF per period. Returns its code.
    pub async fn plan(&self, cycle: &str, trial_days: u32) -> String {
        let code = format!("{cycle}-{trial_days}");
        let fields = json!({
            "name": "Gold", "code": code, "amount": 5000, "billing_cycle": cycle, "trial_days": trial_days,
        });
        let made = self.secret("POST", "/v1/subscriptions/plans", fields).await;
        assert!(matches!(made.status, 201 | 409), "{}", made.text);
        code
    }

    /// Creates a subscription of the customer Awa with this payment method.
    pub async fn subscribe(&self, plan: &str, method: Value) -> Value {
        let made = self.secret("POST", "/v1/subscriptions", subscription(plan, method)).await;
        assert_eq!(made.status, 201, "{}", made.text);
        made.body["data"].clone()
    }

    /// Reads a subscription.
    pub async fn subscribed(&self, subscription: &Value) -> Value {
        let read = self.secret("GET", &path(subscription, ""), Value::Null).await;
        assert_eq!(read.status, 200, "{}", read.text);
        read.body["data"].clone()
    }

    /// Changes a subscription: `POST` of `pause`, `resume`, `cancel`; `PUT` of `payment-method`, `fallback`.
    pub async fn bill(&self, subscription: &Value, verb: &str, fields: Value) -> Reply {
        let method = if matches!(verb, "payment-method" | "fallback") { "PUT" } else { "POST" };
        self.secret(method, &path(subscription, verb), fields).await
    }

    /// The same for a change that must succeed. Returns the subscription.
    pub async fn billed(&self, subscription: &Value, verb: &str, fields: Value) -> Value {
        let reply = self.bill(subscription, verb, fields).await;
        assert_eq!(reply.status, 200, "{verb}: {}", reply.text);
        reply.body["data"].clone()
    }

    /// All payment intents, oldest first.
    pub async fn intents(&self) -> Vec<Value> {
        let (mut all, mut next) = (Vec::new(), "/v1/payment-intents".to_owned());
        loop {
            let page = self.secret("GET", &next, Value::Null).await;
            all.extend(page.body["data"].as_array().unwrap().iter().cloned());
            match page.body["pagination"]["next_cursor"].as_str() {
                Some(cursor) => next = format!("/v1/payment-intents?starting_after={cursor}"),
                None => break,
            }
        }
        all.reverse();
        all
    }

    /// The charges of a subscription in order: `{period}:{attempt}`, seconds since the subscription's creation, and the intent's status.
    pub async fn charges(&self, subscription: &Value) -> Vec<(String, i64, String)> {
        let prefix = format!("{}:", subscription["id"].as_str().unwrap());
        let made = subscription["created_at"].as_i64().unwrap();
        let of_this = |intent: &Value| {
            let name = intent["merchant_reference"].as_str()?.strip_prefix(&prefix)?.to_owned();
            Some((name, intent["created_at"].as_i64()? - made, intent["status"].as_str()?.to_owned()))
        };
        let mut charges: Vec<_> = self.intents().await.iter().filter_map(of_this).collect();
        charges.sort_by_key(|(name, ..)| name.split(':').map(|number| number.parse().unwrap()).collect::<Vec<u32>>());
        charges
    }

    /// The events of a subscription, without the prefix `subscription.`.
    pub async fn told(&self, subscription: &Value) -> Vec<String> {
        let events = self.tenant.events().await.unwrap();
        let words = events.iter().filter(|event| subscription["id"] == event.subject.as_str());
        words.map(|event| event.kind.strip_prefix("subscription.").unwrap().to_owned()).collect()
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
