//! How a command ends that did not do what it was asked.

use crate::protocol::{Error, Kind};
use crate::values::printable;
use std::process::ExitCode;

/// A sentence for the person at the terminal, and an exit code for the program there.
#[derive(Debug)]
pub(super) enum Failure {
    /// Said by the parser of the command line, which also says `--help` in this way.
    Clap(Box<clap::Error>),
    Said(u8, String),
}

pub(super) const NOT_DONE: u8 = 1;
pub(super) const USAGE: u8 = 2;
pub(super) const NOT_REACHED: u8 = 3;
pub(super) const UNCERTAIN: u8 = 4;
pub(super) const UNREADABLE: u8 = 5;
pub(super) const NOT_ALL_HOLDS: u8 = 6;

impl Failure {
    /// What was given is no command.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::Said(USAGE, sentence.into())
    }

    /// Tells it on stderr.
    pub fn tell(self) -> ExitCode {
        match self {
            Self::Clap(error) => {
                // Where nobody reads, nobody is told.
                let _ = error.print();
                ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
            }
            Self::Said(code, sentence) => {
                for line in sentence.lines() {
                    eprintln!("guichet: {}", printable(line));
                }
                ExitCode::from(code)
            }
        }
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Clap(Box::new(error))
    }
}

/// What this machine could not do.
impl From<Box<dyn std::error::Error>> for Failure {
    fn from(error: Box<dyn std::error::Error>) -> Self {
        Self::Said(NOT_DONE, error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            Kind::Input => USAGE,
            Kind::Offline | Kind::Timeout | Kind::Address => NOT_REACHED,
            Kind::Uncertain => UNCERTAIN,
            Kind::Unreadable => UNREADABLE,
            _ => NOT_DONE,
        };
        let mut sentence = error.to_string();
        if let Some(code) = error.code() {
            sentence.push_str(&format!(" [{}]", printable(code)));
        }
        if let Some(existing_id) = error.existing_id() {
            sentence.push_str(&format!("\nThere is already: {}", printable(existing_id)));
        }
        Self::Said(code, sentence)
    }
}
