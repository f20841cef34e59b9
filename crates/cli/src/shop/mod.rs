//! `guichet shop`: the merchant's half as a process beside an application in any language. It has the routes of the
//! page, the ledger, the settling and the secret key; the application answers signed messages at one address.
//!
//! - [`config`] is `shop.toml`, and [`secret`] what the two share.
//! - [`application`] sends a message, and names the cause if there is no answer; [`customer`] and [`seller`] read the
//!   answers.
//! - [`serve`] has the routes and the rounds, and [`metrics`] what an operator watches.
//! - [`deliveries`] shows in the sandbox's inspector what the application has received.
//! - [`reconcile`] compares a payment company's statement with the orders.
//! - [`init`] writes an application to begin with, [`events`] has what the application has not received, [`books`] what
//!   a bookkeeper decides, and [`restore`] copies.

mod admin;
mod application;
mod args;
mod books;
mod config;
mod customer;
mod deliveries;
mod events;
mod init;
mod metrics;
mod open;
mod reconcile;
mod restore;
mod secret;
mod seller;
mod serve;
mod utc_offset;

use super::failure::Failure;
use args::FileArgs;
use clap::{Args, Subcommand};
use serve::Log;
use std::net::SocketAddr;
use std::path::PathBuf;

const AFTER: &str = "\
The secret key comes from GUICHET_SECRET_KEY; after it was replaced, the former one from GUICHET_FORMER_SECRET_KEY. The secret that signs the
messages comes from GUICHET_APP_SECRET or the file `app-secret` beside shop.toml: one, or two during a rotation.";

#[derive(Args)]
#[command(after_long_help = AFTER, args_conflicts_with_subcommands = true)]
pub(super) struct ShopArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<ShopCommand>,
}

#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    file: FileArgs,
    /// Run the test service, too: no real money moves. Its address may be given; port 0 takes a free port.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:4243", value_parser = super::serve::listen_address)]
    sandbox: Option<SocketAddr>,
    /// The folder of the npm package, for the hosted page of the test service.
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    package: Option<PathBuf>,
    /// The folder of your own checkout page, which the test service then serves in the place of its own.
    #[arg(long, value_name = "DIR", requires = "sandbox")]
    checkout: Option<PathBuf>,
    /// Print one line of JSON when ready, and nothing else on stdout.
    #[arg(long)]
    json: bool,
    /// How the log is written, on stderr.
    #[arg(long, value_enum, default_value_t = Log::Text)]
    log: Log,
}

#[derive(Subcommand)]
enum ShopCommand {
    /// Write an application to begin with, its page and its settings into an empty folder.
    Init(init::InitArgs),
    /// Print a new secret for the messages.
    Secret,
    /// What the application has not received.
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// The orders and their payments.
    #[command(subcommand)]
    Orders(books::OrdersCommand),
    /// What is to be given back.
    #[command(subcommand)]
    Refunds(books::RefundsCommand),
    /// Write a copy of the ledger into a new file, also while the process runs.
    Backup(restore::BackupArgs),
    /// A ledger that was restored from a copy.
    #[command(subcommand)]
    Restore(restore::RestoreCommand),
    /// Payments about which a person decides.
    #[command(subcommand)]
    Mismatches(books::MismatchesCommand),
    /// The sums of what was paid on a day, by method and currency.
    Day(books::DayArgs),
    /// Compare a payment company's statement, as CSV, with the orders.
    Reconcile(reconcile::ReconcileArgs),
}

impl ShopArgs {
    /// How the log is written; no command of `shop` but the process itself has a choice.
    pub(super) fn log_is_json(&self) -> bool {
        self.command.is_none() && self.run.log == Log::Json
    }
}

pub(super) async fn shop(args: ShopArgs) -> Result<(), Failure> {
    match args.command {
        None => serve::run(args.run).await.map_err(Failure::from),
        Some(ShopCommand::Init(args)) => init::init(args).map_err(|why| Failure::from(Box::from(why))),
        Some(ShopCommand::Secret) => {
            println!("{}", *secret::new().map_err(|why| Failure::from(Box::from(why)))?);
            Ok(())
        }
        Some(ShopCommand::Events(command)) => events::events(command).await.map_err(Failure::from),
        Some(ShopCommand::Orders(command)) => books::orders(command).await.map_err(Failure::from),
        Some(ShopCommand::Refunds(command)) => books::refunds(command).await.map_err(Failure::from),
        Some(ShopCommand::Backup(args)) => restore::backup(args).await.map_err(Failure::from),
        Some(ShopCommand::Restore(command)) => restore::restore(command).await.map_err(Failure::from),
        Some(ShopCommand::Mismatches(command)) => books::mismatches(command).await.map_err(Failure::from),
        Some(ShopCommand::Day(args)) => books::day(args).await.map_err(Failure::from),
        Some(ShopCommand::Reconcile(args)) => reconcile::reconcile(args).await,
    }
}
