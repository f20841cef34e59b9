//! The examples of the OpenAPI description: requests as a client writes them, and replies as the service writes them.
//! They contain nothing random, so that the description is the same each time.

use super::Done;
use super::instruments::paying_with;
use super::new_intent::new_intent;
use crate::replies::{self, Reply};
use crate::rules::billing::{Conflict, Offer, Plan, Subscription, SubscriptionState, Terms};
use crate::rules::{EsimOrder, EsimPackages, Fees, Intent, IntentState, LIFETIME, PayingWith, Session};
use crate::store::Customer;
use crate::tokens::{InstanceKey, SESSION_TOKEN};
use guichet::operations::{CreatePaymentIntent, CreatePlan, CreateSubscription, CustomerName, Instrument};
use guichet::values::base62;
use guichet::values::{
    Amount, BillingCycle, Email, EsimOrderId, IntentId, MerchantReference, Moment, PageLimit, Phone, PlanCode, PlanId,
    RedirectUrl, Secret, SessionToken, SubscriptionId,
};
use sha2::{Digest, Sha256};
use std::fmt::Debug;

/// The customer of every example.
const AWA: CustomerName<'_> = CustomerName { firstname: "Awa", lastname: "Ngono" };

/// The values that the examples share: one merchant, one customer, one time.
pub(crate) struct Examples {
    pub(crate) now: Moment,
    pub(crate) fees: Fees,
    pub(crate) packages: EsimPackages,
    pub(crate) key: InstanceKey,
}

impl Examples {
    pub(crate) fn new() -> Self {
        Self {
            // 21 November 2026, 10:30 UTC.
            now: Moment::from_unix(1_795_257_000),
            fees: Fees::standard(),
            packages: EsimPackages::standard(),
            key: InstanceKey::new(&Secret::new("examples")),
        }
    }

    pub(crate) fn email(&self) -> Email {
        valid(Email::new("awa@example.com"))
    }

    pub(crate) fn mobile_money(&self) -> Instrument {
        phone("237670000000")
    }

    /// A different phone from [`Examples::mobile_money`].
    pub(crate) fn other_phone(&self) -> Instrument {
        phone("237690000003")
    }

    /// A phone that requires a one-time code.
    pub(crate) fn phone_with_code(&self) -> Instrument {
        phone("237670000010")
    }

    /// A phone whose customer never answers.
    pub(crate) fn phone_without_answer(&self) -> Instrument {
        phone("237670000005")
    }

    pub(crate) fn order(&self) -> CreatePaymentIntent {
        let (reference, amount) = (valid(MerchantReference::new("ORDER-17")), Amount::units(45_000));
        CreatePaymentIntent::new(reference, amount, "A pair of shoes", AWA)
            .email(self.email())
            .redirect_url(valid(RedirectUrl::new("https://shop.example/return")))
            .payment_method_types(vec!["mobile_money".to_owned(), "card".to_owned()])
    }

    /// The intent that [`Examples::order`] creates.
    pub(crate) fn intent(&self) -> Intent {
        let intent = valid(new_intent("", self.order(), IntentState::new(), self.now));
        Intent { id: self.intent_id(), payment_ref: id("gch_"), ..intent }
    }

    pub(crate) fn intent_id(&self) -> IntentId {
        valid(IntentId::new(id("pi_")))
    }

    /// An intent to which this method is attached.
    pub(crate) fn intent_with(&self, intent: Intent, instrument: &Instrument) -> Intent {
        let state = intent.state.attach(&intent.terms, with(instrument), self.now);
        Intent { state: moved(valid(state)), ..intent }
    }

    pub(crate) fn intent_reply(&self, intent: &Intent) -> Reply {
        replies::intent((intent, "Boutique Awa"), &self.key, &self.fees, "http://127.0.0.1:4243")
    }

    pub(crate) fn session_token(&self) -> SessionToken {
        SessionToken::new(format!("{SESSION_TOKEN}{}", base62(&Sha256::digest(SESSION_TOKEN), 43)))
    }

    pub(crate) fn session(&self) -> Session {
        Session {
            fingerprint: String::new(),
            merchant: String::new(),
            email: self.email().to_string(),
            created_at: self.now,
            expires_at: self.now.plus(LIFETIME),
            revoked_at: None,
        }
    }

    pub(crate) fn customer(&self) -> Customer {
        Customer {
            id: id("cus_"),
            merchant: String::new(),
            contact: String::new(),
            firstname: AWA.firstname.to_owned(),
            lastname: AWA.lastname.to_owned(),
            email: self.email().to_string(),
            phone: "237670000000".to_owned(),
            created_at: self.now,
        }
    }

    pub(crate) fn create_plan(&self) -> CreatePlan {
        let (code, amount) = (valid(PlanCode::new("gold-monthly")), Amount::units(5_000));
        CreatePlan::new("Gold", code, amount, BillingCycle::Monthly).trial_days(14_u32)
    }

    /// The plan that [`Examples::create_plan`] creates.
    pub(crate) fn plan(&self) -> Plan {
        let CreatePlan { name, code, amount, currency, billing_cycle, trial_days, .. } = self.create_plan();
        Plan {
            id: valid(PlanId::new(id("plan_"))),
            merchant: String::new(),
            offer: Offer { name, code, amount, currency, billing_cycle, trial_days },
            active: true,
            created_at: self.now,
        }
    }

    pub(crate) fn create_subscription(&self) -> CreateSubscription {
        CreateSubscription::new(self.plan().offer.code, self.email(), AWA, self.mobile_money())
    }

    pub(crate) fn subscription_id(&self) -> SubscriptionId {
        valid(SubscriptionId::new(id("sub_")))
    }

    /// The subscription that [`Examples::create_subscription`] creates. Its trial has begun.
    pub(crate) fn subscription(&self) -> Subscription {
        let (plan, customer) = (self.plan(), self.customer());
        Subscription {
            id: self.subscription_id(),
            merchant: String::new(),
            customer_id: customer.id,
            state: SubscriptionState::begin(&plan.offer, with(&self.mobile_money()), self.now).0,
            terms: Terms {
                email: customer.email,
                firstname: customer.firstname,
                lastname: customer.lastname,
                plan: plan.id,
                offer: plan.offer,
                metadata: None,
            },
            created_at: self.now,
            version: 1,
        }
    }

    /// A subscription after a transition.
    pub(crate) fn moved<T>(
        &self,
        subscription: Subscription,
        rule: impl FnOnce(&SubscriptionState) -> Result<Option<(SubscriptionState, T)>, Conflict>,
    ) -> Subscription {
        let (state, _) = moved(valid(rule(&subscription.state)));
        Subscription { state, ..subscription }
    }

    pub(crate) fn esim_order(&self) -> EsimOrder {
        let package = &self.packages.all()[0];
        EsimOrder {
            id: valid(EsimOrderId::new(id("eso_"))),
            merchant: String::new(),
            package: package.id.clone(),
            quantity: 1,
            amount: package.amount,
            currency: package.currency.clone(),
            created_at: self.now,
            fulfilment: None,
        }
    }
}

/// A page that holds the whole list.
pub(crate) fn page(entries: &[Reply]) -> Done {
    Done::list(entries.to_vec(), PageLimit::default(), |_| String::new(), |entry| entry)
}

/// Reads the payment method of an example.
pub(crate) fn with(instrument: &Instrument) -> PayingWith {
    valid(paying_with(instrument))
}

fn phone(number: &str) -> Instrument {
    Instrument::mobile_money(valid(Phone::new(number)))
}

/// An identifier with this prefix, always the same.
fn id(prefix: &str) -> String {
    format!("{prefix}{}", base62(&Sha256::digest(prefix)[..16], 22))
}

/// Unwraps a part of an example, which is always valid.
pub(crate) fn valid<T, E: Debug>(value: Result<T, E>) -> T {
    value.expect("a test makes every example")
}

/// Unwraps the state after a transition of an example, which always has an effect.
pub(crate) fn moved<T>(state: Option<T>) -> T {
    state.expect("a test makes every example")
}
