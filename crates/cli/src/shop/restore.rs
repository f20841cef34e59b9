//! `guichet shop backup` and `restore`: a copy of the ledger, and a ledger that was restored from one.

use super::args::{DecisionArgs, FileArgs};
use super::config::Config;
use super::open;
use clap::{Args, Subcommand};
use guichet::native::ledger::{Restore, Store};
use guichet::values::{Moment, printable};
use guichet_orders::{AnyOrders, SqliteOrders};
use serde_json::json;
use std::error::Error;
use std::io::ErrorKind;
use std::path::PathBuf;

const OF_POSTGRES: &str = "The ledger is in PostgreSQL: copy it by pg_dump, or by your provider's backup. \
    After a restore: guichet shop restore declare --copied-at TIME.";

#[derive(Args)]
pub(super) struct BackupArgs {
    /// The new file.
    #[arg(value_name = "FILE")]
    copy: PathBuf,
    #[command(flatten)]
    file: FileArgs,
}

#[derive(Subcommand)]
pub(super) enum RestoreCommand {
    /// Declare that the ledger was restored from a copy, while the process is stopped. Each order is read at the
    /// service and reported to the application once more. Run it again until each was read.
    Declare {
        /// When the copy was written, such as 2026-11-30T06:00:00Z; a copy of `guichet shop backup` says it itself.
        #[arg(long, value_name = "TIME", value_parser = Moment::new)]
        copied_at: Option<Moment>,
        /// Put this copy in the place of the ledger first. What was there is kept beside it.
        #[arg(long, value_name = "FILE")]
        copy: Option<PathBuf>,
        /// Leave the orders unread that the service does not answer for: `restore show` names them.
        #[arg(long)]
        leave_unread: bool,
        #[command(flatten)]
        decision: DecisionArgs,
    },
    /// Show each restore, and whether it is closed.
    Show {
        #[command(flatten)]
        file: FileArgs,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Close it, once you know what happened between the copy and its restore. Until then a service's payment that this
    /// ledger does not know waits for a person.
    Close {
        #[command(flatten)]
        decision: DecisionArgs,
    },
}

pub(super) async fn backup(args: BackupArgs) -> Result<(), Box<dyn Error>> {
    match open::orders_beside(&Config::read(&args.file.config)?).await? {
        AnyOrders::Sqlite(orders) => {
            orders.backup(&args.copy).await.map_err(|error| match error {
                guichet_orders::OrdersError::File(error) if error.kind() == ErrorKind::AlreadyExists => {
                    format!("The file {} exists. Name a new one.", args.copy.display())
                }
                error => error.to_string(),
            })?;
            println!(
                "The copy is complete: {}. It has customers and orders; keep it as you keep the ledger.",
                args.copy.display()
            );
            Ok(())
        }
        #[allow(unreachable_patterns, reason = "the feature postgres")]
        _ => Err(OF_POSTGRES.into()),
    }
}

pub(super) async fn restore(command: RestoreCommand) -> Result<(), Box<dyn Error>> {
    match command {
        RestoreCommand::Declare { copied_at, copy, leave_unread, decision: DecisionArgs { file, by, note } } => {
            let config = Config::read(&file.config)?;
            let bound = std::net::TcpListener::bind(config.listen);
            if bound.is_err_and(|error| error.kind() == ErrorKind::AddrInUse) {
                return Err(format!("Something listens on {}: stop the process first.", config.listen).into());
            }
            if let Some(copy) = copy {
                let kept = SqliteOrders::put_back(&copy, &config.database, open::PREFIX).await;
                let kept = kept.map_err(|error| format!("--copy: {error}"))?;
                println!("The copy is in its place. What was there is {}.", kept.display());
            }
            let orders = open::orders_beside(&config).await?;
            let before = orders.shared().await?;
            let (ledger, _) = open::ledger_beside(&config, orders)?;
            if before.may_be_served() || before.copied_at.is_some() {
                let restore = ledger.declare_restore(copied_at.map(Moment::unix), &by, &note).await?;
                println!("Declared: {}.", span(&restore));
            }
            let round = ledger
                .read_restored(leave_unread, |done| {
                    if done % 1000 == 0 {
                        eprintln!("{done} orders are read.");
                    }
                })
                .await?;
            println!("{} orders were read at the service, and come to the application once more.", round.read);
            let (count, some) = (round.unread.len(), first_of(&round.unread));
            if count > 0 && leave_unread {
                println!("{count} were left unread: {some}. Look for their later payments at the payment company.");
            }
            if count == 0 || leave_unread {
                println!(
                    "Start the process. Then compare a statement: `guichet shop reconcile`, and decide what `mismatches list` names."
                );
                return Ok(());
            }
            Err(format!("The service has not answered for {count} orders, such as {}. Run it again.", some).into())
        }
        RestoreCommand::Show { file, json } => {
            let state = open::orders_beside(&Config::read(&file.config)?).await?.shared().await?;
            if json {
                println!("{}", json!({"copied_at": state.copied_at, "restores": state.restores}));
                return Ok(());
            }
            if let Some(copied_at) = state.copied_at {
                println!("This is a copy of {}: declare its restore.", Moment::from_unix(copied_at));
            }
            if state.restores.is_empty() {
                println!("No restore was declared.");
            }
            for restore in &state.restores {
                let unread = match &*restore.unread {
                    _ if !restore.is_read => ", and not every order was read yet".to_owned(),
                    [] => String::new(),
                    unread => format!(", and these were left unread: {}", first_of(unread)),
                };
                let closed = restore.closed.as_ref().map_or("it is open".to_owned(), |closing| {
                    format!(
                        "closed {} by {}: {}",
                        Moment::from_unix(closing.at),
                        printable(&closing.who),
                        printable(&closing.why)
                    )
                });
                println!(
                    "{}, by {}: {}{unread}; {closed}",
                    span(restore),
                    printable(&restore.who),
                    printable(&restore.why)
                );
            }
            Ok(())
        }
        RestoreCommand::Close { decision: DecisionArgs { file, by, note } } => {
            let config = Config::read(&file.config)?;
            let (ledger, _) = open::ledger_beside(&config, open::orders_beside(&config).await?)?;
            for restore in ledger.close_restore(&by, &note).await? {
                println!("Closed: {}.", span(&restore));
            }
            Ok(())
        }
    }
}

/// The first names of many.
fn first_of(names: &[String]) -> String {
    let first: Vec<_> = names.iter().take(5).map(|name| printable(name).to_string()).collect();
    [&*first.join(", "), if names.len() > 5 { ", …" } else { "" }].concat()
}

/// The time of which the ledger knows nothing.
pub(super) fn span(restore: &Restore) -> String {
    let [copied_at, at] = [restore.copied_at, restore.at].map(Moment::from_unix);
    format!("what the ledger did from {copied_at} to {at} is lost")
}
