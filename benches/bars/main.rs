//! The benchmarks of the project. `cargo xtask bench` prepares and runs them, and prints one table.
//!
//! Each figure and its reference are measured in turn, in one run, so that the load of the machine affects both alike.
//! Nothing here is a test: a busy machine must not fail a build.
//!
//! Each row is one line of JSON on standard output; progress is on standard error.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a benchmark that cannot continue ends, and exports nothing"
)]

mod call;
mod chromium;
mod creates;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/database_process.rs"]
mod database_process;
mod first_fee;
mod floor;
/// The sandbox's own multi-row inserts.
#[allow(unused_imports, reason = "its tests do not run here")]
#[path = "../../crates/sandbox/src/store/sqlite/insert.rs"]
mod insert;
mod ledger;
mod load;
mod map;
mod measure;
mod million;
mod native;
mod pages;
#[path = "../../tests/support/port.rs"]
mod port;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/support/redis.rs"]
mod redis;
mod rows;
mod servers;
mod sessions;
mod shop;
mod start;

use measure::Row;

/// The names of the benchmarks.
const BARS: [&str; 9] = ["native", "sessions", "creates", "start", "million", "ledger", "shop", "call", "first-fee"];

fn main() {
    // cargo adds this argument.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    // One thread: this process is the load, and the other cores are for the servers.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let [verb, database] = &*args
        && verb == floor::ARGUMENT
    {
        return floor::serve(database);
    }
    if args == [map::ARGUMENT] {
        return map::serve();
    }
    if let Some(unknown) = args.iter().find(|arg| !BARS.contains(&arg.as_str())) {
        eprintln!("Unknown benchmark {unknown}. The benchmarks are: {}", BARS.join(", "));
        std::process::exit(2);
    }
    for bar in BARS.into_iter().filter(|bar| args.is_empty() || args.iter().any(|arg| arg == bar)) {
        eprintln!("── {bar}");
        let rows: Vec<Row> = match bar {
            "native" => runtime.block_on(native::rows()),
            "sessions" => runtime.block_on(sessions::rows()),
            "creates" => runtime.block_on(creates::rows()),
            "start" => runtime.block_on(start::rows()),
            "million" => runtime.block_on(million::rows()),
            "ledger" => runtime.block_on(ledger::rows()),
            "shop" => runtime.block_on(shop::rows()),
            "call" => runtime.block_on(call::rows()),
            "first-fee" => runtime.block_on(first_fee::rows()),
            _ => unreachable!("all names were checked above"),
        };
        for row in rows {
            println!("{}", serde_json::to_string(&row).unwrap());
        }
    }
}
