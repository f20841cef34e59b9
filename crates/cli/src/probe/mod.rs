//! `guichet probe`: tests which decisions of this project, and which assumed operations, hold at a service. It needs only the
//! service's public address and a test key.

mod billing;
mod errors;
mod intents;
mod lists;
mod prober;
mod sessions;

use super::connection::Connection;
use super::failure::{Failure, NOT_ALL_HOLDS, NOT_REACHED};
use super::show;
use clap::Args;
use guichet::native::Environment;
use guichet::values::printable;
use prober::{Prober, Row};
use serde_json::json;
use std::io::{BufRead, IsTerminal};

/// Printed before anything is sent, and in `--help`.
const CREATES: &str = "\
With the test key it creates these objects in the service's test environment, and does not delete them: three payment intents of
5000 XAF for probe@example.com, two of them paid with the test phone 237670000000 (and up to seven more, if the service accepts
what it should refuse); one customer session; a plan, and a subscription that is charged to that phone once or twice and canceled
at the end; one to three eSIM orders.";

/// Test which decisions of this project hold at a service's test environment. Takes a test key only.
#[derive(Args)]
#[command(after_help = CREATES)]
pub(super) struct ProbeArgs {
    #[command(flatten)]
    connection: Connection,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    /// Print the rows as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn probe(args: ProbeArgs) -> Result<(), Failure> {
    let key = args.connection.key()?;
    if !key.is_test() {
        return Err(Failure::usage("probe creates payments and sessions, so it takes only a test key (sk_test_…)."));
    }
    let base_url = args.connection.base_url(Environment::Test)?;
    eprintln!("guichet: probing {}.\n{CREATES}", printable(&base_url));
    if !args.yes && !is_confirmed()? {
        return Err(Failure::usage("Nothing was sent."));
    }
    let mut prober = Prober::new(args.connection.transport(Environment::Test)?, key)?;
    if !prober.is_reachable().await {
        return Err(Failure::Message(NOT_REACHED, "The service cannot be reached. Nothing was created.".into()));
    }
    errors::rows(&mut prober).await;
    intents::rows(&mut prober).await;
    sessions::rows(&mut prober).await;
    lists::rows(&mut prober).await;
    billing::rows(&mut prober).await;
    let rows = prober.rows;
    if args.json {
        let json_rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        show::reply(json!({"base_url": base_url, "rows": json_rows}).to_string().as_bytes())?;
    } else {
        show::raw(show::grid(&["decision", "what", "holds", "seen"], rows.iter().map(Row::cells)).as_bytes())?;
    }
    match rows.iter().filter(|row| !row.holds).count() {
        0 => Ok(()),
        some => Err(Failure::Message(NOT_ALL_HOLDS, format!("{some} of {} do not hold at this service.", rows.len()))),
    }
}

fn is_confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "Missing option --yes: standard input is not a terminal, so nobody can confirm. Nothing was sent.",
        ));
    }
    eprintln!("Continue? [y/N]");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && answer.trim().eq_ignore_ascii_case("y"))
}
