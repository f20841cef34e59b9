//! `guichet probe`: finds what a purchase needs at a service, and writes a profile of it; tests which decisions of this
//! project, and which assumed operations, hold there. It needs only the service's public address and a test key.

mod billing;
mod draft;
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
use draft::{Candidates, Draft, Paths};
use guichet::native::{Environment, SecretKey};
use guichet::protocol::Credential as _;
use guichet::values::printable;
use prober::{Prober, Row};
use purchase::Findings;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

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
    /// The key is a test key, whatever it begins with: it moves no real money.
    #[arg(long)]
    test_key: bool,
    /// Ask you to pay a payment and to decline one, to learn the words for it and how the customer comes back.
    #[arg(long)]
    pay: bool,
    /// Write the profile to this file, which must not exist. Default: print it.
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
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    paths: Paths,
}

pub(super) async fn probe(args: ProbeArgs) -> Result<(), Failure> {
    let key = args.connection.key()?;
    refuse_live(&key, args.test_key)?;
    let candidates = Candidates::new(&args.paths).map_err(|invalid| Failure::usage(invalid.to_string()))?;
    // A key that only its owner calls a test key goes by https alone, like a live one.
    let environment = Environment::from(&key);
    let base_url = args.connection.base_url(environment)?;
    let transport = args.connection.transport(environment)?;
    eprintln!("guichet: probing {}.\n{CREATES}", printable(&base_url));
    if !args.yes && !is_confirmed()? {
        return Err(Failure::usage("Nothing was sent."));
    }
    // What was confirmed before is not overwritten by what was not asked now.
    let file = args.write.as_deref().map(new_file).transpose()?;
    let mut prober = Prober::new(transport, key)?;
    let found = match prober.is_reachable().await {
        true => {
            let draft = Draft::new(base_url.clone(), args.connection.gateway_url());
            purchase::find(&prober, draft, &candidates, args.pay).await
        }
        false => Err(Failure::Message(NOT_REACHED, "The service cannot be reached. Nothing was created.".into())),
    };
    if let (Some(path), false) = (&args.write, found.as_ref().is_ok_and(|found| found.profile.is_some())) {
        // It is empty, and may stay if it cannot be removed.
        let _ = std::fs::remove_file(path);
    }
    let found = found?;
    if args.all {
        errors::rows(&mut prober).await;
        intents::rows(&mut prober).await;
        sessions::rows(&mut prober).await;
        lists::rows(&mut prober).await;
        billing::rows(&mut prober).await;
    }
    let rows = prober.rows;
    report(&args, &base_url, &found, &rows)?;
    if let (Some(mut file), Some(profile)) = (file, &found.profile) {
        writeln!(file, "{}", profile.to_json()).map_err(Box::<dyn std::error::Error>::from)?;
    }
    if !found.lacks.is_empty() {
        let lacks = found.lacks.join("; ");
        return Err(Failure::Message(NOT_ALL_HOLDS, format!("A purchase lacks something at this service: {lacks}.")));
    }
    match rows.iter().filter(|row| !row.holds).count() {
        0 => Ok(()),
        some => Err(Failure::Message(NOT_ALL_HOLDS, format!("{some} of {} do not hold at this service.", rows.len()))),
    }
}

/// Prints what was found; the profile too, unless it is written to a file.
fn report(args: &ProbeArgs, base_url: &str, found: &Findings, rows: &[Row]) -> Result<(), Failure> {
    if args.json {
        let json_rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        let purchase: Vec<_> = found.rows.iter().map(|[what, found]| json!({"what": what, "found": found})).collect();
        let Findings { profile, page, lacks, .. } = found;
        let report = json!({
            "base_url": base_url, "purchase": purchase, "lacks": lacks, "profile": profile, "page": page, "rows": json_rows,
        });
        return show::reply(report.to_string().as_bytes());
    }
    show::raw(show::grid(&["a purchase", "found"], found.rows.iter().map(|row| row.to_vec())).as_bytes())?;
    if let (Some(profile), None) = (&found.profile, &args.write) {
        show::reply(format!("\nThe profile (service.json):\n{}", profile.to_json()).as_bytes())?;
    }
    show::reply(format!("\nThe options of a page:\n{:#}", json!(found.page)).as_bytes())?;
    if args.all {
        show::raw(show::grid(&["decision", "what", "holds", "seen"], rows.iter().map(Row::cells)).as_bytes())?;
    }
    Ok(())
}

/// # Errors
/// If the key is no test key by its prefix, and its owner does not call it one; or if it says itself that it is live.
fn refuse_live(key: &SecretKey, is_test_key: bool) -> Result<(), Failure> {
    let says_live = key.bearer().is_some_and(|key| key.starts_with("sk_live_") || key.starts_with("rk_live_"));
    if key.is_test() || (is_test_key && !says_live) {
        return Ok(());
    }
    Err(Failure::usage(match says_live {
        true => "probe creates payments and sessions, so it takes only a test key (sk_test_…), and this is a live one.",
        false => {
            "probe creates payments and sessions, so it takes only a test key (sk_test_…). If yours is one and begins otherwise, add --test-key."
        }
    }))
}

fn new_file(path: &Path) -> Result<File, Failure> {
    let unusable = |error: std::io::Error| {
        Failure::usage(format!("--write: {} cannot be made: {error}. Nothing was sent.", path.display()))
    };
    File::create_new(path).map_err(unusable)
}

fn is_confirmed() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(
            "Missing option --yes: standard input is not a terminal, so nobody can confirm. Nothing was sent.",
        ));
    }
    Ok(answer_to("Continue? [y/N]").is_some_and(|answer| answer.eq_ignore_ascii_case("y")))
}

/// Asks a question, and returns the line that is written. `None` if there is no answer: standard input is at its end.
fn answer_to(question: &str) -> Option<String> {
    eprintln!("{question}");
    let mut answer = String::new();
    let length = std::io::stdin().lock().read_line(&mut answer).ok()?;
    (length > 0).then(|| answer.trim().to_owned())
}
