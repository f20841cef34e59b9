//! Compares a payment company's statement with the orders of a ledger.

use super::body::Money;
use super::order::{Found, FoundState, Order, Payment, RefundKey, Time};
use super::statement::{StatementRow, StatementRules, WhyNotJudged};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A difference between a statement and a ledger.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Difference {
    /// What differs.
    pub kind: DifferenceKind,
    /// The lines of the statement; none if it has no row of this payment.
    pub lines: Vec<u64>,
    /// Our order; none if we have no such payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Our payment's reference; the statement's if we have no such payment.
    pub reference: String,
    /// The service's id: ours, or else the statement's. Of what is unknown here, the statement's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Of what is unknown here but has our reference: the ids that we have by this reference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub our_ids: Vec<String>,
    /// The statement's sum; none if it has none, or if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub there: Option<Money>,
    /// The sums that the ledger expects: the price, and what the customer pays with the fee.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub here: Vec<Money>,
    /// The customer paid a fee besides, which the ledger does not know.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub plus_fee: bool,
    /// The statement's word for a payment that is not paid there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Of what is paid there and not here: whether the ledger has an id to read it by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_readable: bool,
    /// Of a double: how many refunds of the order are due, as the ledger has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refunds_due: Option<usize>,
    /// Of a double: how many refunds of the order were made, as the ledger has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refunds_made: Option<usize>,
}

/// What differs between a statement and a ledger.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// It is paid there, and our payment is not: it is to be read anew.
    PaidThere,
    /// It is paid there, and we have no such payment: another system has sold it, the ledger was restored, or our
    /// payment was created twice there.
    UnknownHere,
    /// It is paid here, and not there, or no more.
    PaidHere,
    /// Its amount or currency is another.
    OtherSum,
    /// An order is paid more than once there, or a payment that we do not have is.
    Double,
}

/// A row that cannot be judged, or not wholly.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct NotJudged {
    /// Its line.
    pub line: u64,
    /// Why.
    pub why: WhyNotJudged,
}

/// The result of a comparison.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Compared {
    /// The differences, by their kind, and then as the statement has them.
    pub differences: Vec<Difference>,
    /// What could not be judged, by line.
    pub not_judged: Vec<NotJudged>,
    /// How many orders the ledger has.
    pub orders: usize,
    /// How many rows the statement has.
    pub rows: usize,
    /// How many of them are paid there.
    pub paid_rows: usize,
    /// The words of the others, and how many rows have each.
    pub other_words: BTreeMap<String, usize>,
}

/// A comparison of a statement with orders that are added one after the other.
///
/// ```
/// use guichet::native::ledger::{Comparison, StatementRow, StatementRules};
/// let sum = StatementRow { amount: "5000".into(), currency: "XAF".into(), ..Default::default() };
/// let rows = [StatementRow { line: 2, id: "pi_1".into(), ..sum }];
/// let comparison = Comparison::new(&rows, StatementRules::default());
/// // comparison.add(&order), for each order
/// let compared = comparison.end();
/// assert_eq!(compared.differences[0].id.as_deref(), Some("pi_1"));
/// ```
#[derive(Debug)]
pub struct Comparison<'a> {
    rules: StatementRules,
    rows: Vec<Row<'a>>,
    ids: BTreeSet<&'a str>,
    references: BTreeSet<&'a str>,
    kept: Vec<Kept>,
    compared: Compared,
}

/// A row as it was read.
#[derive(Debug)]
struct Row<'a> {
    line: u64,
    id: &'a str,
    reference: &'a str,
    word: Word<'a>,
    /// None if it is not paid, or cannot be read.
    sum: Option<Money>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Word<'a> {
    Paid,
    Other(&'a str),
    Unknown,
}

/// What is kept of an order that the statement has, or should have.
#[derive(Debug)]
struct Kept {
    order: String,
    payments: Vec<KeptPayment>,
    refunds_due: usize,
    refunds_made: usize,
}

#[derive(Debug)]
struct KeptPayment {
    reference: String,
    /// What it costs if the service has nothing of it.
    expected: Expected,
    found: Vec<KeptFound>,
}

#[derive(Debug)]
struct KeptFound {
    id: String,
    payment_ref: Option<String>,
    is_paid: bool,
    is_in_span: bool,
    is_refunded: bool,
    expected: Expected,
}

/// The sums that a statement may have of a payment.
#[derive(Debug)]
struct Expected {
    sums: Vec<Money>,
    plus_fee: bool,
}

/// Where the payment of a row is: the order, the payment, and how the row names it.
type Place = (usize, usize, Named);

/// How a row names our payment.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Named {
    /// By the id of this one that the service has of it.
    Id(usize),
    /// By its reference.
    Reference,
    /// By its reference, with an id that is none of ours, in a statement that has ids of ours.
    OtherId,
}

impl<'a> Comparison<'a> {
    /// A comparison with these rows.
    #[must_use]
    pub fn new(rows: &'a [StatementRow], rules: StatementRules) -> Self {
        let mut not_judged = Vec::new();
        let mut other_words: BTreeMap<String, usize> = BTreeMap::new();
        let mut read = Vec::new();
        for row in rows {
            let mut is_not_judged = |why| not_judged.push(NotJudged { line: row.line, why });
            let (id, reference) = (row.id.trim(), row.reference.trim());
            let word = match row.status.as_deref().map(str::trim) {
                Some("") => Word::Unknown,
                Some(status) if !rules.is_paid(status) => Word::Other(status),
                _ => Word::Paid,
            };
            if let Word::Other(word) = word {
                *other_words.entry(word.to_owned()).or_default() += 1;
            }
            if id.is_empty() && reference.is_empty() {
                is_not_judged(WhyNotJudged::NoName);
                continue;
            }
            if word == Word::Unknown {
                is_not_judged(WhyNotJudged::NoStatus);
            }
            let sum = match word {
                Word::Paid => rules.sum(row).map_err(&mut is_not_judged).ok(),
                Word::Other(_) | Word::Unknown => None,
            };
            read.push(Row { line: row.line, id, reference, word, sum });
        }
        read.sort_by_key(|row| row.line);
        let is_named = |name: &&str| !name.is_empty();
        let ids = read.iter().map(|row| row.id).filter(is_named).collect();
        let references = read.iter().map(|row| row.reference).filter(is_named).collect();
        let paid_rows = read.iter().filter(|row| row.word == Word::Paid).count();
        let compared =
            Compared { differences: Vec::new(), not_judged, orders: 0, rows: rows.len(), paid_rows, other_words };
        Self { rules, rows: read, ids, references, kept: Vec::new(), compared }
    }

    /// Adds an order of the ledger.
    pub fn add(&mut self, order: &Order) {
        self.compared.orders += 1;
        let is_in_span = |found: &Found| is_in_span(found, self.rules.span);
        let has = |found: &Found| {
            let payment_ref = found.payment_ref.as_deref();
            self.ids.contains(&*found.id) || payment_ref.is_some_and(|name| self.ids.contains(name))
        };
        let is_kept = |payment: &Payment| {
            self.references.contains(&*payment.reference)
                || payment.found.iter().any(|found| has(found) || is_in_span(found))
        };
        if !order.payments.iter().any(is_kept) {
            return;
        }
        let payments = order.payments.iter().map(|payment| KeptPayment {
            reference: payment.reference.clone(),
            expected: Expected::of(payment, None),
            found: (payment.found.iter())
                .map(|found| KeptFound {
                    id: found.id.clone(),
                    payment_ref: found.payment_ref.clone(),
                    is_paid: matches!(found.state, FoundState::Paid { .. }),
                    is_in_span: is_in_span(found),
                    is_refunded: order.refunded.contains(&RefundKey { id: found.id.clone(), attempt: None }),
                    expected: Expected::of(payment, Some(found)),
                })
                .collect(),
        });
        self.kept.push(Kept {
            order: order.name.clone(),
            payments: payments.collect(),
            refunds_due: order.refunds_due().len(),
            refunds_made: order.refunded.len(),
        });
    }

    /// The differences, after every order was added.
    #[must_use]
    pub fn end(mut self) -> Compared {
        let places = self.places();
        let mut differences = Vec::new();
        for (row, place) in self.rows.iter().zip(&places).filter(|(row, _)| row.word == Word::Paid) {
            match place {
                Some((order, payment, Named::OtherId)) => {
                    let Kept { order, payments, .. } = &self.kept[*order];
                    differences.push(Difference {
                        order: Some(order.clone()),
                        our_ids: payments[*payment].found.iter().map(|found| found.id.clone()).collect(),
                        ..row.difference(DifferenceKind::UnknownHere)
                    });
                }
                Some(place) => self.compare(row, *place, &mut differences),
                None => differences.push(row.difference(DifferenceKind::UnknownHere)),
            }
        }
        self.find_doubles(&places, &mut differences);
        self.find_paid_here(&places, &mut differences);
        differences
            .sort_by(|one, other| (one.kind, &one.lines, &one.order).cmp(&(other.kind, &other.lines, &other.order)));
        self.compared.differences = differences;
        self.compared.not_judged.sort_by_key(|one| (one.line, one.why));
        self.compared
    }

    /// Where the payment of each row is: by its id, or else by its reference. If the statement has ids of ours, an id
    /// that we do not have is that of another payment, also if it has our reference.
    fn places(&mut self) -> Vec<Option<Place>> {
        let (mut ids, mut references) = (BTreeMap::new(), BTreeMap::new());
        for (order, kept) in self.kept.iter().enumerate() {
            for (index, payment) in kept.payments.iter().enumerate() {
                references.insert(&*payment.reference, (order, index));
                for (found, one) in payment.found.iter().enumerate() {
                    for name in [Some(&one.id), one.payment_ref.as_ref()].into_iter().flatten() {
                        ids.insert(&**name, (order, index, Named::Id(found)));
                    }
                }
            }
        }
        let has_our_ids = self.rows.iter().any(|row| ids.contains_key(row.id));
        let mut places = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let (by_id, by_reference) = (ids.get(row.id).copied(), references.get(row.reference).copied());
            if let (Some((order, payment, _)), Some(other)) = (by_id, by_reference)
                && (order, payment) != other
            {
                self.compared.not_judged.push(NotJudged { line: row.line, why: WhyNotJudged::TwoPayments });
            }
            places.push(by_id.or_else(|| {
                let (order, payment) = by_reference?;
                let has_id = !self.kept[order].payments[payment].found.is_empty();
                let is_other = has_our_ids && has_id && !row.id.is_empty();
                Some((order, payment, if is_other { Named::OtherId } else { Named::Reference }))
            }));
        }
        places
    }

    /// Compares a row that is paid there with our payment.
    fn compare(&self, row: &Row, (order, payment, named): Place, differences: &mut Vec<Difference>) {
        let Kept { order, payments, .. } = &self.kept[order];
        let KeptPayment { reference, expected, found: all } = &payments[payment];
        let named = match named {
            Named::Id(found) => Some(&all[found]),
            Named::Reference | Named::OtherId => None,
        };
        let difference = |kind| Difference {
            order: Some(order.clone()),
            reference: reference.clone(),
            id: named.map(|found| found.id.clone()).or(row.id()),
            ..row.difference(kind)
        };
        let candidates = named.map_or(&all[..], std::slice::from_ref);
        if !candidates.iter().any(|found| found.is_paid) {
            differences.push(Difference { is_readable: !all.is_empty(), ..difference(DifferenceKind::PaidThere) });
        }
        let expected: Vec<&Expected> = match candidates {
            [] => vec![expected],
            some => some.iter().map(|found| &found.expected).collect(),
        };
        let has = |sum: &Money| expected.iter().any(|expected| expected.sums.contains(sum));
        if row.sum.as_ref().is_some_and(|sum| !has(sum)) {
            let mut here: Vec<Money> = expected.iter().flat_map(|expected| expected.sums.clone()).collect();
            here.dedup();
            let plus_fee = expected.iter().any(|expected| expected.plus_fee);
            differences.push(Difference { here, plus_fee, ..difference(DifferenceKind::OtherSum) });
        }
    }

    /// An order with several rows that are paid; and several of one id or reference that the ledger does not have.
    fn find_doubles(&self, places: &[Option<Place>], differences: &mut Vec<Difference>) {
        let mut of_order: BTreeMap<usize, Vec<&Row>> = BTreeMap::new();
        let mut of_id: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        let mut of_reference: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for (row, place) in self.rows.iter().zip(places).filter(|(row, _)| row.word == Word::Paid) {
            match place {
                Some((order, ..)) => of_order.entry(*order).or_default().push(row),
                None => {
                    for (rows, name) in [(&mut of_id, row.id), (&mut of_reference, row.reference)] {
                        if !name.is_empty() {
                            rows.entry(name).or_default().push(row);
                        }
                    }
                }
            }
        }
        let double = |rows: &[&Row]| {
            let mut double = rows.first().map(|row| row.difference(DifferenceKind::Double))?;
            double.lines = rows.iter().map(|row| row.line).collect();
            double.there = None;
            double.id = double.id.filter(|id| rows.iter().all(|row| row.id == id));
            (rows.len() > 1).then_some(double)
        };
        for (order, rows) in of_order {
            let kept = &self.kept[order];
            differences.extend(double(&rows).map(|double| Difference {
                order: Some(kept.order.clone()),
                refunds_due: Some(kept.refunds_due),
                refunds_made: Some(kept.refunds_made),
                ..double
            }));
        }
        let groups = of_id.values().chain(of_reference.values());
        let mut unknown: Vec<Difference> = groups.filter_map(|rows| double(rows)).collect();
        unknown.sort_by(|one, other| one.lines.cmp(&other.lines));
        unknown.dedup_by(|one, other| one.lines == other.lines);
        differences.extend(unknown);
    }

    /// What is paid here, and has no row that is paid, or has another word in its last row.
    fn find_paid_here(&self, places: &[Option<Place>], differences: &mut Vec<Difference>) {
        let mut rows_of: BTreeMap<Place, Vec<&Row>> = BTreeMap::new();
        for (row, place) in self.rows.iter().zip(places) {
            if let Some(place) = place {
                rows_of.entry(*place).or_default().push(row);
            }
        }
        let rows_at = |place| rows_of.get(&place).map_or(&[][..], Vec::as_slice);
        for (order, kept) in self.kept.iter().enumerate() {
            for (index, payment) in kept.payments.iter().enumerate() {
                // A row without an id of ours is that of one of the service's payments by this reference.
                let by_reference = rows_at((order, index, Named::Reference));
                let others = by_reference.iter().filter(|row| row.other_word().is_some()).count();
                let last_others = by_reference.iter().rev().take_while(|row| row.other_word().is_some()).count();
                // Each of the last rows that have another word takes back one that is paid.
                let mut left = (by_reference.len() - others).saturating_sub(last_others);
                let mut paid: Vec<_> = payment.found.iter().enumerate().filter(|(_, found)| found.is_paid).collect();
                // The rows that are paid are first those of what was not given back.
                paid.sort_by_key(|(_, found)| found.is_refunded);
                for (at, found) in &paid {
                    let by_id = rows_at((order, index, Named::Id(*at)));
                    let last = match &*paid {
                        [_] => by_id.iter().chain(by_reference).max_by_key(|row| row.line),
                        _ if !by_id.is_empty() => by_id.last(),
                        _ if left > 0 => {
                            left -= 1;
                            continue;
                        }
                        _ => by_reference.iter().rfind(|row| row.other_word().is_some()),
                    };
                    let differs = match last {
                        None => found.is_in_span,
                        // A row with another word is about this payment, whenever it was paid.
                        Some(row) => row.other_word().is_some() && !found.is_refunded,
                    };
                    if differs {
                        differences.push(found.paid_here(&kept.order, &payment.reference, last.copied()));
                    }
                }
            }
        }
    }
}

impl Row<'_> {
    fn id(&self) -> Option<String> {
        Some(self.id.to_owned()).filter(|id| !id.is_empty())
    }

    /// Its word, if that is not paid.
    fn other_word(&self) -> Option<&str> {
        match self.word {
            Word::Other(word) => Some(word),
            Word::Paid | Word::Unknown => None,
        }
    }

    fn difference(&self, kind: DifferenceKind) -> Difference {
        Difference {
            lines: vec![self.line],
            there: self.sum.clone(),
            ..Difference::new(kind, self.reference, self.id())
        }
    }
}

impl Difference {
    fn new(kind: DifferenceKind, reference: &str, id: Option<String>) -> Self {
        Self {
            kind,
            lines: Vec::new(),
            order: None,
            reference: reference.to_owned(),
            id,
            our_ids: Vec::new(),
            there: None,
            here: Vec::new(),
            plus_fee: false,
            status: None,
            is_readable: false,
            refunds_due: None,
            refunds_made: None,
        }
    }
}

impl KeptFound {
    fn paid_here(&self, order: &str, reference: &str, row: Option<&Row>) -> Difference {
        Difference {
            lines: row.iter().map(|row| row.line).collect(),
            order: Some(order.to_owned()),
            here: self.expected.sums.clone(),
            plus_fee: self.expected.plus_fee,
            status: row.and_then(Row::other_word).map(str::to_owned),
            ..Difference::new(DifferenceKind::PaidHere, reference, Some(self.id.clone()))
        }
    }
}

impl Expected {
    /// What a person says was paid; or else the price, `amount_payable` or the quote, and what was paid besides.
    fn of(payment: &Payment, found: Option<&Found>) -> Self {
        if let Some(decided) = found.and_then(|found| found.decided.clone()) {
            return Self { sums: vec![decided], plus_fee: false };
        }
        let price = payment.body.sum();
        let with_fee = found.and_then(|found| found.payable).or(payment.quote);
        let besides = found.into_iter().flat_map(|found| &found.duplicates).filter_map(|duplicate| duplicate.amount);
        let mut amounts: Vec<_> = std::iter::once(price.amount).chain(with_fee).chain(besides).collect();
        amounts.dedup();
        let sums = amounts.into_iter().map(|amount| Money { amount, ..price.clone() }).collect();
        Self { sums, plus_fee: with_fee.is_none() && payment.body.fee_is_on_top() }
    }
}

/// Whether it may have been paid within the span: between its first reply and the reading that showed it as paid.
fn is_in_span(found: &Found, span: Option<(Time, Time)>) -> bool {
    match (found.state, span) {
        (FoundState::Paid { at }, Some((from, to))) => found.since <= to && at >= from,
        _ => false,
    }
}

/// Runs `tests/shop/reconcile.json`. Differences are compared as the lines that the file writes of them.
#[cfg(test)]
mod tests {
    use super::super::cases::{merged, only, order_of, read};
    use super::super::statement::AmountUnit;
    use super::*;
    use crate::values::Currency;
    use serde_json::{Value, json};

    fn file() -> Value {
        serde_json::from_str(include_str!("../../../tests/shop/reconcile.json")).expect("JSON")
    }

    fn word(value: impl Serialize) -> String {
        json!(value).as_str().unwrap_or_default().to_owned()
    }

    fn line_of(difference: &Difference) -> String {
        let money = |money: &Money| format!("{} {}", money.amount, money.currency);
        let lines: Vec<String> = difference.lines.iter().map(u64::to_string).collect();
        let mut words = vec![word(difference.kind), lines.join("+")];
        words.extend(difference.order.clone());
        words.push(format!("({})", difference.reference));
        words.push(difference.id.clone().unwrap_or_else(|| "-".to_owned()));
        words.extend(difference.our_ids.iter().map(|id| format!("ours {id}")));
        words.extend(difference.there.iter().map(|sum| format!("there {}", money(sum))));
        words.extend(difference.here.iter().map(|sum| format!("here {}", money(sum))));
        words.extend(difference.plus_fee.then(|| "plus fee".to_owned()));
        words.extend(difference.status.iter().map(|status| format!("as {status}")));
        words.extend(difference.is_readable.then(|| "readable".to_owned()));
        words.extend(difference.refunds_due.map(|due| format!("due {due}")));
        words.extend(difference.refunds_made.map(|made| format!("made {made}")));
        words.join(" ")
    }

    #[test]
    fn every_case_of_a_statement() {
        let file = file();
        only(&file, &["about", "order", "row", "found", "statement", "cases", "amounts"]);
        let (mut wrong, mut names) = (Vec::new(), BTreeSet::new());
        for case in file["cases"].as_array().expect("cases") {
            only(case, &["name", "orders", "statement", "rules", "then"]);
            only(&case["then"], &["differences", "not_judged"]);
            let name = case["name"].as_str().expect("a name");
            assert!(names.insert(name), "two cases have the name {name}");
            let rows = case["statement"].as_array().expect("rows").iter().enumerate().map(|(index, row)| {
                let mut row = merged(&file["statement"], row);
                row["line"] = json!(index + 2);
                read::<StatementRow>(&row, name)
            });
            let rows: Vec<StatementRow> = rows.collect();
            let rules = case.get("rules").map(|rules| read(rules, name)).unwrap_or_default();
            let mut comparison = Comparison::new(&rows, rules);
            for order in case["orders"].as_array().expect("orders") {
                let mut members = order.clone();
                let payments = members.as_object_mut().and_then(|members| members.remove("rows")).expect("rows");
                comparison.add(&order_of(&file, &members, &payments, name));
            }
            let compared = comparison.end();
            let differences: Vec<String> = compared.differences.iter().map(line_of).collect();
            let not_judged: Vec<String> =
                compared.not_judged.iter().map(|one| format!("{} {}", one.line, word(one.why))).collect();
            let is = json!({"differences": differences, "not_judged": not_judged});
            if is != case["then"] {
                wrong.push(format!("{name}:\n  is     {is}\n  should {}", case["then"]));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_amount_of_a_statement() {
        let mut wrong = Vec::new();
        for case in file()["amounts"].as_array().expect("amounts") {
            only(case, &["text", "currency", "unit", "then"]);
            let text = case["text"].as_str().expect("a text");
            let currency = Currency::new(case["currency"].as_str().expect("a currency")).expect("a currency");
            let unit: AmountUnit = read(&case["unit"], text);
            let is = unit.read(text, &currency).map_or_else(word, |amount| amount.to_string());
            if case["then"] != is {
                wrong.push(format!("{case} is {is}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
