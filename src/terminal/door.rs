//! The commands of a sandbox's control API: its clock and its faults.

use super::connection::variable;
use super::failure::Failure;
use super::show;
use crate::native::{Client, SecretKey};
use crate::protocol::{Credential, Method, Operation, Request, Spec};
use crate::values::{Moment, Secret};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

#[derive(Args)]
#[command(after_help = TOKEN)]
pub(super) struct ClockArgs {
    #[command(subcommand)]
    verb: Option<ClockVerb>,
    #[command(flatten)]
    door: Door,
}

#[derive(Subcommand)]
enum ClockVerb {
    /// Move it forward: 90, 90s, 15m, 2h or 30d. It never goes back. What has come due by then is done first.
    Advance {
        /// By how much.
        #[arg(value_parser = seconds, allow_negative_numbers = true)]
        by: u64,
    },
}

#[derive(Args)]
#[command(after_help = TOKEN)]
pub(super) struct FaultsArgs {
    #[command(subcommand)]
    verb: Option<FaultsVerb>,
    #[command(flatten)]
    door: Door,
}

#[derive(Subcommand)]
enum FaultsVerb {
    /// Those still to come.
    List,
    /// Make the next calls of an operation go wrong.
    Set {
        /// The operation: create_payment_intent. `--help` lists all of them.
        #[arg(long_help = operations())]
        operation: String,
        /// What goes wrong: `delay`, `lost_response`, `malformed` and `truncate` execute the call and answer it late or
        /// badly; `drop` and `status` do not execute it.
        #[arg(value_parser = ["delay", "drop", "lost_response", "malformed", "status", "truncate"])]
        kind: String,
        /// How many calls.
        #[arg(long, default_value_t = 1)]
        count: u32,
        /// The status of the answer, 400 to 599; 503 by default.
        #[arg(long)]
        status: Option<u16>,
        /// The answer's `Retry-After`, in seconds.
        #[arg(long, value_name = "SECONDS")]
        retry_after: Option<u32>,
        /// Required for `delay`; at most 600000.
        #[arg(long)]
        milliseconds: Option<u64>,
    },
    /// Take them all back.
    Clear,
}

/// The end of the help of both commands.
const TOKEN: &str = "\
The sandbox prints the address and the token of its control API when it starts. Set GUICHET_CONTROL_TOKEN to the token, which
is new at each start. The address comes from GUICHET_CONTROL_URL or --control-url (default: the sandbox of this machine).";

/// The names of the operations, for the help.
fn operations() -> String {
    use crate::operations::*;
    macro_rules! names {
        ($($operation:ident)*) => {
            [$(<$operation as Operation>::SPEC.name),*]
        };
    }
    format!("The operation: {}", crate::every_operation!(names).join(", "))
}

/// The two paths of the control API that are commands. An error begins with the command's name.
const CLOCK: Spec = Spec::post("clock", "/sandbox/clock");
const FAULTS: Spec = Spec::post("faults", "/sandbox/faults");

/// Which sandbox, and which of its merchants.
#[derive(Args)]
struct Door {
    /// The address of the sandbox's control API, as it prints it; or GUICHET_CONTROL_URL.
    #[arg(long, value_name = "URL", global = true)]
    control_url: Option<String>,
    /// The merchant; without one, the first.
    #[arg(long, value_name = "ID", global = true)]
    merchant: Option<String>,
    /// Print the sandbox's own reply.
    #[arg(long, global = true)]
    json: bool,
}

pub(super) async fn clock(args: ClockArgs) -> Result<(), Failure> {
    let reply = match args.verb {
        None => args.door.ask(&CLOCK, Method::Get, Value::Null).await?,
        Some(ClockVerb::Advance { by }) => args.door.ask(&CLOCK, Method::Post, json!({"advance_seconds": by})).await?,
    };
    args.door.tell(&reply, |reply| {
        let now = reply["now"].as_i64().map(Moment::from_unix);
        println!("{}", now.map_or_else(|| "The sandbox does not say.".to_owned(), |now| now.to_string()));
    })
}

pub(super) async fn faults(args: FaultsArgs) -> Result<(), Failure> {
    let reply = match args.verb {
        None | Some(FaultsVerb::List) => args.door.ask(&FAULTS, Method::Get, Value::Null).await?,
        Some(FaultsVerb::Clear) => args.door.ask(&FAULTS, Method::Delete, Value::Null).await?,
        Some(FaultsVerb::Set { kind, milliseconds: None, .. }) if kind == "delay" => {
            return Err(Failure::usage("A delay needs its length: --milliseconds 2000, at most 600000."));
        }
        Some(FaultsVerb::Set { operation, kind, count, status, retry_after, milliseconds }) => {
            let fault = json!({
                "operation": operation, "kind": kind, "count": count, "status": status, "retry_after": retry_after,
                "milliseconds": milliseconds,
            });
            args.door.ask(&FAULTS, Method::Post, fault).await?
        }
    };
    args.door.tell(&reply, |reply| match reply["faults"].as_array().filter(|faults| !faults.is_empty()) {
        None => println!("Nothing is to go wrong."),
        Some(faults) => {
            let text = |fault: &Value, name: &str| match &fault[name] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let names = ["operation", "kind", "count", "status", "retry_after", "milliseconds"];
            let rows = faults.iter().map(|fault| names.map(|name| text(fault, name)).to_vec());
            println!("{}", show::grid(&names, rows));
        }
    })
}

impl Door {
    async fn ask(&self, spec: &'static Spec, method: Method, fields: Value) -> Result<Vec<u8>, Failure> {
        let url = self.control_url.clone().or_else(|| variable("GUICHET_CONTROL_URL"));
        let url = url.unwrap_or_else(|| "http://127.0.0.1:4243/sandbox".to_owned());
        let token = variable("GUICHET_CONTROL_TOKEN").ok_or_else(|| {
            Failure::usage("Set GUICHET_CONTROL_TOKEN to the control token that the sandbox printed when it started.")
        })?;
        let base = url.trim_end_matches('/').trim_end_matches("/sandbox");
        let client = Client::builder(base, SecretKey::none(true)).build()?;
        let mut target = spec.path.to_owned();
        let mut body = None;
        match (fields, &self.merchant) {
            (Value::Object(mut fields), merchant) => {
                if let Some(merchant) = merchant {
                    fields.insert("merchant".into(), merchant.as_str().into());
                }
                body = Some(Value::Object(fields).to_string());
            }
            (_, Some(merchant)) => {
                target.push_str("?merchant=");
                crate::protocol::percent_encode(&mut target, merchant);
            }
            (_, None) => {}
        }
        let request = Request { method, target, body, idempotency_key: None };
        Ok(client.reply(spec, request, &ControlToken(Secret::new(token))).await?)
    }

    /// Prints a reply as it came, or as people read it.
    fn tell(&self, reply: &[u8], shown: impl FnOnce(&Value)) -> Result<(), Failure> {
        if self.json {
            return show::reply(reply);
        }
        shown(&serde_json::from_slice(reply).unwrap_or_default());
        Ok(())
    }
}

struct ControlToken(Secret);

impl Credential for ControlToken {
    fn bearer(&self) -> Option<&str> {
        Some(self.0.expose())
    }
}

const LENGTH: &str = "a length of time to come is 90, 90s, 15m, 2h or 30d";

/// Reads 90, 90s, 15m, 2h, 30d.
fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len());
    let each = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(LENGTH.into()),
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<u64> = number.parse().ok().filter(|_| digits);
    number.and_then(|number| number.checked_mul(each)).ok_or(LENGTH.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_and_no_other_text_is() {
        for (text, read) in [("90", 90), ("90s", 90), ("15m", 900), ("2h", 7200), ("30d", 2_592_000), ("0", 0)] {
            assert_eq!(seconds(text), Ok(read), "{text}");
        }
        for text in ["", "d", "-1", "+1", "1.5h", "1w", "1 d", "99999999999999999999d"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
