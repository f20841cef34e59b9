//! A minimal HTTP load generator over keep-alive connections: the less it costs, the more of the server is measured.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// One connection to a server.
pub struct Connection {
    send: SendRequest<Body>,
}

impl Connection {
    pub async fn open(base_url: &str) -> Self {
        let address = base_url.strip_prefix("http://").unwrap();
        let socket = TcpStream::connect(address).await.unwrap();
        socket.set_nodelay(true).unwrap();
        let (send, connection) = handshake(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        Self { send }
    }

    /// Sends a request and reads the whole response.
    pub async fn send(&mut self, request: Request<Body>) -> (StatusCode, Vec<u8>) {
        self.send.ready().await.unwrap();
        let reply = self.send.send_request(request).await.unwrap();
        let status = reply.status();
        let body = axum::body::to_bytes(Body::new(reply.into_body()), usize::MAX).await.unwrap();
        (status, body.into())
    }
}

/// Builds the request with this number.
pub type Make = Arc<dyn Fn(u64) -> Request<Body> + Send + Sync>;

/// Measures the successful requests per second over `connections` connections, for this time.
pub async fn rate(base_url: &str, connections: usize, time: Duration, numbers: &Arc<AtomicU64>, make: &Make) -> f64 {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(base_url).await);
    }
    let begun = Instant::now();
    let mut work = JoinSet::new();
    for mut connection in open {
        let (numbers, make) = (Arc::clone(numbers), Arc::clone(make));
        work.spawn(async move {
            let mut answered = 0_u64;
            while begun.elapsed() < time {
                let (status, body) = connection.send(make(numbers.fetch_add(1, Ordering::Relaxed))).await;
                assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
                answered += 1;
            }
            answered
        });
    }
    let answered: u64 = work.join_all().await.into_iter().sum();
    answered as f64 / begun.elapsed().as_secs_f64()
}
