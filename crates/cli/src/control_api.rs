//! The commands that call a sandbox's control API: `clock`, `events`, `faults`, `handset`, `inspector`, `merchants`,
//! `operators`, `purchases`, `requests`, `reset` and `thread`.

use super::connection::variable;
use super::failure::Failure;
use super::show;
use bytes::Bytes;
use clap::{Args, Subcommand};
use guichet::native::{Environment, Transport};
use guichet::protocol::{Credential, Kind, Method, Operation, Request};
use guichet::values::{Moment, Secret, printable};
use guichet_sandbox::{ControlCall, FaultKind};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

#[derive(Args)]
pub(super) struct ClockArgs {
    #[command(subcommand)]
    command: Option<ClockCommand>,
    #[command(flatten)]
    merchant: OneMerchant,
}

#[derive(Subcommand)]
enum ClockCommand {
    /// Move it forward: 90, 90s, 15m, 2h or 30d. It never goes back. Work that becomes due, such as a charge, is done
    /// first.
    Advance {
        /// How far to move it.
        #[arg(value_parser = seconds, allow_negative_numbers = true)]
        by: u64,
    },
}

#[derive(Args)]
pub(super) struct FaultsArgs {
    #[command(subcommand)]
    command: Option<FaultsCommand>,
    #[command(flatten)]
    merchant: OneMerchant,
}

#[derive(Subcommand)]
enum FaultsCommand {
    /// List the faults that wait for a call.
    List,
    /// Make the next calls of an operation fail.
    Set {
        /// The operation: create_payment_intent. `--help` lists all of them.
        #[arg(long_help = operations())]
        operation: String,
        /// The fault. `delay`, `lost_response`, `malformed` and `truncate` execute the call, but the response is late,
        /// lost or broken. `drop` and `status` do not execute it.
        #[arg(value_parser = FaultKind::names())]
        kind: String,
        /// The number of calls.
        #[arg(long, default_value_t = 1)]
        count: u32,
        /// For `status`: the HTTP status, 400 to 599; default 503.
        #[arg(long)]
        status: Option<u16>,
        /// For `status`: the `Retry-After` header, in seconds.
        #[arg(long, value_name = "SECONDS")]
        retry_after: Option<u32>,
        /// Required for `delay`: its length, at most 600000.
        #[arg(long)]
        milliseconds: Option<u64>,
    },
    /// Remove all faults.
    Clear,
}

#[derive(Args)]
pub(super) struct OperatorsArgs {
    /// The operator: `mtn_cm` or `orange_cm`.
    code: String,
    /// How it works from now on: `operational`, `delayed` (attempts end 60 seconds later) or `closed` (it takes no
    /// payments).
    status: String,
    #[command(flatten)]
    merchant: OneMerchant,
}

#[derive(Args)]
pub(super) struct PurchasesArgs {
    /// A part of a reference, an id, an e-mail, a phone or a name.
    #[arg(long)]
    search: Option<String>,
    /// Where the page starts: after this payment's id.
    #[arg(long, value_name = "ID")]
    starting_after: Option<String>,
    #[command(flatten)]
    merchant: OneMerchant,
}

#[derive(Args)]
pub(super) struct ThreadArgs {
    /// The payment's reference or id, or `latest`.
    #[arg(default_value = "latest")]
    payment: String,
    /// The most entries, of which the newest are printed; at most 2000.
    #[arg(long)]
    limit: Option<u32>,
    #[command(flatten)]
    merchant: OneMerchant,
}

#[derive(Args)]
pub(super) struct HandsetArgs {
    /// The payment's reference or id, or `latest`.
    payment: String,
    /// What the phone decides: `approve`, `refuse`, `ignore` (the operator reports a timeout) or `approve_late` (it
    /// approves 60 seconds after that).
    decision: String,
    /// The number of the attempt; default: the newest that can be decided.
    #[arg(long)]
    attempt: Option<u32>,
    #[command(flatten)]
    merchant: OneMerchant,
}

#[derive(Args)]
pub(super) struct InspectorArgs {
    #[command(flatten)]
    control_api: ControlApi,
}

#[derive(Args)]
pub(super) struct MerchantsArgs {
    /// Its name, which the hosted checkout page shows; at most 100 characters.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    control_api: ControlApi,
}

/// The last paragraph of each command's help.
const TOKEN: &str = "\
The sandbox prints the address and the token of its control API when it starts. Set GUICHET_CONTROL_TOKEN to the token, which
is new at each start. The address comes from GUICHET_CONTROL_URL or --control-url (default: the sandbox on this machine).";

/// The help of an argument that names an operation.
fn operations() -> String {
    use guichet::operations::*;
    macro_rules! names {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC.name),*]
        };
    }
    format!("The operation: {}", guichet::every_operation!(names).join(", "))
}

/// The sandbox that a command is about.
#[derive(Args)]
#[command(after_help = TOKEN)]
struct ControlApi {
    /// The address of the control API, as the sandbox prints it; or GUICHET_CONTROL_URL.
    #[arg(long, value_name = "URL", global = true)]
    control_url: Option<String>,
    /// Print the sandbox's reply as JSON.
    #[arg(long, global = true)]
    json: bool,
}

pub(super) type EventsArgs = OneMerchant;
pub(super) type RequestsArgs = OneMerchant;
pub(super) type ResetArgs = OneMerchant;

/// The sandbox and the merchant that a command is about.
#[derive(Args)]
pub(super) struct OneMerchant {
    #[command(flatten)]
    control_api: ControlApi,
    /// The merchant; default: the first one.
    #[arg(long, value_name = "ID", global = true)]
    merchant: Option<String>,
}

pub(super) async fn clock(args: ClockArgs) -> Result<(), Failure> {
    let reply = match args.command {
        None => args.merchant.call(ControlCall::ReadClock, json!({})).await?,
        Some(ClockCommand::Advance { by }) => {
            args.merchant.call(ControlCall::AdvanceClock, json!({"advance_seconds": by})).await?
        }
    };
    args.merchant.control_api.print(&reply, |reply| moment(&reply["now"]))
}

pub(super) async fn faults(args: FaultsArgs) -> Result<(), Failure> {
    let reply = match args.command {
        None | Some(FaultsCommand::List) => args.merchant.call(ControlCall::ListFaults, json!({})).await?,
        Some(FaultsCommand::Clear) => args.merchant.call(ControlCall::ClearFaults, json!({})).await?,
        Some(FaultsCommand::Set { kind, milliseconds: None, .. }) if kind == "delay" => {
            return Err(Failure::usage("Missing option --milliseconds: a delay needs its length, at most 600000."));
        }
        Some(FaultsCommand::Set { operation, kind, count, status, retry_after, milliseconds }) => {
            let fault = json!({
                "operation": operation, "kind": kind, "count": count, "status": status, "retry_after": retry_after,
                "milliseconds": milliseconds,
            });
            args.merchant.call(ControlCall::AddFault, fault).await?
        }
    };
    args.merchant.control_api.print(&reply, |reply| {
        let names = ["operation", "kind", "count", "status", "retry_after", "milliseconds"];
        table(&reply["faults"], "No faults.", names, |fault| names.map(|name| text(&fault[name])))
    })
}

pub(super) async fn operators(args: OperatorsArgs) -> Result<(), Failure> {
    let OperatorsArgs { code, status, merchant } = args;
    let reply = merchant.call(ControlCall::SetOperator, json!({ "code": code, "status": status })).await?;
    merchant.control_api.print(&reply, |reply| {
        let names = ["code", "name", "status"];
        table(&reply["operators"], "No operators.", names, |operator| names.map(|name| text(&operator[name])))
    })
}

pub(super) async fn purchases(args: PurchasesArgs) -> Result<(), Failure> {
    let PurchasesArgs { search, starting_after, merchant } = args;
    let fields = json!({ "search": search, "starting_after": starting_after });
    let reply = merchant.call(ControlCall::ListPurchases, fields).await?;
    merchant.control_api.print(&reply, |reply| {
        let names =
            ["created_at", "merchant_reference", "amount", "currency", "customer", "status", "operator", "reported"];
        table(&reply["purchases"], "No purchases.", names, |purchase| {
            names.map(|name| match name {
                "created_at" => moment(&purchase[name]),
                "reported" => text(&purchase["reported"]["status"]),
                _ => text(&purchase[name]),
            })
        })
    })
}

pub(super) async fn thread(args: ThreadArgs) -> Result<(), Failure> {
    let ThreadArgs { payment, limit, merchant } = args;
    let reply = merchant.call(ControlCall::ReadThread, json!({ "payment": payment, "limit": limit })).await?;
    merchant.control_api.print(&reply, |reply| {
        let names =
            ["at", "kind", "status", "attempt", "reason", "by", "operation", "http_status", "fault", "reported"];
        table(&reply["entries"], "No entries.", names, |entry| {
            names.map(|name| match name {
                "at" => moment(&entry[name]),
                "reported" => text(&entry["reported"]["status"]),
                // Why the application has not received an event.
                "fault" if entry["error"].is_string() => text(&entry["error"]),
                _ => text(&entry[name]),
            })
        })
    })
}

pub(super) async fn handset(args: HandsetArgs) -> Result<(), Failure> {
    let HandsetArgs { payment, decision, attempt, merchant } = args;
    let fields = json!({ "payment": payment, "decision": decision, "attempt": attempt });
    let reply = merchant.call(ControlCall::DecideOnHandset, fields).await?;
    merchant.control_api.print(&reply, |reply| {
        let (reference, status) = (text(&reply["purchase"]["merchant_reference"]), text(&reply["purchase"]["status"]));
        format!("{} is {}.", printable(reference), printable(status))
    })
}

pub(super) async fn inspector(args: InspectorArgs) -> Result<(), Failure> {
    let reply = args.control_api.call(ControlCall::OpenInspector, "", Some(json!({}))).await?;
    args.control_api.print(&reply, |reply| printable(text(&reply["inspector_url"])).to_string())
}

pub(super) async fn merchants(args: MerchantsArgs) -> Result<(), Failure> {
    let reply = args.control_api.call(ControlCall::CreateMerchant, "", Some(json!({ "name": args.name }))).await?;
    args.control_api.print(&reply, |reply| {
        let (merchant, secret_key) = (text(&reply["merchant"]), text(&reply["secret_key"]));
        format!(
            "The merchant      {}\n\
             The secret key    {}    (a test key, shown this once: for your server, never for a page)",
            printable(merchant),
            printable(secret_key)
        )
    })
}

pub(super) async fn requests(args: RequestsArgs) -> Result<(), Failure> {
    let reply = args.call(ControlCall::ListRequests, json!({})).await?;
    args.control_api.print(&reply, |reply| {
        let names = ["at", "operation", "status", "credential", "intent", "fault", "request_id"];
        table(&reply["requests"], "No requests.", names, |request| {
            names.map(|name| if name == "at" { moment(&request[name]) } else { text(&request[name]) })
        })
    })
}

pub(super) async fn events(args: EventsArgs) -> Result<(), Failure> {
    let reply = args.call(ControlCall::ListEvents, json!({})).await?;
    args.control_api.print(&reply, |reply| {
        table(&reply["events"], "No events.", ["at", "type", "object", "merchant_reference"], |event| {
            let object = &event["data"];
            [
                moment(&event["created_at"]),
                text(&event["type"]),
                text(&object["id"]),
                text(&object["merchant_reference"]),
            ]
        })
    })
}

pub(super) async fn reset(args: ResetArgs) -> Result<(), Failure> {
    let reply = args.call(ControlCall::ResetMerchant, json!({})).await?;
    args.control_api.print(&reply, |reply| {
        let (merchant, now) = (text(&reply["merchant"]), moment(&reply["now"]));
        format!(
            "Everything of the merchant {} was deleted but its name and key. Its clock shows {now}.",
            printable(merchant)
        )
    })
}

impl OneMerchant {
    /// Makes a call for this merchant. The fields, which name it, are the body of a `POST`, and otherwise the query.
    async fn call(&self, call: ControlCall, mut fields: Value) -> Result<Bytes, Failure> {
        let has_body = call.spec().method == Method::Post;
        if let Some(merchant) = &self.merchant {
            fields["merchant"] = merchant.as_str().into();
        }
        if has_body {
            return self.control_api.call(call, "", Some(fields)).await;
        }
        let given = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let query =
            given.map(|(name, value)| format!("{name}={}", utf8_percent_encode(&text(value), NON_ALPHANUMERIC)));
        let query: Vec<String> = query.collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        self.control_api.call(call, &query, None).await
    }
}

impl ControlApi {
    async fn call(&self, call: ControlCall, query: &str, body: Option<Value>) -> Result<Bytes, Failure> {
        let spec = call.spec();
        let url = self.control_url.clone().or_else(|| variable("GUICHET_CONTROL_URL"));
        let url = url.unwrap_or_else(|| "http://127.0.0.1:4243/sandbox".to_owned());
        let token = variable("GUICHET_CONTROL_TOKEN").ok_or_else(|| {
            Failure::usage("Set GUICHET_CONTROL_TOKEN to the control token that the sandbox printed when it started.")
        })?;
        let base = url.trim_end_matches('/').trim_end_matches("/sandbox");
        let transport = Transport::builder(base, Environment::Test).build()?;
        let mut request = Request::new(spec.method, format!("{}{query}", spec.path));
        request.body = body.map(|body| body.to_string());
        transport.send(spec, request, &ControlToken(Secret::new(token))).await.map_err(|error| match error.kind() {
            Kind::Offline | Kind::Timeout => Failure::from(error).advise(&format!(
                "No sandbox answered at {base}/sandbox. `guichet sandbox` starts one. --control-url or GUICHET_CONTROL_URL gives \
                 another address."
            )),
            _ => error.into(),
        })
    }

    /// Prints a reply: as JSON under `--json`, otherwise for people.
    fn print(&self, reply: &[u8], for_people: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
        if self.json {
            return show::reply(reply);
        }
        show::raw(for_people(&serde_json::from_slice(reply).unwrap_or_default()).as_bytes())
    }
}

/// A table of a list in a reply, or the sentence `none` if it is empty.
fn table<const N: usize>(list: &Value, none: &str, headings: [&str; N], row: impl Fn(&Value) -> [String; N]) -> String {
    match list.as_array().filter(|list| !list.is_empty()) {
        None => none.to_owned(),
        Some(list) => show::grid(&headings, list.iter().map(|one| row(one).to_vec())),
    }
}

/// A field of a reply: a string without quotes, null as the empty text.
fn text(field: &Value) -> String {
    match field {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A time in a reply.
fn moment(field: &Value) -> String {
    let moment = field.as_i64().map(Moment::from_unix);
    moment.map_or_else(|| "The sandbox's reply has no time.".to_owned(), |moment| moment.to_string())
}

struct ControlToken(Secret);

impl Credential for ControlToken {
    fn bearer(&self) -> Option<&str> {
        Some(self.0.expose())
    }
}

const LENGTH: &str = "give a length of time: 90, 90s, 15m, 2h or 30d";

/// Parses 90, 90s, 15m, 2h or 30d into seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(LENGTH.into()),
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = number.parse().ok().filter(|_| digits);
    number.and_then(|number| number.checked_mul(factor)).ok_or(LENGTH.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lengths_of_time_are_parsed() {
        for (text, read) in [("90", 90), ("90s", 90), ("15m", 900), ("2h", 7200), ("30d", 2_592_000), ("0", 0)] {
            assert_eq!(seconds(text), Ok(read), "{text}");
        }
        for text in ["", "d", "-1", "+1", "1.5h", "1w", "1 d", "99999999999999999999d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
