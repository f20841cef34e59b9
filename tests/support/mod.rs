//! The browsers, servers, databases and clients that both test binaries use.
#![allow(dead_code, unused_imports, unused_macros, reason = "each test binary uses a part of it")]

pub mod api;
pub mod bookkeeping;
pub mod browser;
pub mod child;
pub mod database_process;
pub mod demo_shop;
pub mod diagnostics;
pub mod engine;
pub mod fake_service;
pub mod folder;
pub mod generated;
pub mod http;
pub mod mariadb;
pub mod model;
pub mod nat;
pub mod npm_service;
pub mod openapi;
pub mod orders;
pub mod port;
pub mod postgres;
pub mod process;
pub mod proxy;
pub mod recording;
pub mod redis;
pub mod reset;
pub mod service;
pub mod shop_process;
pub mod site;
pub mod soak;
pub mod storefront;
pub mod subscriptions;
pub mod wait;

/// The project's folder.
pub fn root() -> std::path::PathBuf {
    // The tests are targets of the command's package.
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project's folder")
}

/// The cases of a declined payment, but those that need a store, as JSON, and what each of them must be judged.
pub fn late_cases() -> (serde_json::Value, serde_json::Value) {
    let file: serde_json::Value = serde_json::from_str(include_str!("../shop/late.json")).expect("JSON");
    let all = file["cases"].as_array().expect("cases").iter().filter(|case| case.get("final_since").is_none());
    let (cases, expected): (Vec<_>, Vec<_>) = all.map(|case| (case.clone(), case["late"].clone())).unzip();
    assert!(cases.len() > 50);
    (cases.into(), expected.into())
}

/// The folder of the npm tools: `GUICHET_NPM_TOOLS`, or the folder into which `cargo xtask test` installs them.
pub fn npm_tools() -> std::path::PathBuf {
    let default = || crate::support::root().join("target/npm-tools");
    std::env::var_os("GUICHET_NPM_TOOLS").map_or_else(default, Into::into)
}
