//! `guichet probe`: finds what a purchase needs at a service, and writes a profile of it; tests which decisions of this project, and which
//! assumed operations, hold there. It needs only the service's public address and a test key.

mod billing;
mod errors;
mod intents;
mod lists;
mod prober;
mod purchase;
mod returned;
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
use std::path::PathBuf;

/// Printed before anything is sent, and in `--help`.
const CREATES: &str = "\
With the test key it creates these objects in the service's test environment, and does not delete them: two payment intents of
5000 XAF for probe@example.com (a third if the service doubles a repeated creation, and two to four more with --pay), of which it tries
to cancel the second; one customer session.

With --all besides: three payment intents, two of them paid with the test phone 237670000000 (and up to seven more, if the service
accepts what it should refuse); one customer session; a plan, and a subscription that is charged to that phone once or twice and
canceled at the end; one to three eSIM orders.";

/// Find what a purchase needs at a service's test environment, and write a profile of it. Takes a test key only.
#[derive(Args)]
#[command(after_help = CREATES)]
pub(super) struct ProbeArgs {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    paths: purchase::Paths,
    /// The key is a test key, whatever it begins with: it moves no real money.
    #[arg(long)]
    test_key: bool,
    /// Ask you to pay a payment and to decline one, to learn the words for it and how the customer comes back.
    #[arg(long)]
    pay: bool,
    /// Write the profile to this file. Default: print it.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Test each decision of this project and each operation of its choice, too.
    #[arg(long)]
    all: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    /// Print what was found as one line of JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn probe(args: ProbeArgs) -> Result<(), Failure> {
    let key = args.connection.key()?;
    if !key.is_test() && !args.test_key {
        return Err(Failure::usage(
            "probe creates payments and sessions, so it takes only a test key (sk_test_…). If yours is one and begins otherwise, add --test-key.",
        ));
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
    let found = purchase::find(&prober, &base_url, &args.paths, args.pay).await?;
    if args.all {
        errors::rows(&mut prober).await;
        intents::rows(&mut prober).await;
        sessions::rows(&mut prober).await;
        lists::rows(&mut prober).await;
        billing::rows(&mut prober).await;
    }
    let rows = prober.rows;
    if args.json {
        let json_rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        let purchase: Vec<_> = found.rows.iter().map(|[what, found]| json!({"what": what, "found": found})).collect();
        let (profile, page) = (&found.profile, &found.page);
        let report =
            json!({"base_url": base_url, "purchase": purchase, "profile": profile, "page": page, "rows": json_rows});
        show::reply(report.to_string().as_bytes())?;
    } else {
        show::raw(show::grid(&["a purchase", "found"], found.rows.iter().map(|row| row.to_vec())).as_bytes())?;
        if args.write.is_none()
            && let Some(profile) = &found.profile
        {
            show::raw(format!("\nThe profile (service.json):\n{profile:#}").as_bytes())?;
        }
        show::raw(format!("\nThe options of a page:\n{:#}", json!(found.page)).as_bytes())?;
        if args.all {
            show::raw(show::grid(&["decision", "what", "holds", "seen"], rows.iter().map(Row::cells)).as_bytes())?;
        }
    }
    if let (Some(file), Some(profile)) = (&args.write, &found.profile) {
        std::fs::write(file, format!("{profile:#}\n")).map_err(Box::<dyn std::error::Error>::from)?;
        eprintln!("guichet: the profile is in {}.", printable(file.display()));
    }
    if found.profile.is_none() {
        return Err(Failure::Message(
            NOT_ALL_HOLDS,
            "A purchase cannot be read at this service yet: see the rows above.".into(),
        ));
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
    Ok(answer_to("Continue? [y/N]").eq_ignore_ascii_case("y"))
}

/// Asks a question, and returns the line that is written; empty if there is none.
fn answer_to(question: &str) -> String {
    eprintln!("{question}");
    let mut answer = String::new();
    // What cannot be read is no answer.
    let _ = std::io::stdin().lock().read_line(&mut answer);
    answer.trim().to_owned()
}
