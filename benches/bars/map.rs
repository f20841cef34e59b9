//! The reference for creations in memory: a bare handler that parses the body and keeps it in a map.

use crate::servers::Running;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// The argument that makes this program the server.
pub const ARGUMENT: &str = "map";

type Payments = Arc<Mutex<HashMap<String, Value>>>;

/// Starts the server as a process.
pub fn start() -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(ARGUMENT);
    Running::of(command)
}

/// The server's main function.
pub fn serve() {
    // The same number of threads as the sandbox.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let router = Router::new().route("/v1/payment-intents", post(create)).with_state(Payments::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("http://{}", listener.local_addr().unwrap());
        axum::serve(listener, router).await.unwrap();
    });
}

async fn create(State(payments): State<Payments>, Json(order): Json<Value>) -> (StatusCode, Json<Value>) {
    let reference = order["merchant_reference"].as_str().unwrap().to_owned();
    let reply = json!({ "status_code": 201, "response_type": "success", "message": "", "data": order });
    payments.lock().unwrap().insert(reference, order);
    (StatusCode::CREATED, Json(reply))
}
