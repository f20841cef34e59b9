//! Prints replies for people: tables, money with its unit, and no secrets.

use super::failure::{Failure, UNREADABLE};
use comfy_table::{Table, presets};
use guichet::values::{Amount, Moment, is_plain, printable};
use indexmap::IndexMap;
use serde_json::value::RawValue;
use std::io::{IsTerminal, Write};

/// Fields that are printed as `***` without `--show-secrets`: their holder can pay, act as the customer, or use the
/// eSIM.
const SECRETS: [&str; 4] = ["activation_code", "checkout_url", "client_secret", "session_token"];
/// Amounts in the smallest unit of the `currency` beside them.
const MONEY: [&str; 6] = ["amount", "amount_payable", "balance", "fee", "price", "total_payable"];

/// Prints the service's reply as it is. At a terminal, control characters in it are escaped, so that a text cannot
/// control the terminal.
pub(super) fn reply(reply: &[u8]) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { raw(escape_for_terminal(reply).as_bytes()) } else { raw(reply) }
}

/// The same JSON with the characters that [`printable`] escapes written as JSON escapes.
fn escape_for_terminal(reply: &[u8]) -> String {
    let mut shown = String::with_capacity(reply.len());
    let text = String::from_utf8_lossy(reply).replace("\r\n", "\n");
    for c in text.chars() {
        if is_plain(c) || matches!(c, '\n' | '\t') {
            shown.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| shown.push_str(&format!("\\u{unit:04x}")));
        }
    }
    shown
}

/// Prints bytes, with a newline at the end.
pub(super) fn raw(reply: &[u8]) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let end: &[u8] = if reply.ends_with(b"\n") { b"" } else { b"\n" };
    let written = stdout.write_all(reply).and_then(|()| stdout.write_all(end)).and_then(|()| stdout.flush());
    // A closed pipe means that the reader has enough: `guichet … | head`.
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Box::<dyn std::error::Error>::from(error).into())
        }
        _ => Ok(()),
    }
}

/// The most fields of an object and rows of a list that are printed, so that a reply of many megabytes is printed in
/// bounded time.
const MAX_FIELDS: usize = 1_000;
const MAX_ROWS: usize = 10_000;
/// The most characters of a cell; an address has at most 2,048. In a list the limit is lower: read the entry itself to
/// see the rest.
const MAX_CELL: usize = 4_096;
const MAX_CELL_OF_LIST: usize = 256;
/// The most characters of a field's name.
const MAX_NAME: usize = 128;
/// The depth to which nested fields have their own row; below it they are printed as JSON.
const MAX_DEPTH: u8 = 8;

/// A table of one object: one row per field.
pub(super) fn object(data: &RawValue, secrets: bool) -> Result<String, Failure> {
    let fields = Flat::of(data).ok_or_else(unreadable)?;
    let mut table = plain();
    for (name, _) in fields.visible() {
        let text = short(&cell(fields.visible(), name, secrets), MAX_CELL);
        table.add_row([printable(name).to_string(), text]);
    }
    let table = table.trim_fmt();
    Ok(if fields.is_cut() { format!("{table}\n… The reply has more fields: --json prints it whole.") } else { table })
}

/// A table of a list: one row per entry, with these fields as columns.
pub(super) fn list(data: &RawValue, columns: &[&str], secrets: bool) -> Result<String, Failure> {
    let entries: Vec<&RawValue> = serde_json::from_str(data.get()).map_err(|_| unreadable())?;
    if entries.is_empty() {
        return Ok("None.".to_owned());
    }
    let rows = entries.iter().map(|entry| {
        let fields = Flat::of(entry).unwrap_or_default();
        columns.iter().map(|name| cell(fields.visible(), name, secrets)).collect()
    });
    Ok(grid(columns, rows))
}

/// A table with these headings and rows.
pub(super) fn grid(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = plain();
    table.set_header(headings.iter().map(|heading| heading.to_uppercase().replace(['_', '.'], " ")));
    let mut rows = rows.into_iter();
    for row in rows.by_ref().take(MAX_ROWS) {
        table.add_row(row.iter().map(|text| short(&printable(text).to_string(), MAX_CELL_OF_LIST)));
    }
    let table = table.trim_fmt();
    match rows.count() {
        0 => table,
        more => format!("{table}\n… and {more} more: --json prints them all."),
    }
}

/// Cuts a text to `most` characters.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

fn unreadable() -> Failure {
    Failure::Message(UNREADABLE, "The service's reply cannot be read. --json prints it unchanged.".into())
}

/// One field of an object, formatted for people.
fn cell(fields: &[(String, &RawValue)], name: &str, secrets: bool) -> String {
    let find = |name: &str| fields.iter().find(|(found, _)| found == name).map(|(_, value)| text(value));
    let Some(value) = find(name) else { return String::new() };
    let (parent, last) = name.rsplit_once('.').map_or(("", name), |(parent, last)| (parent, last));
    let is_secret = SECRETS.contains(&last) || name == "next_action.url";
    if is_secret && !secrets && !value.is_empty() {
        return "*** (--show-secrets)".to_owned();
    }
    let beside = |name: &str| if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    if MONEY.contains(&last)
        && let Ok(amount) = Amount::new(&value)
    {
        return printable(amount.in_currency(&find(&beside("currency")).unwrap_or_default())).to_string();
    }
    let is_a_moment = last.ends_with("_at") || last.ends_with("_end") || last.ends_with("_start");
    match value.parse() {
        Ok(unix) if is_a_moment => Moment::from_unix(unix).to_string(),
        _ => printable(value).to_string(),
    }
}

/// The fields of an object in their order. Nested fields have joined names: `customer.email`. Numbers keep the text in
/// which they were sent.
#[derive(Default)]
struct Flat<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Flat<'a> {
    /// Reads an object or a list of objects. `None` for anything else.
    fn of(data: &'a RawValue) -> Option<Self> {
        let mut flat = Self::default();
        flat.add(None, members(data)?, MAX_DEPTH);
        Some(flat)
    }

    /// Adds the members below a name. Stops when there are more than a table shows.
    fn add(&mut self, above: Option<&str>, members: Vec<(String, &'a RawValue)>, depth: u8) {
        for (name, value) in members {
            if self.is_cut() {
                return;
            }
            let name = short(&name, MAX_NAME);
            let name = above.map_or_else(|| name.clone(), |above| format!("{above}.{name}"));
            match self::members(value).filter(|members| depth > 1 && !members.is_empty()) {
                Some(members) => self.add(Some(&name), members, depth - 1),
                None => self.0.push((name, value)),
            }
        }
    }

    fn visible(&self) -> &[(String, &'a RawValue)] {
        self.0.get(..MAX_FIELDS).unwrap_or(&self.0)
    }

    fn is_cut(&self) -> bool {
        self.0.len() > MAX_FIELDS
    }
}

/// The members of an object, or the entries of a list of objects with their indexes as names.
fn members(data: &RawValue) -> Option<Vec<(String, &RawValue)>> {
    if let Ok(members) = serde_json::from_str::<IndexMap<String, &RawValue>>(data.get()) {
        return Some(members.into_iter().collect());
    }
    let entries: Vec<&RawValue> = serde_json::from_str(data.get()).ok()?;
    let objects = entries.iter().all(|entry| entry.get().starts_with('{'));
    let numbered = entries.into_iter().enumerate().map(|(number, entry)| (number.to_string(), entry));
    Some(numbered.take_while(|_| objects).collect())
}

/// A value as text: a string without quotes, a list of strings with commas, null as the empty text, anything else as
/// JSON.
fn text(value: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<Option<String>>(value.get()) {
        return text.unwrap_or_default();
    }
    serde_json::from_str::<Vec<String>>(value.get()).map_or_else(|_| value.get().to_owned(), |texts| texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_printed_in_order_without_secrets() {
        let json = r#"{"id":"pi_1","client_secret":"pi_1_secret_2","amount":"45000","currency":"XAF","fee":145.10,"created_at":1795257000,
            "next_action":{"type":"redirect","url":"https://issuer.example/#token=t"},"customer":{"email":"awa@example.com"},"metadata":{},"items":null,
            "payment_method_types":["card","mobile_money"],"refund":{"amount":"5000"},"esims":[{"iccid":"8923","activation_code":"LPA:1$x"}]}"#;
        let data: Box<RawValue> = serde_json::from_str(json).expect("JSON");
        let shown = object(&data, false).expect("a table");
        let lines: Vec<String> =
            shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            lines,
            [
                "id pi_1",
                "client_secret *** (--show-secrets)",
                "amount 45 000 XAF",
                "currency XAF",
                "fee 145.10 XAF (smallest unit)",
                "created_at 2026-11-21T10:30:00Z",
                "next_action.type redirect",
                "next_action.url *** (--show-secrets)",
                "customer.email awa@example.com",
                "metadata {}",
                "items",
                "payment_method_types card, mobile_money",
                "refund.amount 5000 (smallest unit)",
                "esims.0.iccid 8923",
                "esims.0.activation_code *** (--show-secrets)",
            ]
        );
        assert!(object(&data, true).expect("a table").contains("pi_1_secret_2"));
    }

    #[test]
    fn replies_cannot_control_the_terminal() {
        let data: Box<RawValue> = serde_json::from_str(r#"[{"name":"a\u001b[2Jb\nc"}]"#).expect("JSON");
        let shown = list(&data, &["name"], false).expect("a table");
        assert!(!shown.contains('\u{1b}') && shown.lines().count() == 2, "{shown:?}");
    }

    #[test]
    fn json_at_a_terminal_is_equal_and_escaped() {
        let json = "{\r\n\t\"name\": \"a\u{202e}b\u{9b}c\u{7f}d\\u001b e\u{e0041} été\"\r}";
        let shown = escape_for_terminal(json.as_bytes());
        assert_eq!(shown, "{\n\t\"name\": \"a\\u202eb\\u009bc\\u007fd\\u001b e\\udb40\\udc41 été\"\\u000d}");
        let read = |json: &str| {
            serde_json::from_str::<serde_json::Value>(&json.replace(['\r', '\n'], "").replace("\\u000d", ""))
        };
        assert_eq!(read(&shown).expect("JSON"), read(json).expect("JSON"));
        assert_eq!(escape_for_terminal(b"<html>\x1b[2J\xff"), "<html>\\u001b[2J\u{fffd}");
    }
}
