//! Tests of the sandbox, the native client and the command over real sockets, without a browser.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking, may read the clock, and exports nothing"
)]

mod billing;
mod billing_bad_input;
mod billing_killed;
mod billing_model;
mod check;
mod command;
mod connections;
mod control_api;
mod documents;
mod embedding;
mod foreign_text;
mod front_page;
mod generated_clients;
mod generated_files;
mod hosted_without_script;
mod in_process;
mod inspector;
mod interface;
mod late_approvals;
mod ledger;
mod locks;
mod manners;
mod merchant_routes;
mod names;
mod native;
mod openapi;
mod orders;
mod own_page;
mod restore;
mod sandbox_bad_input;
mod sandbox_clock;
mod sandbox_contention;
mod sandbox_credentials;
mod sandbox_customers_esim;
mod sandbox_database;
mod sandbox_database_file;
mod sandbox_every_operation;
mod sandbox_faults;
mod sandbox_idempotency;
mod sandbox_intent_states;
mod sandbox_lifecycle;
mod sandbox_model;
mod sandbox_service;
mod sandbox_session_model;
mod schemathesis;
mod scripts;
mod shop_admin;
mod shop_process;
mod shop_reconcile;
mod shop_rules;
mod site;
mod soak;
mod three_shops;
mod values;

#[path = "../support/mod.rs"]
mod support;
