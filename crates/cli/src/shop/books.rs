//! `guichet shop orders`, `refunds`, `mismatches` and `day`: what a bookkeeper looks at, and what a person decides.
//! Who did what, when and why stays in the order's history.

use super::args::{DecisionArgs, FileArgs, ListArgs};
use super::config::Config;
use super::utc_offset::{UtcOffset, parse_date};
use super::{open, restore};
use clap::{ArgGroup, Args, Subcommand};
use guichet::native::ledger::{
    Day, MethodSum, Mismatch, MismatchReason, Money, Order, OrderState, Resolve, Restore, Store, Verdict,
};
use guichet::shop::ledger::{DAY, for_each_order, mismatches as mismatches_of, refunds as refunds_of};
use guichet::values::{Amount, Moment, printable};
use guichet_orders::AnyOrders;
use jiff::civil::Date;
use serde_json::{Value, json};
use std::error::Error;

#[derive(Subcommand)]
pub(super) enum OrdersCommand {
    /// List every order: its state, what it cost, what paid it.
    List {
        /// Only orders in this state. A person decides about `paid_other_sum` and `paid_after_end`.
        #[arg(long, value_parser = parse_state)]
        state: Option<OrderState>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Show one order: its payments, what the service has of each, and what was decided.
    Show {
        /// The order's name.
        name: String,
        #[command(flatten)]
        list: ListArgs,
    },
}

#[derive(Subcommand)]
pub(super) enum RefundsCommand {
    /// List what is to be given back.
    List(ListArgs),
    /// Say that a payment's money was given back. Make the refund at the payment company first: this moves no money.
    Done {
        /// The service's id of the payment.
        id: String,
        /// The attempt, if refunds of several are due.
        #[arg(long, value_name = "ATTEMPT")]
        attempt: Option<String>,
        #[command(flatten)]
        decision: DecisionArgs,
    },
}

#[derive(Subcommand)]
pub(super) enum MismatchesCommand {
    /// List the payments that are not what was sent, those that cannot be read, and those that have paid an order with
    /// another sum or after its end.
    List(ListArgs),
    /// Decide about one of them, after a look at the payment company.
    #[command(group = ArgGroup::new("verdict").required(true).args(["ended", "paid", "accept", "given_back"]))]
    Resolve {
        /// The payment's reference.
        reference: String,
        /// The service's id of the payment, if the service has it.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// It will not be paid. Cancel it at the payment company first: a customer may still have its page.
        #[arg(long)]
        ended: bool,
        /// This sum was paid with it, in the smallest unit of the order's currency.
        #[arg(long, value_name = "AMOUNT", requires = "confirm", requires = "id", value_parser = Amount::of_request)]
        paid: Option<Amount>,
        /// The same sum once more.
        #[arg(long, value_name = "AMOUNT", value_parser = Amount::of_request)]
        confirm: Option<Amount>,
        /// It has paid the order with another sum, or after its end: the sum is accepted, and the order is delivered.
        #[arg(long, requires = "id")]
        accept: bool,
        /// It has paid the order with another sum, or after its end: the whole payment was given back, with what was
        /// paid besides with it. Make the refund at the payment company first: this moves no money.
        #[arg(long, requires = "id")]
        given_back: bool,
        #[command(flatten)]
        decision: DecisionArgs,
    },
}

#[derive(Args)]
pub(super) struct DayArgs {
    /// Which day. Without it, today by the ledger's clock if a key is at hand, and else by the store's.
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = parse_date)]
    date: Option<Date>,
    /// How far the day's clock is ahead of UTC, such as +01:00 in Cameroon.
    #[arg(long, value_name = "OFFSET", default_value_t, allow_hyphen_values = true)]
    utc_offset: UtcOffset,
    #[command(flatten)]
    list: ListArgs,
}

pub(super) async fn orders(command: OrdersCommand) -> Result<(), Box<dyn Error>> {
    match command {
        OrdersCommand::List { state, list } => {
            let mut rows = Vec::new();
            let books = Books::open(&list.file).await?;
            for_each_order(&books.orders, |order| {
                if state.is_none_or(|state| order.changed().state == state) {
                    rows.push(of_order(order));
                }
            })
            .await?;
            print(list.json, "orders", rows, None, "There is no order.", |row| {
                let [name, state, paid_by] = ["name", "state", "paid_by"].map(|member| text(&row[member]));
                format!("{name}  {state}  {}  {paid_by}{}", money(&row["asked"]), paid_of(row))
            });
            Ok(())
        }
        OrdersCommand::Show { name, list } => {
            let Books { orders, .. } = Books::open(&list.file).await?;
            let order = orders.order(&name).await?.ok_or("There is no order of this name.")?;
            let waits = !orders.events(Some(&name)).await?.is_empty();
            show(&order, waits, list.json);
            Ok(())
        }
    }
}

pub(super) async fn refunds(command: RefundsCommand) -> Result<(), Box<dyn Error>> {
    match command {
        RefundsCommand::List(list) => {
            let mut rows = Vec::new();
            let books = Books::open(&list.file).await?;
            for_each_order(&books.orders, |order| rows.extend(refunds_of(order).iter().map(|due| json!(due)))).await?;
            let restores = books.open_restores().await?;
            print(list.json, "refunds", rows, Some(&restores), "No refund is due.", |row| {
                let fee = if row["plus_fee"] == json!(true) { " and the fee" } else { "" };
                format!("{}  {}{fee}  of {}{}", text(&row["order"]), money(row), text(&row["id"]), attempt_of(row))
            });
            Ok(())
        }
        RefundsCommand::Done { id, attempt, decision } => {
            const SEVERAL: &str =
                "Several refunds of this payment are due. Name one: --attempt, as `refunds list` shows it.";
            let books = Books::open(&decision.file).await?;
            let found = books.find(&id, |order| {
                let (payment, _) = order.all_found().find(|(_, found)| found.id == id)?;
                Some((payment.reference.clone(), order.refunds_due()))
            });
            let found = found.await?.ok_or("No order has a payment with this id: see `refunds list`.")?;
            let (name, (reference, mut due)) = found;
            due.retain(|due| due.key.id == id && (attempt.is_none() || due.key.attempt == attempt));
            let attempt = match &*due {
                [] => return Err("No such refund of this payment is due: see `refunds list`.".into()),
                [due] => due.key.attempt.clone(),
                _ => return Err(SEVERAL.into()),
            };
            let resolve = Decided { reference, id: Some(id), attempt, verdict: Verdict::Refunded };
            books.decide(decision, name, resolve).await
        }
    }
}

pub(super) async fn mismatches(command: MismatchesCommand) -> Result<(), Box<dyn Error>> {
    match command {
        MismatchesCommand::List(list) => {
            let mut rows = Vec::new();
            let books = Books::open(&list.file).await?;
            let now = books.now().await?;
            for_each_order(&books.orders, |order| {
                rows.extend(mismatches_of(order, now).iter().map(|mismatch| json!(mismatch)));
            })
            .await?;
            let restores = books.open_restores().await?;
            print(list.json, "mismatches", rows, Some(&restores), "Nothing is to be decided.", |row| {
                let id = row["id"].as_str().map(|id| format!(" ({})", printable(id))).unwrap_or_default();
                format!(
                    "{}  {}{id}  {}  {}",
                    text(&row["order"]),
                    text(&row["reference"]),
                    money(&row["sum"]),
                    text(&row["why"])
                )
            });
            Ok(())
        }
        MismatchesCommand::Resolve { reference, id, ended: _, paid, confirm, accept, given_back, decision } => {
            if paid != confirm {
                return Err("--paid and --confirm name two sums. Nothing was decided.".into());
            }
            let books = Books::open(&decision.file).await?;
            let now = books.now().await?;
            let listed = |order: &Order| {
                let mut listed = mismatches_of(order, now);
                listed.retain(|mismatch| mismatch.reference == reference);
                order.payment(&reference).is_some().then_some(listed)
            };
            let found = books.find(&reference, listed).await?;
            let (name, listed) = found.ok_or("No order has a payment of this reference: see `mismatches list`.")?;
            if listed.is_empty() {
                return Err(
                    "Nothing is to be decided about this payment: see `mismatches list`. Nothing was changed.".into()
                );
            }
            // Of a payment that the service is not known to have, a person may know the id.
            let is_it = |one: &&Mismatch| one.id == id || one.id.is_none();
            let mismatch = listed.iter().find(is_it).ok_or(
                "Nothing is to be decided about a payment with this reference and this id. Name both as \
                 `mismatches list` shows them.",
            )?;
            let verdict = match paid {
                Some(amount) => Verdict::Paid(Money { amount, currency: mismatch.sum.currency.clone() }),
                None if accept => Verdict::Accepted,
                None if given_back => Verdict::Refunded,
                None => Verdict::Ended,
            };
            if !is_decided_so(mismatch.why, &verdict) {
                let forms = if has_paid(mismatch.why) { "--accept or --given-back" } else { "--ended or --paid" };
                let why = text(&json!(mismatch.why));
                return Err(format!("The payment {why}. Decide it by {forms}. Nothing was changed.").into());
            }
            books.decide(decision, name, Decided { reference, id, attempt: None, verdict }).await
        }
    }
}

/// Whether it has paid its order, so that a person accepts it or gives it back.
pub(super) const fn has_paid(why: MismatchReason) -> bool {
    matches!(why, MismatchReason::OtherSum | MismatchReason::AfterEnd)
}

/// Whether a person decides so about what is listed for this reason.
pub(super) const fn is_decided_so(why: MismatchReason, verdict: &Verdict) -> bool {
    has_paid(why) == matches!(verdict, Verdict::Accepted | Verdict::Refunded)
}

pub(super) async fn day(DayArgs { date, utc_offset, list }: DayArgs) -> Result<(), Box<dyn Error>> {
    let books = Books::open(&list.file).await?;
    let (date, from) = utc_offset.day(date, books.now().await?)?;
    let mut day = Day::default();
    for_each_order(&books.orders, |order| day.add(order, from, from + DAY)).await?;
    if list.json {
        let mut shown = json!(day);
        shown["date"] = json!(date.to_string());
        shown["utc_offset"] = json!(utc_offset.to_string());
        println!("{shown}");
        return Ok(());
    }
    println!("{date}, UTC{utc_offset}");
    if day == Day::default() {
        println!("Nothing was paid.");
    }
    for (what, sums) in [("paid", &day.paid), ("paid besides, to be given back", &day.besides)] {
        for MethodSum { method, currency, count, total } in sums {
            let method = printable(method.as_deref().unwrap_or("method not known"));
            let total = total.map_or_else(|| "not known".to_owned(), |total| total.in_currency(currency));
            println!(
                "{what}  {method}  {}  {count} {}",
                printable(total),
                if *count == 1 { "payment" } else { "payments" }
            );
        }
    }
    if !day.besides.is_empty() {
        println!("What came in is both together.");
    }
    Ok(())
}

fn parse_state(text: &str) -> Result<OrderState, String> {
    serde_json::from_value(json!(text)).map_err(|error| error.to_string())
}

/// What was decided about a payment.
struct Decided {
    reference: String,
    id: Option<String>,
    attempt: Option<String>,
    verdict: Verdict,
}

/// The settings, and the orders.
struct Books {
    config: Config,
    orders: AnyOrders,
}

impl Books {
    async fn open(file: &FileArgs) -> Result<Self, Box<dyn Error>> {
        let config = Config::read(&file.config)?;
        let orders = open::orders_beside(&config).await?;
        Ok(Self { config, orders })
    }

    /// The time by which the page lists and decides, too: the ledger's if a key is at hand, and else the store's.
    async fn now(&self) -> Result<i64, Box<dyn Error>> {
        let Ok(service) = open::Service::of(&self.config) else { return Ok(self.orders.now().await?) };
        let client = service.client(&self.config)?;
        Ok(open::ledger(&self.config, client, self.orders.clone())?.now().await?)
    }

    async fn open_restores(&self) -> Result<Vec<Restore>, Box<dyn Error>> {
        Ok(self.orders.shared().await?.open_restores().cloned().collect())
    }

    /// Finds an order by the reference of a payment or the service's id of it. Returns its name, and what `pick` takes
    /// from the order.
    async fn find<T>(
        &self,
        payment: &str,
        pick: impl Fn(&Order) -> Option<T>,
    ) -> Result<Option<(String, T)>, Box<dyn Error>> {
        for name in self.orders.find(payment).await? {
            if let Some(picked) = self.orders.order(&name).await?.as_ref().and_then(&pick) {
                return Ok(Some((name, picked)));
            }
        }
        Ok(None)
    }

    /// Stores what a person has decided, and delivers to the application what the order has become.
    async fn decide(
        self,
        DecisionArgs { by: who, note: why, .. }: DecisionArgs,
        name: String,
        Decided { reference, id, attempt, verdict }: Decided,
    ) -> Result<(), Box<dyn Error>> {
        let Self { config, orders } = self;
        let (ledger, seller) = open::ledger_beside(&config, orders)?;
        ledger.resolve(&seller, &name, Resolve { reference, id, attempt, verdict, who, why }).await?;
        println!("It is stored in the history of {}.", printable(&name));
        Ok(())
    }
}

/// What a list says of an order.
fn of_order(order: &Order) -> Value {
    let changed = order.changed();
    let (paid_by, paid) = changed.paid_by.map(|paid| (paid.reference, paid.sum)).unzip();
    json!({
        "name": order.name, "state": changed.state, "asked": order.asked, "paid_by": paid_by, "paid": paid,
        "payments": order.payments.len(), "refunds_due": changed.refunds_due.len(),
    })
}

/// An order without what identifies its customer.
fn show(order: &Order, waits: bool, is_json: bool) {
    let mut shown = of_order(order);
    let payments = order.payments.iter().map(|payment| {
        let found = payment.found.iter().map(|found| {
            json!({
                "id": found.id, "payment_ref": found.payment_ref, "state": found.state, "status": found.status.as_str(),
                "read_at": found.asked_at, "decided": found.decided, "duplicates": found.duplicates,
            })
        });
        json!({
            "reference": payment.reference, "state": payment.state(), "created_at": payment.created_at, "sum": payment.body.sum(),
            "sends": payment.sends.len(), "found": found.collect::<Vec<_>>(),
        })
    });
    shown["payments"] = payments.collect();
    shown["refunds_due"] = json!(order.refunds_due());
    shown["history"] = json!(order.entries);
    shown["delivered"] = json!(!waits);
    if is_json {
        return println!("{shown}");
    }
    let asked = money(&shown["asked"]);
    println!("{}  {}  {asked}{}", printable(&order.name), text(&shown["state"]), paid_of(&shown));
    for payment in shown["payments"].as_array().into_iter().flatten() {
        let created_at = at(&payment["created_at"]);
        println!(
            "  {created_at}  {}  {}  {}",
            text(&payment["reference"]),
            text(&payment["state"]),
            money(&payment["sum"])
        );
        for found in payment["found"].as_array().into_iter().flatten() {
            // What a person has decided, and what only the reply to a creation has shown, was not read.
            let read = Some(&found["read_at"]).filter(|at| at.is_i64());
            let read = read.map(|read_at| format!(", as read at {}", at(read_at))).unwrap_or_default();
            println!("    {}  {}{read}", text(&found["id"]), text(&found["status"]));
        }
    }
    for due in shown["refunds_due"].as_array().into_iter().flatten() {
        println!("  A refund is due: {}, of {}{}", money(due), text(&due["id"]), attempt_of(due));
    }
    for entry in &order.entries {
        let who = entry.who.as_deref().unwrap_or("the service");
        println!(
            "  {}  {}: {} ({})",
            at(&json!(entry.at)),
            printable(who),
            printable(&entry.what),
            printable(&entry.reference)
        );
    }
    if waits {
        println!("  The application has not received what it has become.");
    }
}

/// Prints rows, and the open restores of a list in which they may lack something.
fn print(
    is_json: bool,
    name: &str,
    rows: Vec<Value>,
    restores: Option<&[Restore]>,
    nothing: &str,
    line: impl Fn(&Value) -> String,
) {
    if is_json {
        let mut shown = json!({name: rows});
        if let Some(restores) = restores {
            shown["restores"] = json!(restores);
        }
        return println!("{shown}");
    }
    for restore in restores.unwrap_or_default() {
        println!(
            "{}: refunds and decisions noted in that time are forgotten. Look at the payment company before you give \
             anything back; compare a statement, then `guichet shop restore close`.",
            restore::span(restore)
        );
    }
    if rows.is_empty() {
        println!("{nothing}");
    } else {
        rows.iter().for_each(|row| println!("{}", line(row)));
    }
}

/// The sum that has paid an order.
fn paid_of(order: &Value) -> String {
    if order["paid"].is_null() { String::new() } else { format!("  paid {}", money(&order["paid"])) }
}

fn attempt_of(refund: &Value) -> String {
    refund["attempt"].as_str().map(|attempt| format!(", attempt {}", printable(attempt))).unwrap_or_default()
}

fn text(value: &Value) -> String {
    printable(value.as_str().unwrap_or("-")).to_string()
}

fn money(value: &Value) -> String {
    let amount = value["amount"].as_str().and_then(|amount| amount.parse::<Amount>().ok());
    amount.map_or_else(|| "-".to_owned(), |amount| amount.in_currency(value["currency"].as_str().unwrap_or_default()))
}

fn at(value: &Value) -> String {
    value.as_i64().map_or_else(|| "-".to_owned(), |at| Moment::from_unix(at).to_string())
}
