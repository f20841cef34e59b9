//! The bars of the project, measured: `cargo xtask bench` makes what this needs, runs it, and prints one table.
//!
//! Every figure is taken side by side with what it is compared to, in turn and in one run, so that whatever else the
//! machine does meets both alike. Nothing here is a test: a busy machine must not fail a build.
//!
//! Each row goes to standard output as one line of JSON, and what is being done to standard error.
#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "a bench that cannot go on ends")]

mod call;
mod chromium;
mod creates;
mod first_fee;
mod floor;
/// The sandbox's own multi-row inserts.
#[allow(unused_imports, reason = "its tests are not run here")]
#[path = "../../src/sandbox/store/insert.rs"]
mod insert;
mod load;
mod measure;
mod million;
mod native;
mod pages;
mod peers;
mod rows;
mod servers;
mod start;

use measure::Row;

/// What can be measured, by the name it is asked for.
const BARS: [&str; 6] = ["native", "creates", "start", "million", "call", "first-fee"];

fn main() {
    // What cargo adds when it runs a bench.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    // One thread: this process is the load, and leaves the rest of the machine to what is measured.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let [verb, database] = &*args
        && verb == floor::VERB
    {
        return floor::serve(database);
    }
    if let Some(unknown) = args.iter().find(|arg| !BARS.contains(&arg.as_str())) {
        eprintln!("There is no bar {unknown}. There are: {}", BARS.join(", "));
        std::process::exit(2);
    }
    for bar in BARS.into_iter().filter(|bar| args.is_empty() || args.iter().any(|arg| arg == bar)) {
        eprintln!("── {bar}");
        let rows: Vec<Row> = match bar {
            "native" => runtime.block_on(native::rows()),
            "creates" => runtime.block_on(creates::rows()),
            "start" => runtime.block_on(start::rows()),
            "million" => runtime.block_on(million::rows()),
            "call" => runtime.block_on(call::rows()),
            "first-fee" => runtime.block_on(first_fee::rows()),
            _ => unreachable!("every bar is named above"),
        };
        for row in rows {
            println!("{}", serde_json::to_string(&row).unwrap());
        }
    }
}
