//! The project's own commands, one file each.

mod bench;
mod binaries;
mod book;
mod bytes;
mod cargo;
mod consumers;
mod demo;
mod durations;
mod frameworks;
mod generate;
mod glue;
mod hosted_page;
mod inline;
mod npm;
mod pack;
mod package;
mod release;
mod run;
mod rust_consumers;
mod rust_page;
#[allow(dead_code, reason = "cargo runs its main")]
#[path = "../../crates/sandbox/build.rs"]
mod sandbox_build;
mod sandbox_package;
mod semver;
mod server_package;
mod services;
mod setup;
mod shrink;
mod size;
mod soak;
mod static_binary;
mod steps;
mod test;
mod toolchains;
mod unit_tests;

use std::process::ExitCode;

use clap::Parser;

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Run the benchmarks, all of them or those that are named, and print one table; builds in release mode
    Bench { names: Vec<String> },
    /// Build the documents as a site, in target/book/book/; builds mdBook the first time
    Book {
        /// Show it
        #[arg(long)]
        serve: bool,
    },
    /// Build everything, start a shop and the service it uses, and print the address to open; Ctrl-C stops it
    Demo(demo::Options),
    /// Write the files that follow from the code: docs/errors.md, docs/openapi.json, docs/index.md, llms.txt,
    /// sandbox.d.ts …
    Generate {
        /// Write nothing; fail and name them if one is stale
        #[arg(long)]
        check: bool,
    },
    /// Build the npm packages with optimized wasm, as tarballs in target/npm/; fails if one is too large
    Pack(pack::Options),
    /// Do all of a release but the publishing: versions, changelog, tarballs made twice, `npm publish --dry-run`,
    /// `cargo publish --dry-run`
    Release {
        /// Required: only the workflow of a tag publishes (docs/releasing.md)
        #[arg(long, required = true)]
        dry_run: bool,
    },
    /// Build the Rust page examples/rust-page, in target/rust-page/
    RustPage,
    /// Print the sizes of the package, of what a page loads of it, and the bytes that a browser receives
    Size,
    /// Run the soak tests, with progress: rounds of kill -9, a long load, memory, mutants of the shop in PHP (about two
    /// hours)
    Soak,
    /// Run all tests and checks, browsers included, with locked versions of every tool; must pass before a change is
    /// merged
    Test(test::Options),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Bench { names } => bench::command(&names),
        Command::Book { serve } => book::build(if serve { "serve" } else { "build" }),
        Command::Demo(options) => demo::command(&options),
        Command::Generate { check } => generate::command(check),
        Command::Pack(options) => pack::command(&options),
        Command::Release { dry_run: _ } => release::command(),
        Command::RustPage => rust_page::command(),
        Command::Size => size::command(),
        Command::Soak => soak::command(),
        Command::Test(options) => test::command(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_argument_is_refused_with_the_nearest_and_help_starts_nothing() {
        let refused = |arguments: &[&str]| {
            let arguments = [&["cargo xtask"], arguments].concat();
            Command::try_parse_from(arguments).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(refused(&["demo", "--help"]).contains("Usage: cargo xtask demo"));
        assert!(refused(&["demo", "--chek"]).contains("--check"));
        assert!(refused(&["tset"]).contains("'test'"));
        for command in ["bench", "book", "demo", "generate", "pack", "rust-page", "size", "soak", "test"] {
            assert!(refused(&[command, "--what"]).contains("--what"), "{command}");
            assert_eq!(refused(&[command]), "", "{command}");
        }
        assert!(refused(&["release"]).contains("--dry-run"));
        assert!(refused(&["test", "--newest", "--all-engines"]).contains("cannot be used with"));
    }
}
