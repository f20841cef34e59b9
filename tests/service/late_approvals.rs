//! Late approvals: whatever customers and processes do, each approval is the payment's success or one duplicate
//! payment, and a shop that settles without a page stores every one.

use crate::support::api::{control, phone, send};
use crate::support::folder::Folder;
use crate::support::orders;
use axum::http::request::Parts;
use guichet::native::ledger::Changed;
use guichet::native::{Buyer, Ledger, Owner, Purchase, Reason, Refused, Shop};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, IntentId, IntentStatus, MerchantReference};
use guichet::{Client, SecretKey};
use guichet_orders::SqliteOrders;
use guichet_sandbox::Sandbox;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};
use tokio::runtime::Runtime;

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 60,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_approval_is_the_success_or_one_stored_duplicate_payment(
        steps in prop::collection::vec(step(), 1..14), failures in 0..4_u32,
    ) {
        static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
        RUNTIME.block_on(async {
            let mut world = World::new(failures).await;
            for step in &steps {
                world.take(step).await;
            }
            world.settles_to_the_end().await;
            world.every_approval_is_accounted_for().await;
        });
    }
}

#[derive(Clone, Debug)]
enum Step {
    Abandon,
    Advance { seconds: u32 },
    Attach { phone: &'static str },
    Cancel,
    Restart,
    Settle,
}

const ORDER: &str = "ORDER-17";
/// The phones whose attempts the operator declines and approves later.
const APPROVED_LATE: [&str; 3] = ["237670000011", "237670000012", "237670000013"];

fn step() -> impl Strategy<Value = Step> {
    let phones = vec![
        "237670000000",
        "237670000001",
        "237670000002",
        "237670000004",
        "237670000009",
        "237670000010",
        "237670000011",
        "237670000011",
        "237670000011",
        "237670000012",
        "237670000012",
        "237670000012",
        "237670000013",
        "237670000013",
        "237670000013",
        "237670000014",
    ];
    prop_oneof![
        4 => prop::sample::select(vec![20_u32, 290, 310, 610, 86_000]).prop_map(|seconds| Step::Advance { seconds }),
        6 => prop::sample::select(phones).prop_map(|phone| Step::Attach { phone }),
        2 => Just(Step::Abandon),
        1 => Just(Step::Cancel),
        1 => Just(Step::Restart),
        2 => Just(Step::Settle),
    ]
}

/// A service that is restarted, a shop that settles without a page, and the approvals to expect.
struct World {
    folder: Folder,
    sandbox: Option<Sandbox>,
    shop: TestShop,
    orders: SqliteOrders,
    /// Of the shop's process, which ends with the service's.
    ledger: Ledger<SqliteOrders>,
    intent: IntentId,
    attempts: u64,
    /// The attempts that the operator approves late.
    approvals: BTreeSet<u32>,
}

impl World {
    async fn new(failures: u32) -> Self {
        let folder = Folder::new("late");
        let sandbox = Sandbox::start_with(folder.config()).await.unwrap();
        let reference = MerchantReference::new(ORDER).unwrap();
        let purchase = CreatePaymentIntent::new(
            reference,
            Amount::units(5_000),
            "Shoes",
            CustomerName { firstname: "Awa", lastname: "Ngono" },
        )
        .email(Email::new("awa@example.com").unwrap());
        let created = client(&sandbox).create_payment_intent(&purchase).await.unwrap();
        let (orders, awa) = (orders::in_memory().await, Owner::Customer("awa".to_owned()));
        let names = [created.id.as_str(), created.payment_ref.as_ref().unwrap().as_str()];
        orders::begun(&orders, &awa, ORDER, &json!({"amount": "5000", "currency": "XAF"}), names).await;
        let shop = TestShop { failures: Mutex::new(failures), ..TestShop::default() };
        let ledger = Ledger::new(client(&sandbox), orders.clone());
        Self {
            folder,
            sandbox: Some(sandbox),
            shop,
            orders,
            ledger,
            intent: created.id,
            attempts: 0,
            approvals: BTreeSet::new(),
        }
    }

    fn sandbox(&self) -> &Sandbox {
        self.sandbox.as_ref().unwrap()
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Advance { seconds } => self.advance(*seconds).await,
            Step::Attach { phone: number } => {
                let reply = self.call("POST", "/payment-method", phone(number)).await;
                let attempts = reply["attempts"].as_u64().unwrap_or(self.attempts);
                if attempts > self.attempts && APPROVED_LATE.contains(number) {
                    self.approvals.insert(u32::try_from(attempts).unwrap());
                }
                self.attempts = attempts;
            }
            Step::Abandon => {
                let reply = self.call("POST", "/abandon", json!({ "attempt": self.attempts.max(1) })).await;
                let phone = reply["payment_method"]["phone"].as_str().unwrap_or_default();
                // Nothing but this ends an attempt of the phone that pays after 30 seconds with a decline.
                if phone.ends_with("0001") && reply["last_payment_error"]["code"] == "payer_timeout" {
                    self.approvals.insert(u32::try_from(self.attempts).unwrap());
                }
            }
            Step::Cancel => drop(self.call("POST", "/cancel", Value::Null).await),
            Step::Restart => {
                self.sandbox.take().unwrap().stop().await;
                self.sandbox = Some(Sandbox::start_with(self.folder.config()).await.unwrap());
                self.ledger = Ledger::new(client(self.sandbox()), self.orders.clone());
            }
            Step::Settle => self.settle().await,
        }
    }

    async fn advance(&self, seconds: u32) {
        let moved = control(self.sandbox(), "POST", "/clock", json!({ "advance_seconds": seconds })).await;
        assert_eq!(moved.status, 200, "{}", moved.text);
    }

    /// The intent in the response, or null if the service refuses.
    async fn call(&self, method: &str, verb: &str, fields: Value) -> Value {
        let sandbox = self.sandbox();
        let url = format!("{}/v1/payment-intents/{}{verb}", sandbox.base_url(), self.intent);
        let body = (!fields.is_null()).then(|| fields.to_string());
        let key = sandbox.secret_key().expose();
        let reply = send(&crate::support::api::client(), method, &url, Some(key), body, &[]).await;
        assert!(matches!(reply.status, 200 | 409), "{}", reply.text);
        reply.body["data"].clone()
    }

    async fn settle(&self) {
        let _ = self.ledger.settle(&self.shop, ORDER).await;
    }

    /// Settles as a shop does without a page, until the ledger reads the payment no more.
    async fn settles_to_the_end(&self) {
        for _ in 0..100 {
            self.settle().await;
            let order = self.ledger.order(ORDER).await.unwrap().unwrap();
            if order.payments[0].found[0].is_over {
                // What the shop could not store comes again, also before its pause is over.
                for _ in 0..4 {
                    self.ledger.settle_due(&self.shop).await.unwrap();
                    self.ledger.deliver_all(&self.shop).await.unwrap();
                }
                return;
            }
            self.advance(3_600).await;
        }
        panic!("the shop reads forever");
    }

    async fn every_approval_is_accounted_for(&self) {
        self.advance(3 * 86_400).await;
        let intent = self.call("GET", "", Value::Null).await;
        let mut counted: Vec<u32> = attempts(&intent);
        let last = self.shop.last.lock().unwrap().clone();
        let refunds = last.iter().flat_map(|last| &last.refunds_due);
        let stored = refunds.map(|due| due.key.attempt.as_ref().unwrap().parse().unwrap()).collect();
        assert_eq!(sorted(stored), sorted(counted.clone()), "the shop has stored each duplicate: {intent}");
        let phone = intent["payment_method"]["phone"].as_str().unwrap_or_default();
        let is_approved_late = APPROVED_LATE.iter().any(|number| number[8..] == phone[phone.len().min(8)..]);
        if intent["status"] == "succeeded" && (is_approved_late || phone.ends_with("0001")) {
            let by = self.approvals.iter().find(|attempt| !counted.contains(attempt));
            assert!(
                by.is_some() || !is_approved_late,
                "the approval that paid is also reported as a duplicate: {intent}"
            );
            counted.extend(by);
        }
        assert_eq!(sorted(counted), self.approvals.iter().copied().collect::<Vec<_>>(), "{intent}");
        let is_final = IntentStatus::from(intent["status"].as_str().unwrap().to_owned()).is_final();
        assert!(is_final, "{intent}");
        assert_eq!(last.is_some_and(|last| last.paid_by.is_some()), intent["status"] == "succeeded", "{intent}");
    }
}

fn attempts(intent: &Value) -> Vec<u32> {
    let duplicates = intent["duplicate_payments"].as_array().unwrap().iter();
    duplicates.map(|one| u32::try_from(one["attempt"].as_u64().unwrap()).unwrap()).collect()
}

fn sorted(mut attempts: Vec<u32>) -> Vec<u32> {
    attempts.sort_unstable();
    attempts
}

fn client(sandbox: &Sandbox) -> Client {
    let key = SecretKey::new(sandbox.secret_key().expose()).unwrap();
    Client::builder(sandbox.base_url(), key).build().unwrap()
}

/// A shop that fails to store the first events that come.
#[derive(Default)]
struct TestShop {
    failures: Mutex<u32>,
    last: Mutex<Option<Changed>>,
}

impl Shop for TestShop {
    async fn buyer(&self, _: &Parts) -> Result<Option<Buyer>, Refused> {
        Ok(None)
    }

    async fn purchase(&self, _: &Buyer, _: Value) -> Result<Purchase, Refused> {
        Err(Refused::new(404, Reason { code: "order_missing", message: "There is no such order." }))
    }

    async fn order_changed(&self, changed: &Changed) -> Result<(), Refused> {
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return Err(Refused::broken("the disk is full"));
        }
        for due in &changed.refunds_due {
            assert_eq!((due.sum.amount, due.sum.currency.as_str()), (Amount::units(5_000), "XAF"));
        }
        let mut last = self.last.lock().unwrap();
        if last.as_ref().is_none_or(|last| last.version < changed.version) {
            *last = Some(changed.clone());
        }
        Ok(())
    }
}
