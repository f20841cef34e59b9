//! Shows each delivery to the application in the inspector of the sandbox in this process.

use guichet::native::ledger::{Changed, Store};
use guichet_orders::AnyOrders;
use guichet_sandbox::Delivery;
use serde_json::{Map, Value};

/// What the sandbox records deliveries by.
pub(super) struct Deliveries {
    pub orders: AnyOrders,
    pub record: Box<dyn Fn(Delivery) + Send + Sync>,
}

impl Deliveries {
    /// A delivery that begins. It is recorded when it is dropped: the ledger drops one that takes too long.
    pub(super) async fn begin(&self, changed: &Changed, event: &Map<String, Value>) -> Recorded<'_> {
        let order = self.orders.order(&changed.name).await.ok().flatten();
        let references = order
            .map_or_else(Vec::new, |order| order.payments.iter().map(|payment| payment.reference.clone()).collect());
        let answer = Err("has not answered in time".to_owned());
        Recorded { deliveries: self, delivery: Delivery { event: event.clone().into(), references, answer } }
    }
}

/// A delivery under way.
pub(super) struct Recorded<'a> {
    deliveries: &'a Deliveries,
    delivery: Delivery,
}

impl Recorded<'_> {
    /// Sets the status of the application's answer, or why there is none.
    pub(super) fn set_answer(&mut self, answer: Result<u16, String>) {
        self.delivery.answer = answer;
    }
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        (self.deliveries.record)(self.delivery.clone());
    }
}
