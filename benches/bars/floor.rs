//! The reference for durable creations: a handler that only stores the same rows as the sandbox, in the same commit
//! groups. It reads no fields, validates nothing and generates nothing.

use crate::rows::{self, Template};
use crate::servers::Running;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// The argument that makes this program the floor server.
pub const ARGUMENT: &str = "floor";
/// The most payments per commit, as in the sandbox.
const GROUP: usize = 256;

/// Starts the floor server as a process, with a new database in this folder.
pub fn start(folder: &Path, template: &Template) -> Running {
    fs::write(folder.join("template.json"), serde_json::to_vec(template).unwrap()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(ARGUMENT).arg(folder);
    Running::of(command)
}

/// The floor server's main function.
pub fn serve(folder: &str) {
    let folder = Path::new(folder).to_owned();
    let template: Template = serde_json::from_slice(&fs::read(folder.join("template.json")).unwrap()).unwrap();
    let inserts = template.inserts();
    Floor::serve(template.reply.clone(), |mut gathered| async move {
        let pool = rows::open(&folder.join("floor.sqlite"), true).await;
        for table in &template.schema {
            sqlx::raw_sql(sqlx::AssertSqlSafe(table.clone())).execute(&pool).await.unwrap();
        }
        while let Some((numbers, waiting)) = gathered.next().await {
            let mut connection = pool.acquire().await.unwrap();
            sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.unwrap();
            template.write(&inserts, &mut connection, &numbers).await;
            sqlx::query("COMMIT").execute(&mut *connection).await.unwrap();
            for done in waiting {
                let _ = done.send(());
            }
        }
    });
}

type Job = (u64, oneshot::Sender<()>);

/// The groups of payments to store.
pub struct Groups(mpsc::Receiver<Job>);

impl Groups {
    /// The numbers of the next group, and the senders of its results.
    pub async fn next(&mut self) -> Option<(Vec<u64>, Vec<oneshot::Sender<()>>)> {
        let mut jobs = Vec::with_capacity(GROUP);
        (self.0.recv_many(&mut jobs, GROUP).await > 0).then(|| jobs.into_iter().unzip())
    }
}

/// The handler, whose writer is one task.
#[derive(Clone)]
pub struct Floor {
    jobs: mpsc::Sender<Job>,
    reply: Arc<str>,
    next: Arc<AtomicU64>,
}

impl Floor {
    /// Serves on a free port, which it prints. `write` stores the groups.
    pub fn serve<F: Future<Output = ()> + Send + 'static>(reply: String, write: impl FnOnce(Groups) -> F) {
        // The same number of threads as the sandbox.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let (jobs, gathered) = mpsc::channel(4 * GROUP);
            tokio::spawn(write(Groups(gathered)));
            let state = Self { jobs, reply: reply.into(), next: Arc::new(AtomicU64::new(2)) };
            let router = Router::new().route("/v1/payment-intents", post(store)).with_state(state);
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            println!("http://{}", listener.local_addr().unwrap());
            axum::serve(listener, router).await.unwrap();
        });
    }
}

async fn store(
    State(floor): State<Floor>,
    _: Bytes,
) -> (StatusCode, [(axum::http::HeaderName, &'static str); 1], String) {
    let (done, stored) = oneshot::channel();
    floor.jobs.send((floor.next.fetch_add(1, Ordering::Relaxed), done)).await.unwrap();
    stored.await.unwrap();
    (StatusCode::CREATED, [(CONTENT_TYPE, "application/json")], floor.reply.to_string())
}
