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
mod inline;
mod npm;
mod pack;
mod package;
mod release;
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
mod steps;
mod test;
mod toolchains;
mod unit_tests;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  demo            build everything, start a shop and the service it uses, and
                  print the address to open (Ctrl-C stops it)
  demo --check    the same purchase in a headless browser, step by step;
                  screenshots of each page are written to target/demo/
  demo --pictures the same, and copies two of them to docs/pictures/
  test            all tests and checks, browsers included, with locked versions of
                  every tool; must pass before a change is merged
  test --all-engines
                  the same, and the tests that otherwise run in Chromium alone
                  also in Firefox and WebKit
  test --newest   the newest tools from npm, the other versions of Rust that are
                  installed, the dependencies' licences, sources and advisories,
                  and semver checks against the last tag
  generate        write the files that follow from the code (docs/errors.md,
                   docs/openapi.json, docs/check-rules.md, docs/index.md, llms.txt,
                   sandbox.d.ts); --check: fail and name them if one is stale
  book            build the documents as a site, in target/book/book/ (the first
                   time it builds mdBook); --serve: show it
  soak            rounds of kill -9, a long load, memory over tens of thousands of
                   calls, mutants of the shop in PHP and 60 checks of correct shops,
                   with progress (about two hours)
  pack            build the npm packages guichet and guichet-sandbox with optimized
                  wasm, as tarballs in target/npm/; fails if one is too large
  pack --quick    build the npm package guichet with Rust alone, in
                  target/npm/package/
  release --dry-run
                  all of a release but the publishing: versions, changelog, tarballs made twice,
                  `npm publish --dry-run`, `cargo publish --dry-run`
  rust-page       build the Rust page examples/rust-page, in target/rust-page/
  size            print the sizes of the package, of what a page loads of it, and
                  the bytes that a browser receives
  bench [NAME…]   run the benchmarks: a release build (minutes, the first time),
                  then one table";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.split_first() {
        Some((command, rest)) => match command.as_str() {
            "bench" => bench::command(rest),
            "book" => book::command(rest),
            "demo" => demo::command(rest),
            "generate" => generate::command(rest),
            "test" => test::command(rest),
            "pack" => pack::command(rest),
            "release" => release::command(rest),
            "rust-page" => rust_page::command(rest),
            "size" => size::command(rest),
            "soak" => soak::command(rest),
            "help" | "--help" | "-h" => {
                println!("{USAGE}");
                Ok(())
            }
            _ => Err(anyhow::anyhow!("unknown command `{command}`\n\n{USAGE}")),
        },
        None => Err(anyhow::anyhow!("{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error:#}");
            ExitCode::FAILURE
        }
    }
}
