//! `guichet probe`: which decisions of this project, and which operations that the document does not show, hold at a
//! service. It needs the public interface and a test key, and nothing else.

mod asking;
mod billing;
mod errors;
mod intents;
mod lists;
mod sessions;

use super::connection::Connection;
use super::failure::{Failure, NOT_ALL_HOLDS, NOT_REACHED};
use super::show;
use crate::values::printable;
use asking::{Prober, Row};
use clap::Args;
use serde_json::json;
use std::io::{BufRead, IsTerminal};

/// Said before anything is sent, and in `--help`.
const WILL_MAKE: &str = "\
It makes, with the test key, in that service's test environment, and leaves there: three payment intents of 5000 XAF of
probe@example.com, two of them paid with the test phone 237670000000 (and up to seven more, where the service takes what it
should refuse); one customer session; a plan, and a subscription that is charged to that phone once or twice and cancelled at
the end; one to three eSIM orders. It needs no other access than the public interface.";

/// Asks the service's test environment which decisions hold there. Only with a test key.
#[derive(Args)]
#[command(after_help = WILL_MAKE)]
pub(super) struct ProbeArgs {
    #[command(flatten)]
    connection: Connection,
    /// Do not ask before it makes what it makes.
    #[arg(long)]
    yes: bool,
    /// Print the rows as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn probe(args: ProbeArgs) -> Result<(), Failure> {
    let key = args.connection.key()?;
    if !key.is_test() {
        return Err(Failure::usage("probe makes payments and sessions: it takes a test key (sk_test_…) and no other."));
    }
    let base_url = args.connection.base_url(&key)?;
    eprintln!("guichet: probing {}.\n{WILL_MAKE}", printable(&base_url));
    if !args.yes && !goes_on()? {
        return Err(Failure::usage("Nothing was sent."));
    }
    let mut prober = Prober::new(args.connection.client(key)?)?;
    if !prober.reaches().await {
        return Err(Failure::Said(NOT_REACHED, "The service cannot be reached. Nothing was made.".into()));
    }
    errors::rows(&mut prober).await;
    intents::rows(&mut prober).await;
    sessions::rows(&mut prober).await;
    lists::rows(&mut prober).await;
    billing::rows(&mut prober).await;
    let rows = prober.rows;
    if args.json {
        let written: Vec<_> = rows.iter().map(Row::written).collect();
        show::reply(json!({"base_url": base_url, "rows": written}).to_string().as_bytes())?;
    } else {
        show::raw(show::grid(&["decision", "what", "holds", "seen"], rows.iter().map(Row::cells)).as_bytes())?;
    }
    match rows.iter().filter(|row| !row.holds).count() {
        0 => Ok(()),
        some => Err(Failure::Said(NOT_ALL_HOLDS, format!("{some} of {} do not hold there.", rows.len()))),
    }
}

fn goes_on() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("Say --yes where nobody can be asked. Nothing was sent."));
    }
    eprintln!("Go on? [y/N]");
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    Ok(read.is_ok() && answer.trim().eq_ignore_ascii_case("y"))
}
