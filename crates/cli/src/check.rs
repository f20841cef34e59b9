//! `guichet check`: tests a shop from outside, and names the rules that it breaks.

mod machine;

use super::failure::{Failure, NOT_REACHED};
use super::serve::{listen_address, stop_signal};
use clap::Args;
use guichet_check::options::{self, Options};
use guichet_check::{Check, Selection, Service, instructions, progress, rules, summary};
use guichet_sandbox::{Config, InProcess, Surroundings, serve};
use machine::Machine;
use std::io::{IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[derive(Args)]
#[command(after_long_help = options::HELP)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    options: Options,
    /// How many seconds to wait for the shop at the start.
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = options::seconds)]
    wait: Duration,
    /// Check only this rule, or this group of rules. May be repeated.
    #[arg(long = "only", value_name = "RULE", value_parser = options::rule)]
    only: Vec<Selection>,
    /// The address of the service that the shop calls; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from((Ipv4Addr::LOCALHOST, 4243)), value_parser = listen_address)]
    listen: SocketAddr,
    /// Print two lines of JSON: the service's address and key, and the report.
    #[arg(long)]
    json: bool,
}

pub(super) async fn check(args: CheckArgs) -> Result<ExitCode, Failure> {
    let stop = stop_signal().map_err(Box::<dyn std::error::Error>::from)?;
    let json = args.json;
    let rules = rules(&args.only);
    let machine = Machine::new(args.options.limit)?;
    let (service, _listening) = listen(args.listen, json).await?;
    let check = Check::new(Box::new(machine), service, args.options);
    if !json {
        print(&check.waiting());
    }
    let checking = async {
        if let Err(why) = check.shop_is_ready(args.wait).await {
            return Err(Failure::Message(NOT_REACHED, why));
        }
        let mut reports = Vec::new();
        for (place, rule) in rules.iter().enumerate() {
            if !json && std::io::stderr().is_terminal() {
                // A closed pipe does not end the check.
                let _ = writeln!(std::io::stderr(), "{}", progress(rule, place + 1, rules.len()));
            }
            let report = check.rule(rule).await;
            if !json {
                print(&report.to_string());
            }
            reports.push(report);
        }
        let (text, exit_code) = summary(&reports, json);
        print(&text);
        Ok(ExitCode::from(exit_code))
    };
    tokio::select! {
        checked = checking => checked,
        () = stop => Err(Failure::Message(NOT_REACHED, "The check was stopped.".into())),
    }
}

/// Starts the service on a port, and prints its address and key.
async fn listen(address: SocketAddr, json: bool) -> Result<(Arc<Service>, oneshot::Sender<()>), Failure> {
    let failed = |error: Box<dyn std::error::Error>| Failure::from(error);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let sentence = format!("The service cannot listen on {address}: {error}. Give another address with --listen.");
        Failure::Message(NOT_REACHED, sentence)
    })?;
    let address = listener.local_addr().map_err(|error| failed(error.into()))?;
    let base_url = format!("http://{address}");
    let config = Config { public_url: Some(base_url.clone()), ..Config::default() };
    let sandbox = InProcess::start(config, Surroundings::system()).await.map_err(|error| failed(error.into()))?;
    let service = Arc::new(Service::new(sandbox));
    print(&instructions(&base_url, service.secret_key(), json));
    let (close, closing) = oneshot::channel();
    let answering = Arc::clone(&service);
    let respond = move |request| {
        let service = Arc::clone(&answering);
        async move { service.respond(request).await }
    };
    tokio::spawn(serve(listener, respond, closing));
    Ok((service, close))
}

/// Prints a line at once: a rule may take a minute.
fn print(line: &str) {
    let mut stdout = std::io::stdout().lock();
    // A closed pipe means that the reader has enough.
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}
