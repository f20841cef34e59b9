//! The `guichet` command: the whole interface at a terminal.
//!
//! Each operation is a command. Its name, its arguments and their help come from the operation's declaration, and its
//! arguments are read by the same code as in the service. `tests/service/command.rs` runs each of them.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the service refused it, or this machine could not do it |
//! | 2 | the arguments are invalid; nothing was sent |
//! | 3 | the service could not be reached, or did not respond in time |
//! | 4 | uncertain: the call may have been executed; read the object before you repeat it |
//! | 5 | the service's reply cannot be read |
//! | 6 | `probe`: some decisions do not hold |
//!
//! `check` has its own: 0 every rule passed, 1 one failed, 2 some were not checked, 3 it could not run to its end, 4
//! the arguments are invalid. So has `shop reconcile`: 3 is a difference.

mod check;
mod connection;
mod control_api;
mod failure;
mod operations;
mod probe;
mod serve;
mod shop;
mod show;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use guichet::values::printable;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format;

/// A payments client for mobile money and cards, and the whole service to try it against.
#[derive(Parser)]
#[command(name = "guichet", version, after_long_help = AFTER)]
struct Guichet {
    #[command(subcommand)]
    command: Command,
}

const AFTER: &str = "\
The secret key comes from GUICHET_SECRET_KEY or --key-file, the address of the service from GUICHET_BASE_URL or --base-url
(default: the sandbox on this machine). A session token comes from GUICHET_SESSION_TOKEN or the standard input. The
commands clock, events, faults, handset, inspector, merchants, operators, purchases, requests, reset and thread call the
control API of a sandbox, with the token in GUICHET_CONTROL_TOKEN, at GUICHET_CONTROL_URL or --control-url (default: the
sandbox on this machine).

Exit codes: 0 done; 1 refused by the service, or not possible here; 2 invalid arguments, nothing was sent; 3 the service could not
be reached in time; 4 uncertain: the call may have been executed, read the object before you repeat it; 5 the reply cannot be
read; 6 probe: some decisions do not hold. The exit codes of check and of shop reconcile are in their own help.

GUICHET_LOG=debug logs more on stderr.";

/// The commands that are not operations of the interface.
#[derive(Subcommand)]
enum Command {
    /// Run the whole service on this machine. No real money moves.
    Sandbox(Box<serve::SandboxArgs>),
    /// Print a sandbox's clock, or move it forward.
    Clock(control_api::ClockArgs),
    /// Make the next calls of a sandbox fail.
    Faults(control_api::FaultsArgs),
    /// Let a mobile money operator of a sandbox be delayed or closed.
    Operators(control_api::OperatorsArgs),
    /// Make a merchant in a sandbox, and print its secret key. Give each test one.
    Merchants(control_api::MerchantsArgs),
    /// List the newest requests that a sandbox received.
    Requests(control_api::RequestsArgs),
    /// List the payments in a sandbox, each with what was reported to its shop.
    Purchases(control_api::PurchasesArgs),
    /// Print a payment of a sandbox as one thread in time.
    Thread(control_api::ThreadArgs),
    /// Decide a payment on the customer's phone in a sandbox. A phone that ends in 0000020 waits for it.
    Handset(control_api::HandsetArgs),
    /// Print an address of a sandbox's inspector, which opens it once.
    Inspector(control_api::InspectorArgs),
    /// List what has changed in a sandbox: payments, subscriptions, eSIM orders.
    Events(control_api::EventsArgs),
    /// Delete everything of a sandbox's merchant but its name and key.
    Reset(control_api::ResetArgs),
    /// Find what a purchase needs at a payment company's test environment, and write its profile.
    Probe(probe::ProbeArgs),
    /// Run the merchant's half of a shop beside an application in any language.
    Shop(Box<shop::ShopArgs>),
    /// Test a shop's payments from outside, and name the rules that it breaks.
    Check(Box<check::CheckArgs>),
    /// Print shell completions: `guichet completions bash > ~/.local/share/bash-completion/completions/guichet`.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    // The command owns its process. An error means that there is a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match dispatch(std::env::args_os().collect()).await {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Writes the log to stderr, for people or as JSON.
fn start_log(is_json: bool) {
    let level = std::env::var("GUICHET_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::WARN);
    let stderr = std::io::stderr;
    let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(stderr().is_terminal()).with_writer(stderr);
    if is_json {
        return log.json().flatten_event(true).init();
    }
    // Any field of any library's log line may contain text of a third party.
    let fields = format::debug_fn(|writer, field, value| match field.name() {
        "message" => write!(writer, "{}", printable(format_args!("{value:?}"))),
        name => write!(writer, "{name}={}", printable(format_args!("{value:?}"))),
    });
    log.fmt_fields(fields.delimited(" ")).init();
}

async fn dispatch(arguments: Vec<OsString>) -> Result<ExitCode, Failure> {
    let usage = if arguments.get(1).is_some_and(|name| name == "check") { check::USAGE } else { failure::USAGE };
    let matches = command().try_get_matches_from(arguments).map_err(|error| Failure::Clap(Box::new(error), usage))?;
    if let Some((group, group_matches)) = matches.subcommand()
        && let Some((name, matches)) = group_matches.subcommand()
        && let Some(operation) = operations::find(group, name)
    {
        start_log(false);
        operation.run(matches).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = Guichet::from_arg_matches(&matches)?.command;
    start_log(matches!(&chosen, Command::Shop(args) if args.log_is_json()));
    match chosen {
        Command::Check(args) => return check::check(*args).await,
        Command::Sandbox(args) => serve::sandbox(*args).await?,
        Command::Clock(args) => control_api::clock(args).await?,
        Command::Faults(args) => control_api::faults(args).await?,
        Command::Operators(args) => control_api::operators(args).await?,
        Command::Merchants(args) => control_api::merchants(args).await?,
        Command::Requests(args) => control_api::requests(args).await?,
        Command::Purchases(args) => control_api::purchases(args).await?,
        Command::Thread(args) => control_api::thread(args).await?,
        Command::Handset(args) => control_api::handset(args).await?,
        Command::Inspector(args) => control_api::inspector(args).await?,
        Command::Events(args) => control_api::events(args).await?,
        Command::Reset(args) => control_api::reset(args).await?,
        Command::Probe(args) => probe::probe(args).await?,
        Command::Shop(args) => shop::shop(*args).await?,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "guichet", &mut script);
            show::raw(&script)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The command line, with a command for each operation.
fn command() -> clap::Command {
    Guichet::command().subcommands(operations::commands())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_well_formed() {
        command().debug_assert();
    }
}
