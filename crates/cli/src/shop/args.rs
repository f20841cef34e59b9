//! The options that several commands have.

use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct FileArgs {
    /// The file with the shop's settings.
    #[arg(long, value_name = "FILE", default_value = "shop.toml")]
    pub(super) config: PathBuf,
}

#[derive(Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub(super) file: FileArgs,
    /// Print it as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct DecisionArgs {
    #[command(flatten)]
    pub(super) file: FileArgs,
    /// Who decides it.
    #[arg(long, value_name = "NAME")]
    pub(super) by: String,
    /// Why, for the reader of the history.
    #[arg(long, value_name = "TEXT")]
    pub(super) note: String,
}
