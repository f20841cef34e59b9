//! Every operation as a command: `guichet intents create --amount 5000 …`.

mod arguments;
mod commands;

use super::connection::{Connection, session_token};
use super::failure::Failure;
use super::serve::profile as profile_in;
use super::show;
use arguments::Description;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use commands::CliOperation;
use guichet::native::{Environment, Profile, Transport};
use guichet::operations::*;
use guichet::protocol::{CredentialKind, Fields, Method, Operation, Request, Role, Served, Spec};
use guichet::shop::ledger::Asked;
use guichet::values::printable;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The groups of commands, with their help.
const GROUPS: [(&str, &str); 7] = [
    ("sessions", "Customer sessions: a customer acts without the secret key"),
    ("methods", "Payment methods and what they cost"),
    ("intents", "Payment intents: one intent is one payment"),
    ("customers", "The merchant's customers"),
    ("plans", "Subscription plans"),
    ("subscriptions", "Subscriptions: pausing, resuming and ending them"),
    ("esim", "eSIM data packages, and orders of them"),
];

/// The last paragraph of the help of an operation that takes a session token.
const SESSION_TOKEN: &str =
    "The session token comes from GUICHET_SESSION_TOKEN, or is the first line of the standard input. No key is sent.";

/// The commands of all operations, in their groups.
pub(super) fn commands() -> Vec<Command> {
    let all = all();
    let group = |(name, about): &(&'static str, &'static str)| {
        let commands = all.iter().filter(|operation| operation.group == *name).map(OperationCommand::command);
        Command::new(*name).about(*about).subcommand_required(true).arg_required_else_help(true).subcommands(commands)
    };
    GROUPS.iter().map(group).collect()
}

/// The operation of this group and verb.
pub(super) fn find(group: &str, verb: &str) -> Option<OperationCommand> {
    all().into_iter().find(|operation| operation.group == group && operation.verb == verb)
}

/// An operation as a command.
pub(super) struct OperationCommand {
    group: &'static str,
    verb: &'static str,
    columns: &'static [&'static str],
    spec: &'static Spec,
    /// Whether its role accepts this kind of credential.
    admits: fn(CredentialKind) -> bool,
    describe: fn() -> Description,
    read: fn(Fields) -> Result<Request, Failure>,
}

fn all() -> Vec<OperationCommand> {
    macro_rules! commands {
        ($($operation:ident)*) => {
            vec![$(OperationCommand::new::<$operation>()),*]
        };
    }
    guichet::every_operation!(commands)
}

impl OperationCommand {
    fn new<O: CliOperation + JsonSchema + Served>() -> Self {
        Self {
            group: O::GROUP,
            verb: O::VERB,
            columns: O::COLUMNS,
            spec: const { &<O as Operation>::SPEC },
            admits: <O::Role as Role>::admits,
            describe: Description::new::<O>,
            read: read::<O>,
        }
    }

    fn command(&self) -> Command {
        let Description { about, long_about, fields } = (self.describe)();
        let arguments = fields.iter().map(|field| field.argument());
        let json = "Print the service's own reply, byte for byte, secrets included.";
        let secrets = "Show the secrets of the reply in the table, too.";
        let flag =
            |name: &'static str, help: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
        let command =
            Command::new(self.verb).args(arguments).arg(flag("json", json)).arg(flag("show-secrets", secrets));
        let profile = "The profile of your payment company (service.json). <ID> is then the name that its path has.";
        let by_profile = Arg::new("profile").long("profile").value_name("FILE").value_parser(profile_in).help(profile);
        let command = if self.asks_by_profile() { command.arg(by_profile) } else { command };
        let command = Connection::augment_args(command).about(about).long_about(long_about);
        if (self.admits)(CredentialKind::SecretKey) { command } else { command.after_help(SESSION_TOKEN) }
    }

    /// Whether a profile may say how it is asked.
    fn asks_by_profile(&self) -> bool {
        [ReadPaymentIntent::SPEC.name, CancelPaymentIntent::SPEC.name].contains(&self.spec.name)
    }

    /// The request, as the company of the profile takes it.
    fn by_profile(&self, profile: &Profile, name: String) -> Result<Request, Failure> {
        let cancels = self.spec.name == CancelPaymentIntent::SPEC.name;
        let asked = profile.by_name(&if cancels { Asked::Cancel(name) } else { Asked::Read(name) })?;
        Ok(Request::new(asked.method, asked.target))
    }

    /// Sends the operation and prints the reply.
    pub(super) async fn run(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let mut connection = Connection::from_arg_matches(matches)?;
        let description = (self.describe)();
        let given = arguments::read_arguments(&description.fields, matches)?;
        let name = given.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut request = (self.read)(Fields::new(given))?;
        if let Some(profile) = matches.try_get_one::<Profile>("profile").ok().flatten() {
            request = self.by_profile(profile, name)?;
            connection.use_profile(profile);
        }
        let json = matches.get_flag("json");
        let result = if (self.admits)(CredentialKind::SecretKey) {
            let key = connection.key()?;
            connection.transport(Environment::from(&key))?.send(self.spec, request, &key).await
        } else {
            let token = session_token()?;
            // Like a live key, a live token is never sent over plain http.
            let environment =
                if token.expose().starts_with("cst_live_") { Environment::Live } else { Environment::Test };
            connection.transport(environment)?.send(self.spec, request, &token).await
        };
        match result {
            Ok(reply) if json => show::reply(&reply),
            Ok(reply) => self.print(&reply, matches.get_flag("show-secrets")),
            Err(error) => {
                // With --json, a program gets the error response unchanged, too.
                if let Some(reply) = error.reply().filter(|_| json) {
                    show::reply(reply)?;
                }
                Err(error.into())
            }
        }
    }

    fn print(&self, reply: &[u8], secrets: bool) -> Result<(), Failure> {
        #[derive(Deserialize)]
        struct Pagination {
            next_cursor: Option<String>,
        }
        #[derive(Deserialize)]
        struct Envelope<'a> {
            #[serde(borrow)]
            data: Option<&'a RawValue>,
            pagination: Option<Pagination>,
        }
        // Some frameworks write a mark of UTF-8 first.
        let reply = reply.strip_prefix("\u{feff}".as_bytes()).unwrap_or(reply);
        let whole_reply: Option<&RawValue> = serde_json::from_slice(reply).ok();
        let envelope: Option<Envelope<'_>> = serde_json::from_slice(reply).ok();
        let (data, pagination) = envelope.map(|envelope| (envelope.data, envelope.pagination)).unwrap_or_default();
        let data = data.or(whole_reply).unwrap_or(RawValue::NULL);
        if self.columns.is_empty() {
            // The document shows no reply of some operations, and a service may say no more than that it was done.
            let has_none =
                reply.trim_ascii().is_empty() || whole_reply.is_some() && matches!(data.get(), "null" | "[]" | "{}");
            if has_none && self.spec.method != Method::Get {
                return show::raw(b"Done. The service's reply says no more.\n");
            }
            return show::raw(show::object(data, secrets)?.as_bytes());
        }
        show::raw(show::list(data, self.columns, secrets)?.as_bytes())?;
        if let Some(next) = pagination.and_then(|pagination| pagination.next_cursor) {
            eprintln!("guichet: there are more: --starting-after {}", printable(next));
        }
        Ok(())
    }
}

/// Reads the request of an operation from its arguments, with the same code as the service. All field errors are
/// reported together.
fn read<O: Served>(fields: Fields) -> Result<Request, Failure> {
    let operation = O::parse(fields).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::usage(lines.join("\n"))
    })?;
    Ok(Transport::request(&operation)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_group_and_every_group_a_command() {
        let known = |group: &str| GROUPS.iter().any(|(name, _)| *name == group);
        assert!(all().iter().all(|operation| known(operation.group)));
        for (group, _) in GROUPS {
            assert!(all().iter().any(|operation| operation.group == group), "{group} has no command");
        }
    }

    #[test]
    fn the_table_of_operations_names_each_command() {
        for OperationCommand { group, verb, spec, .. } in all() {
            let of_the_operation = |row: &&str| row.starts_with(&format!("| `{}` |", spec.name));
            let row = include_str!("../../../docs/operations.md").lines().find(of_the_operation).unwrap_or_default();
            assert!(row.contains(&format!("| `{group} {verb}` |")), "write `{group} {verb}` into its row: {row}");
        }
    }
}
