//! The `guichet` command: the whole interface at a terminal.
//!
//! Each operation is a command whose name is in `operations::words`; its arguments, their help and their checks are the
//! operation's own description, and what it sends is read by the same door as in the service. `tests/service/command.rs` runs
//! each of them.
//!
//! | exit code | what happened |
//! |---|---|
//! | 0 | done |
//! | 1 | the service refused it, or this machine could not do it |
//! | 2 | the command is not one: nothing was sent |
//! | 3 | the service was not reached, or did not answer in time |
//! | 4 | uncertain: it may have been done. Read what is there before it is sent again |
//! | 5 | the service's reply cannot be read |
//! | 6 | `probe`: not everything holds there |

mod connection;
mod door;
mod failure;
mod operations;
mod probe;
mod serve;
mod show;

use crate::values::printable;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
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
    verb: Verb,
}

const AFTER: &str = "\
The secret key comes from GUICHET_SECRET_KEY or --key-file, the address of the service from GUICHET_BASE_URL or --base-url
(default: the sandbox of this machine). A session token comes from GUICHET_SESSION_TOKEN or the standard input. The
commands clock and faults call the control API of a sandbox, with the token in GUICHET_CONTROL_TOKEN, at GUICHET_CONTROL_URL
or --control-url (default: the sandbox of this machine).

Exit codes: 0 done; 1 refused by the service, or not possible here; 2 not a command, nothing was sent; 3 the service was not
reached in time; 4 uncertain: it may have been done, read what is there first; 5 the reply cannot be read; 6 probe: not
everything holds there.

GUICHET_LOG=debug says more on stderr.";

/// What is no operation of the interface.
#[derive(Subcommand)]
enum Verb {
    /// Run the whole service on this machine. No real money moves.
    Sandbox(serve::SandboxArgs),
    /// Open a shop, and the service it buys from, and say where.
    Demo(serve::DemoArgs),
    /// What a sandbox's clock shows, and moving it forward.
    Clock(door::ClockArgs),
    /// Make the next calls of a sandbox go wrong.
    Faults(door::FaultsArgs),
    /// Ask a service's test environment which of the decisions of this project hold there.
    Probe(probe::ProbeArgs),
    /// Print the completions of a shell: `guichet completions bash > ~/.local/share/bash-completion/completions/guichet`.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Runs the command with these arguments, the first of them its own name.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let level = std::env::var("GUICHET_LOG").ok().and_then(|level| level.parse().ok()).unwrap_or(LevelFilter::WARN);
    let stderr = std::io::stderr;
    // Whatever is logged, by whichever library, may hold a text that somebody else wrote.
    let fields = format::debug_fn(|writer, field, value| match field.name() {
        "message" => write!(writer, "{}", printable(format_args!("{value:?}"))),
        name => write!(writer, "{name}={}", printable(format_args!("{value:?}"))),
    });
    let log = tracing_subscriber::fmt().with_max_level(level).with_ansi(stderr().is_terminal()).with_writer(stderr);
    log.fmt_fields(fields.delimited(" ")).init();
    match obey(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}

async fn obey(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let matches = command().try_get_matches_from(arguments)?;
    if let Some((group, asked)) = matches.subcommand()
        && let Some((verb, matches)) = asked.subcommand()
        && let Some(operation) = operations::find(group, verb)
    {
        return operation.run(matches).await;
    }
    match Guichet::from_arg_matches(&matches)?.verb {
        Verb::Sandbox(args) => Ok(serve::sandbox(args).await?),
        Verb::Demo(args) => Ok(serve::demo(args).await?),
        Verb::Clock(args) => door::clock(args).await,
        Verb::Faults(args) => door::faults(args).await,
        Verb::Probe(args) => probe::probe(args).await,
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "guichet", &mut script);
            show::raw(&script)
        }
    }
}

/// The command, with a command for each operation.
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
