//! The failure of a command: a message and an exit code.

use guichet::protocol::{Error, Kind};
use guichet::values::printable;
use std::process::ExitCode;

/// A message for people and an exit code for programs.
#[derive(Debug)]
pub(super) enum Failure {
    /// An error of the argument parser, which also reports `--help` as one, and the exit code of invalid arguments.
    Clap(Box<clap::Error>, u8),
    Message(u8, String),
}

pub(super) const NOT_DONE: u8 = 1;
pub(super) const USAGE: u8 = 2;
pub(super) const NOT_REACHED: u8 = 3;
pub(super) const UNCERTAIN: u8 = 4;
pub(super) const UNREADABLE: u8 = 5;
pub(super) const NOT_ALL_HOLDS: u8 = 6;

impl Failure {
    /// The arguments are invalid.
    pub(super) fn usage(sentence: impl Into<String>) -> Self {
        Self::Message(USAGE, sentence.into())
    }

    /// Adds a line that says what to do.
    pub(super) fn advise(self, advice: &str) -> Self {
        match self {
            Self::Message(code, sentence) => Self::Message(code, format!("{sentence}\n{advice}")),
            clap @ Self::Clap(..) => clap,
        }
    }

    /// Prints the message on stderr. Returns the exit code.
    pub(super) fn report(self) -> ExitCode {
        match self {
            Self::Clap(error, usage) => {
                // If stderr is closed, the message cannot be shown.
                let _ = error.print();
                if error.exit_code() == 0 { ExitCode::SUCCESS } else { ExitCode::from(usage) }
            }
            Self::Message(code, sentence) => {
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
        Self::Clap(Box::new(error), USAGE)
    }
}

/// An error of this machine.
impl From<Box<dyn std::error::Error>> for Failure {
    fn from(error: Box<dyn std::error::Error>) -> Self {
        Self::Message(NOT_DONE, error.to_string())
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
            sentence.push_str(&format!("\nExisting object: {}", printable(existing_id)));
        }
        Self::Message(code, sentence)
    }
}
