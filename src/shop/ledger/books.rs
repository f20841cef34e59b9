//! What a bookkeeper looks at, over every order of a ledger.

use super::body::Money;
use super::due::not_readable;
use super::event::{OrderState, RefundDue};
use super::order::{Found, FoundState, Order, Payment, Time, Why};
use super::store::Store;
use crate::values::Amount;
use serde::Serialize;

/// A store whose orders can be listed.
pub trait Books: Store {
    /// The next orders, at most a thousand, whose names come after this one, by name; an empty name begins with the
    /// first.
    fn orders_after(&self, name: &str) -> impl Future<Output = Result<Vec<Order>, Self::Error>> + Send;
}

/// Calls a function with every order, by name.
///
/// # Errors
/// Those of the store: also an order that cannot be read ends it.
pub async fn for_each_order<S: Books>(store: &S, mut call: impl FnMut(&Order)) -> Result<(), S::Error> {
    let mut name = String::new();
    loop {
        let some = store.orders_after(&name).await?;
        let Some(last) = some.last() else { return Ok(()) };
        name.clone_from(&last.name);
        some.iter().for_each(&mut call);
    }
}

/// A refund that is due, with its order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderRefund {
    /// The order's name.
    pub order: String,
    /// The payment's reference.
    #[serde(skip)]
    pub reference: String,
    /// What is to be given back.
    #[serde(flatten)]
    pub due: RefundDue,
}

/// A payment about which a person decides, after a look at the payment company.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Mismatch {
    /// The order's name.
    pub order: String,
    /// The payment's reference.
    pub reference: String,
    /// The service's id of it; none if the service is not known to have it.
    pub id: Option<String>,
    /// What was sent; of what has paid its order, what was paid.
    pub sum: Money,
    /// Why.
    pub why: MismatchReason,
    /// The service's word of it, as it was read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// Why a person decides about a payment. As JSON it is a sentence.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub enum MismatchReason {
    /// The service has another sum, currency or mark by its reference.
    #[serde(rename = "is not what was sent")]
    Different,
    /// It had ended, and the service has another word of it now, or none that is final.
    #[serde(rename = "the service has changed its word")]
    OtherWord,
    /// It is open, and could not be read for ten minutes.
    #[serde(rename = "cannot be read")]
    Unreadable,
    /// No request that created it had a reply, and it is sent no more.
    #[serde(rename = "got no reply, was given up, and may exist at the service")]
    Left,
    /// After a restore: the service has another payment by its reference, or it was sent before the copy was written. A
    /// customer may have its address.
    #[serde(rename = "may be paid by a customer since the copy of the ledger was written")]
    Conflict,
    /// It has paid its order with another sum than the shop named last.
    #[serde(rename = "has paid the order with another sum than the shop named last")]
    OtherSum,
    /// It has paid its order after the shop had ended it.
    #[serde(rename = "has paid the order after the shop had ended it")]
    AfterEnd,
    /// No request that created it has had a reply yet.
    #[serde(rename = "the service has not confirmed it")]
    NotConfirmed,
}

/// What of this order is to be given back.
#[must_use]
pub fn refunds(order: &Order) -> Vec<OrderRefund> {
    let with_order = |due: RefundDue| {
        let payment = order.all_found().find(|(_, found)| found.id == due.key.id);
        let reference = payment.map(|(payment, _)| payment.reference.clone()).unwrap_or_default();
        OrderRefund { order: order.name.clone(), reference, due }
    };
    order.refunds_due().into_iter().map(with_order).collect()
}

/// The payments of this order about which a person decides.
#[must_use]
pub fn mismatches(order: &Order, now: Time) -> Vec<Mismatch> {
    let mismatch = |reference: &str, id: Option<&str>, sum: Money, why: MismatchReason| {
        let found = order.all_found().find(|(_, found)| Some(&*found.id) == id);
        Mismatch {
            order: order.name.clone(),
            reference: reference.to_owned(),
            id: id.map(str::to_owned),
            sum,
            why,
            status: found.map(|(_, found)| found.status.as_str().to_owned()),
        }
    };
    let named = not_readable(order, now).into_iter().filter_map(|(reference, id)| {
        let payment = order.payment(reference)?;
        Some(mismatch(reference, id, payment.body.sum(), why(payment, id)))
    });
    let paid = order.waits_for_a_person().map(|paid| {
        let why = match order.changed().state {
            OrderState::PaidAfterEnd => MismatchReason::AfterEnd,
            _ => MismatchReason::OtherSum,
        };
        mismatch(&paid.reference, Some(&*paid.id), paid.sum, why)
    });
    named.chain(paid).collect()
}

fn why(payment: &Payment, id: Option<&str>) -> MismatchReason {
    let found = payment.found.iter().find(|found| Some(&*found.id) == id);
    let closed = payment.closed.map(|closed| closed.why);
    match found.map(|found| found.state) {
        Some(FoundState::Different) => MismatchReason::Different,
        Some(FoundState::Ended { .. }) => MismatchReason::OtherWord,
        Some(_) => MismatchReason::Unreadable,
        None if closed == Some(Why::Conflict) => MismatchReason::Conflict,
        None if closed.is_some() => MismatchReason::Left,
        None => MismatchReason::NotConfirmed,
    }
}

/// The sums of what was paid in a span of time, by method and currency, without fees that the customer paid on top. A
/// payment counts when the ledger learned that it was paid, and once.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Day {
    /// Payments that have paid an order.
    pub paid: Vec<MethodSum>,
    /// What was paid besides, to be given back or given back since: both together are what came in.
    pub besides: Vec<MethodSum>,
}

/// A sum of payments of one method in one currency.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct MethodSum {
    /// How they were paid, such as `mobile_money`, as a reading of the service had it; none if no reading had it.
    pub method: Option<String>,
    /// The currency.
    pub currency: String,
    /// How many payments.
    pub count: usize,
    /// Their sum; none if it is too large, or if one of them is no whole number of the smallest unit.
    pub total: Option<Amount>,
}

impl Day {
    /// Adds what was paid of this order from `from` on and before `to`. An attempt that was paid besides counts with
    /// its payment: the service gives no other time of it.
    pub fn add(&mut self, order: &Order, from: Time, to: Time) {
        let in_time = |found: &Found| found.ended_at().is_some_and(|at| (from..to).contains(&at));
        for (payment, found) in order.all_found().filter(|(_, found)| in_time(found)) {
            let sum = found.decided.clone().unwrap_or_else(|| payment.body.sum());
            if matches!(found.state, FoundState::Paid { .. }) {
                let has_paid = order.paid_by.as_ref() == Some(&found.id);
                add(if has_paid { &mut self.paid } else { &mut self.besides }, found, &sum);
            }
            for duplicate in &found.duplicates {
                let sum = Money { amount: duplicate.amount.unwrap_or(sum.amount), ..sum.clone() };
                add(&mut self.besides, found, &sum);
            }
        }
    }
}

fn add(sums: &mut Vec<MethodSum>, Found { method, .. }: &Found, Money { amount, currency }: &Money) {
    let place = sums.binary_search_by(|sum| (&sum.method, &sum.currency).cmp(&(method, currency)));
    let place = place.unwrap_or_else(|place| {
        let total = Some(Amount::units(0));
        sums.insert(place, MethodSum { method: method.clone(), currency: currency.clone(), count: 0, total });
        place
    });
    let sum = &mut sums[place];
    sum.count += 1;
    let units = sum.total.and_then(Amount::whole_units).zip(amount.whole_units());
    sum.total = units.and_then(|(total, units)| total.checked_add(units)).map(Amount::units);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// An order with one payment for each list, which the service has as these.
    fn order(members: &Value, payments: &[Value]) -> Order {
        let payment = |(number, found): (usize, &Value)| {
            let body = json!({"amount": "45000"});
            json!({"reference": format!("O-{number}"), "created_at": 0, "body": body, "found": found})
        };
        let payments: Vec<Value> = payments.iter().enumerate().map(payment).collect();
        let mut order = json!({"name": "O", "owner": {"customer": "1"}, "payments": payments});
        order.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        serde_json::from_value(order).unwrap()
    }

    fn paid(id: &str, at: Time, members: Value) -> Value {
        let mut found = json!({"id": id, "state": {"paid": {"at": at}}, "status": "succeeded", "method": "card"});
        found.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        found
    }

    #[test]
    fn a_day_has_each_payment_once() {
        let mobile = json!({"method": "mobile_money"});
        let decided = json!({"method": null, "decided": {"amount": "500", "currency": "XAF"}});
        let twice = json!({"duplicates": [{"attempt": "a"}, {"attempt": "b", "amount": "44000"}]});
        let broken = json!({"duplicates": [{"attempt": "a", "amount": "0.5"}]});
        let given_back = json!({"paid_by": "p", "refunded": [{"id": "q"}, {"id": "p", "attempt": "b"}]});
        let row = |method, count, total| json!({"method": method, "currency": "XAF", "count": count, "total": total});
        let card = |count, total| row(json!("card"), count, json!(total));
        let of = |member: &str, rows: Vec<Value>| {
            let mut day = json!({"paid": [], "besides": []});
            day[member] = json!(rows);
            day
        };
        let mut twice_paid = of("paid", vec![card(1, "45000")]);
        twice_paid["besides"] = json!([card(2, "89000")]);
        let mut one_back = twice_paid.clone();
        one_back["besides"] = json!([card(3, "134000")]);
        let by = json!({"paid_by": "p"});
        let mut fraction = of("paid", vec![card(1, "45000")]);
        fraction["besides"] = json!([row(json!("card"), 1, json!(null))]);
        for (name, order, expected) in [
            ("paid", order(&by, &[json!([paid("p", 10, json!({}))])]), of("paid", vec![card(1, "45000")])),
            ("before the span", order(&by, &[json!([paid("p", 9, json!({}))])]), of("paid", vec![])),
            ("its end is not in it", order(&by, &[json!([paid("p", 20, json!({}))])]), of("paid", vec![])),
            (
                "a person's sum, without a method",
                order(&by, &[json!([paid("p", 19, decided)])]),
                of("paid", vec![row(json!(null), 1, json!("500"))]),
            ),
            (
                "another one besides",
                order(&json!({"paid_by": "q"}), &[json!([paid("p", 10, mobile)]), json!([paid("q", 30, json!({}))])]),
                of("besides", vec![row(json!("mobile_money"), 1, json!("45000"))]),
            ),
            ("attempts besides", order(&by, &[json!([paid("p", 10, twice.clone())])]), twice_paid),
            (
                "given back since: the day does not change",
                order(&given_back, &[json!([paid("p", 10, twice)]), json!([paid("q", 11, json!({}))])]),
                one_back,
            ),
            ("no whole number", order(&by, &[json!([paid("p", 10, broken)])]), fraction),
            (
                "not paid",
                order(&json!({}), &[json!([{"id": "p", "state": "open", "status": "processing"}])]),
                of("paid", vec![]),
            ),
        ] {
            let mut day = Day::default();
            day.add(&order, 10, 20);
            assert_eq!(json!(day), expected, "{name}");
        }
    }

    #[test]
    fn a_day_adds_orders_by_method_and_currency() {
        let mut day = Day::default();
        let by = json!({"paid_by": "p"});
        let in_euro = json!({"decided": {"amount": "70", "currency": "EUR"}});
        for found in [paid("p", 0, json!({})), paid("p", 0, in_euro), paid("p", 0, json!({}))] {
            day.add(&order(&by, &[json!([found])]), 0, 1);
        }
        let sums = day.paid.iter().map(|sum| (&*sum.currency, sum.count, sum.total.and_then(Amount::whole_units)));
        assert_eq!(sums.collect::<Vec<_>>(), [("EUR", 1, Some(70)), ("XAF", 2, Some(90_000))]);
    }

    #[test]
    fn each_mismatch_has_its_reason() {
        let now = 10_000;
        let found = |state: Value| json!([{"id": "p", "state": state, "status": "succeeded", "asked_at": 1}]);
        let timed_out = json!({"ended": {"at": 1, "why": "timed_out"}});
        let of = |found: Value, members: Value| {
            let mut order = order(&json!({}), &[found]);
            let mut payment = json!(order.payments[0]);
            payment.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            order.payments[0] = serde_json::from_value(payment).unwrap();
            let reasons = mismatches(&order, now).into_iter().map(|one| (one.reference, one.id, json!(one.why)));
            reasons.collect::<Vec<_>>()
        };
        let with_id = |why: &str| vec![("O-0".to_owned(), Some("p".to_owned()), json!(why))];
        let without = |why: &str| vec![("O-0".to_owned(), None, json!(why))];
        assert_eq!(of(found(json!("different")), json!({})), with_id("is not what was sent"));
        assert_eq!(of(found(timed_out), json!({})), with_id("the service has changed its word"));
        assert_eq!(of(found(json!("open")), json!({})), with_id("cannot be read"));
        let left = json!({"closed": {"at": now - 1, "why": "left"}});
        assert_eq!(of(json!([]), left), without("got no reply, was given up, and may exist at the service"));
        let conflict = json!({"closed": {"at": 1, "why": "conflict"}});
        assert_eq!(
            of(json!([]), conflict),
            without("may be paid by a customer since the copy of the ledger was written")
        );
        assert_eq!(of(json!([]), json!({})), without("the service has not confirmed it"));
        let asked = |amount: &str| json!({"amount": amount, "currency": "XAF"});
        let odd = |members: Value| {
            let order = order(&members, &[json!([paid("p", 10, json!({}))])]);
            mismatches(&order, now).into_iter().map(|one| json!(one.why)).collect::<Vec<_>>()
        };
        let other_sum = json!("has paid the order with another sum than the shop named last");
        assert_eq!(odd(json!({"paid_by": "p", "asked": asked("50000")})), [other_sum]);
        let after_end = json!("has paid the order after the shop had ended it");
        assert_eq!(odd(json!({"paid_by": "p", "has_ended": true})), [after_end]);
        assert_eq!(odd(json!({"paid_by": "p", "asked": asked("45000")})), [Value::Null; 0]);
        assert_eq!(odd(json!({"paid_by": "p", "has_ended": true, "refunded": [{"id": "p"}]})), [Value::Null; 0]);
        assert_eq!(of(found(json!({"paid": {"at": 1}})), json!({})), []);
    }

    #[test]
    fn a_refund_has_its_order_and_reference() {
        let order =
            order(&json!({"paid_by": "p"}), &[json!([paid("p", 1, json!({}))]), json!([paid("q", 2, json!({}))])]);
        let due = refunds(&order);
        assert_eq!((due.len(), &*due[0].reference), (1, "O-1"));
        assert_eq!(json!(due[0]), json!({"order": "O", "id": "q", "amount": "45000", "currency": "XAF"}));
    }
}
