use super::body::{MARK, Money};
use super::order::{Duplicate, RefundKey, SendResult, Time};
use crate::shop::{self, Owner};
use crate::values::{Amount, CheckoutUrl, IntentStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;

/// What is known besides the order.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Known {
    /// How many payments of the owner count as open.
    pub open: usize,
    /// References that other orders have.
    pub taken: BTreeSet<String>,
    /// What the service can do.
    pub service: Service,
    /// What the service's clock shows now, by its last `Date`.
    pub service_now: Option<Time>,
}

/// What a service can do, and what the shop has chosen.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(default, deny_unknown_fields)]
pub struct Service {
    /// Whether a payment can be read by its reference.
    pub finds: bool,
    /// Whether a creation that is sent again brings the payment that exists. A second id ends it, until a person or a
    /// new base address says otherwise.
    pub repeats: bool,
    /// Whether a payment can be canceled.
    pub cancels: bool,
    /// Whether the ledger was restored from a copy, and the span in which that matters is not closed.
    pub is_restoring: bool,
    /// The longest reference that it takes, in characters.
    pub longest_reference: usize,
    /// For how long one of its calls may be executed, in seconds.
    pub call: Time,
    /// For how many days after its end the ledger keeps a payment's personal data; none: for ever.
    pub keep_days: Option<u16>,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            finds: false,
            repeats: true,
            cancels: false,
            is_restoring: false,
            longest_reference: 50,
            call: 60,
            keep_days: None,
        }
    }
}

/// What happened.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A customer wants to pay.
    Click(Click),
    /// A send is over.
    Reply(Reply),
    /// A reading or a cancellation is over.
    Reading(Reading),
    /// A person has decided.
    Resolve(Resolve),
    /// Personal data have been kept for long enough.
    Forget {
        /// Of which payment.
        reference: String,
    },
    /// After a restore from a copy, the service has a payment of one of the order's next references.
    Adopt(Adopt),
    /// The ledger was restored from a copy, and what the service has of the order was read.
    Restored {
        /// Where the versions of its orders begin since then.
        epoch: i64,
    },
}

/// A customer wants to pay.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Click {
    /// Who.
    pub owner: Owner,
    /// At the sign-in that ends a visit: the guest that the customer was in it.
    #[serde(default)]
    pub visit: Option<Owner>,
    /// What the shop says that the order costs, or that it has ended.
    pub purchase: Purchase,
    /// The return nonce of a new payment.
    #[serde(default)]
    pub nonce: String,
    /// The mark of a new payment.
    #[serde(default)]
    pub mark: String,
    /// What the customer pays with the fee, if it was quoted.
    #[serde(default, deserialize_with = "super::amount::optional")]
    pub quote: Option<Amount>,
}

/// A payment that the service has and the rows of a restored ledger have not.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Adopt {
    /// Which of the order's references.
    pub reference: String,
    /// The return nonce that it gets.
    #[serde(default)]
    pub nonce: String,
    /// The mark of the order's payments.
    #[serde(default)]
    pub mark: String,
    /// When it was asked for.
    pub at: Time,
    /// The payment.
    pub seen: Box<Seen>,
}

/// What the shop says of an order.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Purchase {
    /// The body of its next payment.
    Costs(Value),
    /// It is no longer sold.
    OrderEnded,
}

/// A send is over.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Of which payment.
    pub reference: String,
    /// Which, from 0.
    pub send: usize,
    /// The results of earlier attempts of the same call.
    #[serde(default)]
    pub earlier: Vec<SendResult>,
    /// The result of the last.
    pub got: Got,
}

/// A reading or a cancellation is over.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Of which payment.
    pub reference: String,
    /// What was asked for.
    pub asked: Asked,
    /// When.
    pub at: Time,
    /// Whether a page waits for it.
    #[serde(default)]
    pub for_page: bool,
    /// Its result.
    pub got: Got,
}

/// What a service is asked about a payment that exists, or may.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// The payment with this id.
    Read(String),
    /// Whatever has the reference.
    Find,
    /// To cancel the one with this id.
    Cancel(String),
}

/// The result of a call.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Got {
    /// A payment.
    Payment(Box<Seen>),
    /// A status without a payment.
    Status(u16),
    /// No reply, or one that cannot be read.
    Lost,
}

/// A payment in a reply. What a service does not send is none.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The service's id.
    pub id: String,
    /// The service's public reference.
    #[serde(default)]
    pub payment_ref: Option<String>,
    /// The reference that was sent.
    #[serde(default)]
    pub reference: Option<String>,
    /// Its amount.
    #[serde(default, deserialize_with = "super::amount::optional")]
    pub amount: Option<Amount>,
    /// Its currency.
    #[serde(default)]
    pub currency: Option<String>,
    /// Its status.
    pub status: IntentStatus,
    /// When it was created, by the service's clock.
    #[serde(default)]
    pub created_at: Option<Time>,
    /// When it expires, by the service's clock.
    #[serde(default)]
    pub expires_at: Option<Time>,
    /// The `Date` of the reply.
    #[serde(default)]
    pub date: Option<Time>,
    /// The mark that was sent.
    #[serde(default)]
    pub mark: Option<String>,
    /// The customer's e-mail address.
    #[serde(default)]
    pub email: Option<String>,
    /// What the customer pays, with the fee.
    #[serde(default, deserialize_with = "super::amount::optional")]
    pub payable: Option<Amount>,
    /// How it is paid, such as `mobile_money`.
    #[serde(default)]
    pub method: Option<String>,
    /// Attempts that were paid besides.
    #[serde(default)]
    pub duplicates: Vec<Duplicate>,
    /// Until when an attempt that was declined may still be approved, by the service's clock.
    #[serde(default)]
    pub approvable_until: Option<Time>,
    /// Where it is paid.
    #[serde(default)]
    pub address: Option<Address>,
    /// What it is read with at a service that reads it in no other way, encrypted as an address is.
    #[serde(default)]
    pub read_with: Option<String>,
}

/// Where a payment is paid. It contains its client secret.
#[derive(Clone, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// For the customer's browser alone.
    pub plain: String,
    /// For the store: encrypted by a key derived from the payment key.
    pub sealed: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(***)")
    }
}

impl Service {
    /// What a service can by its profile, or else by the document.
    #[must_use]
    pub fn of(profile: Option<&shop::Profile>) -> Self {
        let cancels = profile.is_none_or(shop::Profile::cancels);
        let finds = profile.is_some_and(shop::Profile::finds);
        Self { cancels, finds, ..Self::default() }
    }
}

impl Seen {
    /// A payment as it was read, and how its secrets are encrypted. Its client secret is kept if it is read with that.
    #[must_use]
    pub fn new(reading: &shop::Reading, keeps_secret: bool, seal: impl Fn(&str) -> String) -> Self {
        let shop::Reading { intent, as_of, expires_at, .. } = reading;
        let address = intent.checkout_url.as_ref().map(CheckoutUrl::expose);
        let duplicates = intent.duplicate_payments.iter();
        let secret = intent.client_secret.as_ref().filter(|_| keeps_secret);
        Self {
            id: intent.id.as_str().to_owned(),
            payment_ref: intent.payment_ref.as_ref().map(|text| text.as_str().to_owned()),
            reference: intent.merchant_reference.clone(),
            amount: Some(intent.amount.without_zeros()),
            currency: Some(intent.currency.clone()).filter(|currency| !currency.is_empty()),
            status: intent.status.clone(),
            created_at: intent.created_at,
            expires_at: *expires_at,
            date: *as_of,
            mark: intent.metadata.get(MARK).and_then(|mark| Some(mark.as_str()?.to_owned())),
            email: Some(intent.customer.email.clone()).filter(|email| !email.is_empty()),
            payable: intent.amount_payable.map(Amount::without_zeros),
            method: intent.payment_method.as_ref().and_then(|method| Some(method.kind()?.to_owned())),
            duplicates: duplicates
                .map(|one| Duplicate {
                    attempt: one.attempt.to_string(),
                    amount: one.amount.map(Amount::without_zeros),
                })
                .collect(),
            approvable_until: intent.approvable_until.and_then(|until| until.unix()),
            address: address.map(|plain| Address { plain: plain.to_owned(), sealed: seal(plain) }),
            read_with: secret.map(|secret| seal(secret.expose())),
        }
    }
}

/// What a person has decided about a payment.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// Which.
    pub reference: String,
    /// Which of the service's, if there is one.
    #[serde(default)]
    pub id: Option<String>,
    /// Of a refund: which attempt of the payment was given back; none: all that is due of it.
    #[serde(default)]
    pub attempt: Option<String>,
    /// What.
    pub verdict: Verdict,
    /// Who.
    pub who: String,
    /// Why.
    pub why: String,
}

/// What a person has decided about a payment.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// This was paid with it.
    Paid(Money),
    /// It will not be paid.
    Ended,
    /// Its money was given back: also that of a payment which has paid an order that needs a person.
    Refunded,
    /// It has paid the order, whatever sum the shop named last, and although the shop had ended it.
    Accepted,
}

/// What is to be done, in this order, once the order is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Send the creation of this payment. Where creations are not repeated, the call does not retry.
    Send {
        /// Which payment.
        reference: String,
        /// Which send.
        send: usize,
        /// Whether the call may retry.
        may_retry: bool,
    },
    /// Ask the service about a payment.
    Ask {
        /// Which payment.
        reference: String,
        /// What.
        asked: Asked,
        /// Whether the page waits for it.
        for_page: bool,
    },
    /// Answer the page.
    Answer(Answer),
    /// Decide the click anew: a payment of its order has ended in it.
    ClickAgain,
    /// Tell the shop: the whole state of the order.
    OrderChanged(Changed),
    /// Tell a person.
    Alarm(Alarm),
    /// Creations are not repeated at this service any more.
    StopRepeating,
}

/// An answer to a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Lead to where this payment is paid.
    Lead {
        /// Which payment.
        reference: String,
        /// Which of the service's.
        id: String,
        /// The address, of the reply or as it was stored.
        address: Led,
    },
    /// It was paid: show what is stored.
    Paid {
        /// By which payment.
        reference: String,
        /// By which of the service's.
        id: String,
    },
    /// An error.
    Error {
        /// The HTTP status.
        status: u16,
        /// The stable code.
        code: &'static str,
    },
}

/// An address for a page. It contains a client secret.
#[derive(Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Led {
    /// Of the reply.
    Plain(String),
    /// As it was stored.
    Sealed(String),
}

impl std::fmt::Debug for Led {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Led(***)")
    }
}

/// What a person must know.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Alarm {
    /// What.
    pub what: &'static str,
    /// About which payment, or which member of a purchase.
    pub about: String,
}

/// What a shop may do with an order.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderState {
    /// No goods leave.
    Unpaid,
    /// It is paid.
    Paid,
    /// It was paid with another sum than the shop named last. No goods leave: a person decides.
    PaidOtherSum,
    /// It was paid although the shop had ended it. No goods leave: a person decides.
    PaidAfterEnd,
}

impl OrderState {
    /// Whether a person decides if the goods leave.
    #[must_use]
    pub const fn needs_a_person(self) -> bool {
        matches!(self, Self::PaidOtherSum | Self::PaidAfterEnd)
    }
}

/// The whole state of an order, for the shop. A receiver ignores a version that it has passed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Changed {
    /// The order's name.
    pub name: String,
    /// Rises with each event of the order, not always by 1.
    pub version: i64,
    /// Whether it is paid.
    pub state: OrderState,
    /// What paid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paid_by: Option<PaidBy>,
    /// Once it is paid: what it cost when the shop was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Money>,
    /// What is to be given back.
    pub refunds_due: Vec<RefundDue>,
    /// It comes from a restored ledger.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
}

/// What paid an order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PaidBy {
    /// Which payment.
    pub reference: String,
    /// Which of the service's.
    pub id: String,
    /// The sum.
    #[serde(flatten)]
    pub sum: Money,
    /// What the service says of it now, if that is not `succeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// What is to be given back.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RefundDue {
    /// Of which payment.
    #[serde(flatten)]
    pub key: RefundKey,
    /// The sum.
    #[serde(flatten)]
    pub sum: Money,
    /// The customer paid a fee on top, which only the payment company knows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plus_fee: bool,
}
