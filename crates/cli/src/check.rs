//! `guichet check`: tests a shop from outside, and names the rules that it breaks.

use super::failure::{Failure, NOT_REACHED};
use super::serve::{listen_address, profile, stop_signal};
use clap::Args;
use guichet::native::Profile;
use guichet_check::options::{self, Options};
use guichet_check::{LocalService, NotRun, Report, Shop, prepare, progress};
use std::io::{IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

/// The exit code if the arguments are invalid: 2 says that some rules were not checked.
pub(super) const USAGE: u8 = 4;

#[derive(Args)]
#[command(after_long_help = options::HELP)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    options: Options,
    /// The address of the service that the shop calls; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 4243)), value_parser = listen_address)]
    listen: SocketAddr,
    /// The profile of your payment company (`service.json`): the check's service then reads, finds and cancels payments
    /// as it says.
    #[arg(long, value_name = "FILE", value_parser = profile)]
    profile: Option<Profile>,
    /// Print two lines of JSON: the service's address and key, and the report.
    #[arg(long)]
    json: bool,
}

pub(super) async fn check(args: CheckArgs) -> Result<ExitCode, Failure> {
    let CheckArgs { options, listen, profile, json } = args;
    let stop = stop_signal().map_err(|error| Failure::Message(NOT_REACHED, error.to_string()))?;
    let service = LocalService::start_with(listen, profile).await?;
    print(&service.instructions(json));
    let check = prepare(Shop::at_address(), options, &service)?;
    if !json {
        print(&check.waiting());
    }
    let checking = async {
        check.shop_is_ready().await.map_err(|why| Failure::Message(NOT_REACHED, why))?;
        let (rules, mut all) = (check.rules(), Report::default());
        for (place, rule) in rules.iter().enumerate() {
            if !json && std::io::stderr().is_terminal() {
                // A closed pipe does not end the check.
                let _ = writeln!(std::io::stderr(), "{}", progress(rule, place + 1, rules.len()));
            }
            let report = check.rule(rule).await;
            if !json {
                print(&report.to_string());
            }
            all.rules.push(report);
        }
        print(&if json { all.to_json().to_string() } else { all.summary() });
        Ok(ExitCode::from(all.exit_code()))
    };
    tokio::select! {
        checked = checking => checked,
        () = stop => Err(Failure::Message(NOT_REACHED, "The check was stopped.".into())),
    }
}

impl From<NotRun> for Failure {
    fn from(why: NotRun) -> Self {
        Self::Message(NOT_REACHED, why.to_string())
    }
}

/// Prints a line at once: a rule may take a minute.
fn print(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe means that the reader has enough.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
