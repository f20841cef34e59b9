//! `guichet shop events`: what the application has not received.

use super::args::FileArgs;
use super::config::Config;
use super::open;
use clap::Subcommand;
use guichet::native::ledger::Store;
use guichet::values::printable;
use serde_json::{Value, json};

#[derive(Subcommand)]
pub(super) enum EventsCommand {
    /// List the events that the application has not received.
    List {
        #[command(flatten)]
        file: FileArgs,
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Deliver them once more, now.
    Resend {
        #[command(flatten)]
        file: FileArgs,
    },
}

pub(super) async fn events(command: EventsCommand) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        EventsCommand::List { file, json } => {
            let orders = open::orders_beside(&Config::read(&file.config)?).await?;
            let events = orders.events(None).await?;
            let bodies = events.iter().map(|event| serde_json::from_str(&event.body).unwrap_or(json!(event.body)));
            let bodies: Vec<Value> = bodies.collect();
            if json {
                println!("{}", json!({"events": bodies}));
            } else if bodies.is_empty() {
                println!("The application has received every event.");
            } else {
                for (event, body) in events.iter().zip(&bodies) {
                    let state = body["state"].as_str().unwrap_or_default();
                    println!("{}  {}  {}", printable(&event.name), event.version, printable(state));
                }
            }
            Ok(())
        }
        EventsCommand::Resend { file } => {
            let config = Config::read(&file.config)?;
            let orders = open::orders_beside(&config).await?;
            let before = orders.events(None).await?.len();
            let (ledger, seller) = open::ledger_beside(&config, orders)?;
            // One call delivers for ten seconds: again, for as long as that delivers some.
            let (mut waiting, mut delivers) = (before, true);
            while waiting > 0 && delivers {
                let left = ledger.deliver_due(&seller).await?;
                (delivers, waiting) = (left < waiting, left);
            }
            println!("The application has received {} of {before} events.", before - waiting.min(before));
            match waiting {
                0 => Ok(()),
                _ => {
                    Err("The others wait: see the log for the causes. The process delivers them again by itself."
                        .into())
                }
            }
        }
    }
}
