//! What an operator watches: six gauges in OpenMetrics, and whether the process is ready.

use super::seller::Seller;
use guichet::native::Ledger;
use guichet::shop::ledger::{for_each_order, not_readable};
use guichet_orders::AnyOrders;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// The shortest pause between two counts of all orders.
const PAUSE: Duration = Duration::from_secs(30);
/// A count takes at most this part of the time.
const SHARE: u32 = 50;

/// The gauges.
pub(super) struct Metrics {
    registry: Registry,
    open: Gauge,
    oldest_unread: Gauge,
    not_readable: Gauge,
    refunds_due: Gauge,
    events_waiting: Gauge,
    clock_ahead: Family<[(&'static str, &'static str); 1], Gauge>,
    /// Whether the last round could use the store.
    works: AtomicBool,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("guichet");
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        let open = gauge("payments_open", "Payments that may still be paid");
        let oldest_unread = gauge("payment_unread_seconds", "For how long the oldest payment waits to be read");
        let not_readable =
            gauge("payments_not_readable", "Payments that a person is to look for at the payment company");
        let refunds_due = gauge("refunds_due", "Refunds that are to be made");
        let events_waiting = gauge("events_waiting", "Events that the application has not received");
        let clock_ahead = Family::default();
        let help = "How many seconds the clock of the service, or of the application, is ahead";
        registry.register("clock_ahead_seconds", help, clock_ahead.clone());
        let works = AtomicBool::new(false);
        Self { registry, open, oldest_unread, not_readable, refunds_due, events_waiting, clock_ahead, works }
    }

    /// The gauges as text.
    pub(super) fn text(&self, ledger: &Ledger<AnyOrders>, seller: &Seller) -> String {
        let ahead = [("service", ledger.clock_ahead()), ("application", seller.application.clock_ahead())];
        for (whose, seconds) in ahead {
            if let Some(seconds) = seconds {
                self.clock_ahead.get_or_create(&[("of", whose)]).set(seconds);
            }
        }
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Whether the process can serve: its last round could use the store.
    pub(super) fn is_ready(&self) -> bool {
        self.works.load(Ordering::Relaxed)
    }

    pub(super) fn set_ready(&self, is_ready: bool) {
        self.works.store(is_ready, Ordering::Relaxed);
    }

    /// For how long the oldest payment waits that is to be read.
    pub(super) fn set_oldest(&self, seconds: i64) {
        self.oldest_unread.set(seconds.max(0));
    }

    pub(super) fn set_waiting(&self, events: usize) {
        self.events_waiting.set(events as i64);
    }

    /// Counts all orders again and again. The more there are, the longer it pauses.
    pub(super) async fn keep_counting(&self, orders: &AnyOrders, ledger: &Ledger<AnyOrders>) {
        loop {
            let began = Instant::now();
            if let Err(error) = self.count(orders, ledger).await {
                tracing::error!(%error, "the gauges are those of an earlier time");
            }
            tokio::time::sleep(PAUSE.max(began.elapsed() * SHARE)).await;
        }
    }

    async fn count(&self, orders: &AnyOrders, ledger: &Ledger<AnyOrders>) -> Result<(), Box<dyn Error>> {
        let now = ledger.now().await?;
        let (mut open, mut unreadable, mut refunds) = (0, 0, 0);
        for_each_order(orders, |order| {
            open += order.payments.iter().filter(|payment| payment.counts_as_open(now)).count();
            unreadable += not_readable(order, now).len();
            refunds += order.refunds_due().len();
        })
        .await?;
        self.open.set(open as i64);
        self.not_readable.set(unreadable as i64);
        self.refunds_due.set(refunds as i64);
        Ok(())
    }
}
