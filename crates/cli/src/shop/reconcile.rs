//! `guichet shop reconcile`: compares a payment company's statement with the orders. The comparison is the ledger's;
//! [`statement`] reads the file.

mod statement;

use super::args::FileArgs;
use super::config::Config;
use super::open;
use super::utc_offset::UtcOffset;
use crate::failure::Failure;
use crate::show;
use clap::{Args, ValueEnum};
use guichet::native::ledger::{
    AmountUnit, Compared, Comparison, Difference, DifferenceKind, Money, StatementRules, Store, WhyNotJudged,
};
use guichet::shop::ledger::{FoundState, Payment, State, for_each_order};
use guichet::values::{Moment, printable};
use guichet_orders::AnyOrders;
use serde::Serialize;
use serde_json::{Value, json};
use statement::{Column, DateAt, Dates, Statement, Written, column, date};
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// The exit code if there are differences, or rows that could not be judged.
const DIFFERS: u8 = 3;
/// What to do about a payment that is paid there, and whose creation got no reply here.
const NO_ID: &str = "One that has no id here cannot be read: look at it at the payment company, then decide by \
                     `guichet shop mismatches resolve`.";
/// What to do about a payment that has our reference, and another id than ours.
const OUR_REFERENCE: &str = "One that names ids here has the reference of our order and another id: it was created \
                             twice. Look at all of them at the payment company, and give back what is paid besides.";
/// The pause between two lines that say how far the readings are.
const PROGRESS: Duration = Duration::from_secs(2);

const AFTER: &str = "\
Columns are found by their headings, without case, spaces, `_` and `-`:
  id          id, payment_id, transaction_id: the service's id, or its public reference
  reference   reference, merchant_reference, merchant_ref, external_reference, external_ref, external_id: the one
              that the shop has sent
  amount, currency
  status      without it, each row counts as paid
  date        date, created_at
An id or a reference, the amount and the currency are required. --column names another heading. Columns that are not
read are named.

Fields are separated by commas, semicolons or tabs, and the text is UTF-8. Amounts are in the smallest unit, unless
--amounts says otherwise. `45 000` and `1,234,567` are read for a currency without decimals; what could mean two
amounts, such as `45,000`, is not judged.

Rows are in the order of time: of several rows of a payment the last one counts, so that a payment that was reversed
after it was paid is a difference. If the file has ids of ours, an id that is not known here is that of another
payment, also if it has our reference.

A payment that is paid here and has no row is a difference if it may have been paid between --from and --to, or else
between the first and the last date of the file. Dates are RFC 3339 or YYYY-MM-DD; those of the file may also be
DD/MM/YYYY, DD/MM/YYYY HH:MM or DD/MM/YYYY HH:MM:SS, if one of them shows that the day is first. One without an offset
is in UTC, unless --utc-offset says otherwise. If neither the file nor --from and --to show the span, what is paid
here and not there is not judged.

Nothing is changed without --apply, which reads each payment anew that is paid there and not here, and then compares
once more.

Exit codes: 0 no difference; 1 an error; 2 invalid arguments; 3 differences, or rows that could not be judged, or no
span. With --apply, a payment that the reading has shown as paid is no difference any more.";

#[derive(Args)]
#[command(after_long_help = AFTER)]
pub(super) struct ReconcileArgs {
    /// The statement, as CSV.
    #[arg(value_name = "FILE")]
    statement: Option<PathBuf>,
    #[command(flatten)]
    file: FileArgs,
    /// The heading of a column: of id, reference, amount, currency, status or date. May be given for each.
    #[arg(long = "column", value_name = "NAME=HEADING", value_parser = column)]
    columns: Vec<(Column, String)>,
    /// The unit of the amounts.
    #[arg(long, value_enum, default_value_t = Amounts::Minor)]
    amounts: Amounts,
    /// One more status that means paid, besides succeeded, success, successful, completed and paid. May be repeated.
    #[arg(long = "paid-word", value_name = "WORD")]
    paid_words: Vec<String>,
    /// When the statement begins.
    #[arg(long, value_name = "DATE", value_parser = date)]
    from: Option<Written>,
    /// When the statement ends; a day counts whole.
    #[arg(long, value_name = "DATE", value_parser = date)]
    to: Option<Written>,
    /// How far the clock of dates without an offset is ahead of UTC, such as +01:00 in Cameroon.
    #[arg(long, value_name = "OFFSET", default_value_t, allow_hyphen_values = true)]
    utc_offset: UtcOffset,
    /// Read anew each payment that is paid there and not here. The application receives what its orders become.
    #[arg(long)]
    apply: bool,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

/// The unit of a statement's amounts.
#[derive(Clone, Copy, ValueEnum)]
enum Amounts {
    /// The smallest unit: 4500 for 45.00 USD.
    Minor,
    /// The currency itself: 45.00 for 45.00 USD.
    Major,
}

/// What a payment has become that was read anew.
#[derive(Serialize)]
struct Reread {
    order: String,
    reference: String,
    /// The service's id, of the ledger or of the statement.
    id: Option<String>,
    is_paid: bool,
    /// What the payment is now.
    state: Option<State>,
    /// Whether the application has received every event of the order.
    is_received: bool,
    /// Why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) async fn reconcile(args: ReconcileArgs) -> Result<(), Failure> {
    match run(args).await? {
        true => Ok(()),
        false => Err(Failure::Message(DIFFERS, String::new())),
    }
}

/// Compares, and prints the result. Returns whether there is no difference, and all was judged.
async fn run(args: ReconcileArgs) -> Result<bool, Box<dyn Error>> {
    let ReconcileArgs { statement, file, columns, amounts, paid_words, from, to, utc_offset, apply, json } = args;
    let path = statement.ok_or(
        "Missing FILE. The service's document has no list of payments to compare with: export a statement as CSV from \
         the payment company, and name its file.",
    )?;
    let seconds = |date: Option<Written>| {
        date.map(|date| date.seconds(utc_offset).ok_or("--from or --to is out of range.")).transpose()
    };
    let (from, to) = (seconds(from)?.map(|(first, _)| first), seconds(to)?.map(|(_, last)| last));
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return Err("--from is later than --to.".into());
    }
    let statement = Statement::open(&path, &columns, utc_offset)?;
    let span = span(from, to, &statement.dates);
    let unit = match amounts {
        Amounts::Minor => AmountUnit::Minor,
        Amounts::Major => AmountUnit::Major,
    };
    let rules = StatementRules { unit, paid_words, span };
    let config = Config::read(&file.config)?;
    let orders = open::orders_beside(&config).await?;
    let mut compared = compare(&statement, rules.clone(), &orders).await?;
    let reread = if apply { Some(read_anew(&config, orders.clone(), &compared).await?) } else { None };
    if reread.iter().flatten().next().is_some() {
        // What has become paid is no difference any more, and its order may be paid twice now.
        compared = compare(&statement, rules, &orders).await?;
    }
    let report = Report { compared: &compared, statement: &statement, span, utc_offset, reread: reread.as_deref() };
    let text = if json { report.json().to_string() } else { report.text() };
    show::raw(text.as_bytes()).map_err(|_| "The result cannot be written.")?;
    Ok(report.has_nothing())
}

/// Compares a statement with the orders as they are now.
async fn compare(statement: &Statement, rules: StatementRules, orders: &AnyOrders) -> Result<Compared, Box<dyn Error>> {
    let mut comparison = Comparison::new(&statement.rows, rules);
    for_each_order(orders, |order| comparison.add(order)).await?;
    let mut compared = comparison.end();
    compared.rows += statement.not_judged.len();
    compared.not_judged.extend(&statement.not_judged);
    compared.not_judged.sort_by_key(|one| (one.line, one.why));
    Ok(compared)
}

/// The first and the last second that the statement covers: as they are named, or else as the file's dates have them.
fn span(from: Option<i64>, to: Option<i64>, dates: &Dates) -> Option<(i64, i64)> {
    let (first, last) = match dates {
        Dates::Span(first, last) => (Some(*first), Some(*last)),
        Dates::None | Dates::Unreadable(_) | Dates::Ambiguous(_) => (None, None),
    };
    from.or(first).zip(to.or(last))
}

/// Reads each payment anew that is paid there and not here, and delivers to the application what its order becomes.
async fn read_anew(config: &Config, orders: AnyOrders, compared: &Compared) -> Result<Vec<Reread>, Box<dyn Error>> {
    let is_read = |difference: &&Difference| difference.kind == DifferenceKind::PaidThere && difference.is_readable;
    let to_read = compared.differences.iter().filter(is_read);
    let names: BTreeSet<&String> = to_read.clone().filter_map(|difference| difference.order.as_ref()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let (ledger, seller) = open::ledger_beside(config, orders.clone())?;
    if !ledger.is_of_its_environment().await? {
        return Err("`database` has the payments of another environment than this key. Nothing was read.".into());
    }
    let (mut reread, mut shown_at) = (Vec::new(), Instant::now());
    for (index, name) in names.iter().enumerate() {
        if shown_at.elapsed() >= PROGRESS {
            eprintln!("guichet: {index} of {} orders were read", names.len());
            shown_at = Instant::now();
        }
        let error = ledger.settle(&seller, name).await.err().map(|refused| refused.to_string());
        let order = orders.order(name).await?;
        let is_received = orders.events(Some(name)).await?.is_empty();
        for difference in to_read.clone().filter(|difference| difference.order.as_ref() == Some(name)) {
            let Difference { reference, id, .. } = difference;
            let payment = order.as_ref().and_then(|order| order.payment(reference));
            let is_paid = payment.is_some_and(|payment| is_paid(payment, id.as_deref()));
            reread.push(Reread {
                order: (*name).clone(),
                reference: reference.clone(),
                id: id.clone(),
                is_paid,
                state: payment.map(Payment::state),
                is_received,
                error: error.clone().filter(|_| !is_paid),
            });
        }
    }
    Ok(reread)
}

/// Whether a payment is paid: what the service has of it by this id, or else any.
fn is_paid(payment: &Payment, id: Option<&str>) -> bool {
    match payment.found.iter().find(|found| Some(&*found.id) == id) {
        Some(found) => matches!(found.state, FoundState::Paid { .. }),
        None => payment.state() == State::Paid,
    }
}

/// What is printed.
struct Report<'a> {
    compared: &'a Compared,
    statement: &'a Statement,
    span: Option<(i64, i64)>,
    utc_offset: UtcOffset,
    reread: Option<&'a [Reread]>,
}

impl Report<'_> {
    /// Whether there is no difference, and all was judged.
    fn has_nothing(&self) -> bool {
        self.compared.differences.is_empty() && self.compared.not_judged.is_empty() && self.span.is_some()
    }

    fn json(&self) -> Value {
        let mut all = json!(self.compared);
        all["span"] = json!(self.span.map(|(from, to)| json!({"from": self.bound(from), "to": self.bound(to)})));
        all["columns_not_read"] = json!(self.statement.not_read);
        if let Some(reread) = self.reread {
            all["read"] = json!(reread);
        }
        all
    }

    /// Each difference by its kind with what to do, what could not be judged, and a summary.
    fn text(&self) -> String {
        let Compared { differences, not_judged, other_words, orders, rows, paid_rows } = self.compared;
        let mut text = String::new();
        for group in differences.chunk_by(|one, other| one.kind == other.kind) {
            let (title, to_do) = heading(group[0].kind);
            text += &format!("{title}: {}\n  {to_do}\n", group.len());
            if group.iter().any(|difference| difference.kind == DifferenceKind::PaidThere && !difference.is_readable) {
                text += &format!("  {NO_ID}\n");
            }
            if group.iter().any(|difference| !difference.our_ids.is_empty()) {
                text += &format!("  {OUR_REFERENCE}\n");
            }
            for difference in group {
                text += &format!("  {}\n", line(difference));
            }
            text.push('\n');
        }
        if !not_judged.is_empty() {
            text += &format!("Not judged: {}\n", not_judged.len());
            for one in not_judged {
                text += &format!("  line {}  {}\n", one.line, cause(one.why));
            }
            text.push('\n');
        }
        if let Some(reread) = self.reread {
            text += &read_lines(reread);
        }
        if !self.statement.not_read.is_empty() {
            let headings: Vec<String> =
                self.statement.not_read.iter().map(|name| printable(name).to_string()).collect();
            text += &format!("Not read: the columns {}.\n", headings.join(", "));
        }
        if !other_words.is_empty() {
            let words = other_words.iter().map(|(word, rows)| format!("{} ({rows})", printable(word)));
            let words = words.collect::<Vec<_>>().join(", ");
            text += &format!("These words count as not paid: {words}. If one means paid, add it: --paid-word WORD.\n");
        }
        text += &format!("What is paid here and not there was {}\n", self.what_was_looked_for());
        let result = match (differences.len(), not_judged.len()) {
            _ if self.has_nothing() => "no difference".to_owned(),
            (1, not_judged) => format!("1 difference, {not_judged} not judged"),
            (differences, not_judged) => format!("{differences} differences, {not_judged} not judged"),
        };
        let no_span = if self.span.is_none() { ", and no span" } else { "" };
        text + &format!("{rows} rows, {paid_rows} of them paid, against {orders} orders: {result}{no_span}.")
    }

    /// In which span what is paid here and not there was looked for, or why not.
    fn what_was_looked_for(&self) -> String {
        let why = match (self.span, &self.statement.dates) {
            (Some((from, to)), _) => return format!("looked for from {} to {}.", self.bound(from), self.bound(to)),
            (None, Dates::Unreadable(DateAt { line, text })) => {
                format!("line {line} has the date {}", printable(text))
            }
            (None, Dates::Ambiguous(DateAt { line, text })) => format!(
                "the date {} in line {line} may have its day or its month first, and no other date shows which",
                printable(text)
            ),
            (None, _) => "the statement has no dates".to_owned(),
        };
        format!("not judged: {why}. Name the span: --from and --to.")
    }

    /// An end of the span, by the clock of the statement.
    fn bound(&self, seconds: i64) -> String {
        match self.utc_offset.at(seconds) {
            Ok(at) if self.utc_offset != UtcOffset::default() => format!("{at}{}", self.utc_offset),
            _ => Moment::from_unix(seconds).to_string(),
        }
    }
}

/// The title of a kind, and what to do.
fn heading(kind: DifferenceKind) -> (&'static str, &'static str) {
    match kind {
        DifferenceKind::PaidThere => ("Paid there and not here", "Read them anew with --apply."),
        DifferenceKind::UnknownHere => (
            "Paid there, and unknown here",
            "Another system with the same account has sold it, or the ledger was restored and has no such order: then \
             let its customer open the order again before `guichet shop restore close`; it is then named in `guichet \
             shop mismatches list`. Never charge for it again.",
        ),
        DifferenceKind::PaidHere => (
            "Paid here and not there",
            "Ask the payment company about each. At the ends of the span, look first into the statement before or \
             after this one.",
        ),
        DifferenceKind::OtherSum => (
            "Paid with another sum",
            "Look at each at the payment company. Give back what is too much; ask the customer for what is missing.",
        ),
        DifferenceKind::Double => (
            "Paid more than once",
            "Give one back at the payment company, then `guichet shop refunds done`. If no refund is due or made here, \
             look first whether the statement has one payment twice.",
        ),
    }
}

/// A difference in one line.
fn line(difference: &Difference) -> String {
    let Difference { kind, lines, order, reference, id, there, here, status, .. } = difference;
    let mut line = match &**lines {
        [] => "no line".to_owned(),
        [one] => format!("line {one}"),
        all => format!("lines {}", all.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    };
    let reference = Some(reference).filter(|reference| !reference.is_empty() && order.as_ref() != Some(reference));
    for name in order.iter().chain(reference).chain(id) {
        let _ = write!(line, "  {}", printable(name));
    }
    let fee = if difference.plus_fee { " and a fee" } else { "" };
    let expected = || format!("{}{fee}", here.iter().map(money).collect::<Vec<_>>().join(" or "));
    let sum = || there.as_ref().map_or_else(|| "-".to_owned(), money);
    line += "  ";
    line += &match kind {
        DifferenceKind::PaidThere if !difference.is_readable => format!("{}  has no id here", sum()),
        DifferenceKind::UnknownHere if !difference.our_ids.is_empty() => {
            let ids: Vec<String> = difference.our_ids.iter().map(|id| printable(id).to_string()).collect();
            format!("{}  here: {}", sum(), ids.join(", "))
        }
        DifferenceKind::PaidThere | DifferenceKind::UnknownHere => sum(),
        DifferenceKind::PaidHere => match status {
            Some(status) => format!("{}  there: {}", expected(), printable(status)),
            None => expected(),
        },
        DifferenceKind::OtherSum => format!("there {}, here {}", sum(), expected()),
        DifferenceKind::Double => match (difference.refunds_due, difference.refunds_made) {
            (Some(due), Some(made)) => format!("refunds here: {due} due, {made} made"),
            _ => "unknown here".to_owned(),
        },
    };
    line
}

/// Why a row was not judged, and what to do.
fn cause(why: WhyNotJudged) -> &'static str {
    match why {
        WhyNotJudged::Columns => "It has more or fewer columns than the heading.",
        WhyNotJudged::NoName => "It has neither an id nor a reference.",
        WhyNotJudged::TwoPayments => {
            "Its id and its reference are those of two payments here. It was compared by its id."
        }
        WhyNotJudged::NoStatus => "Its status is empty.",
        WhyNotJudged::Currency => "Its currency is no code of three letters, such as XAF.",
        WhyNotJudged::NoNumber => "Its amount is no number.",
        WhyNotJudged::Negative => "Its amount is less than zero: compare a refund by hand.",
        WhyNotJudged::Separator => {
            "A separator in its amount may mean thousands or decimals: write the amount without."
        }
        WhyNotJudged::Decimals => {
            "Its amount has decimals that its unit does not have. If it is in the currency itself: --amounts major."
        }
        WhyNotJudged::UnknownUnit => {
            "The decimals of its currency are not known: write the amount in the smallest unit."
        }
    }
}

/// What the readings have brought.
fn read_lines(reread: &[Reread]) -> String {
    if reread.is_empty() {
        return "Nothing was read anew.\n\n".to_owned();
    }
    let mut text = format!("Read anew: {}\n", reread.len());
    for Reread { order, reference, id, is_paid, state, is_received, error } in reread {
        let names = [Some(order), Some(reference).filter(|reference| *reference != order), id.as_ref()];
        let names = names.into_iter().flatten().map(|name| printable(name).to_string()).collect::<Vec<_>>().join("  ");
        let state = match (is_paid, is_received, error) {
            (true, true, _) => "is paid; the application has received it".to_owned(),
            (true, false, _) => {
                "is paid; the application has not received it yet, and the process sends it again".to_owned()
            }
            (false, _, None) if *state == Some(State::Different) => {
                "is not what was sent: decide by `guichet shop mismatches resolve`".to_owned()
            }
            (false, _, None) => "is not paid, as the service answers now".to_owned(),
            (false, _, Some(error)) => format!("could not be read: {}", printable(error)),
        };
        text += &format!("  {names}  {state}\n");
    }
    text + "\n"
}

fn money(money: &Money) -> String {
    money.amount.in_currency(&money.currency)
}
