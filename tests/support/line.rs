//! The way from a browser to every origin, as a proxy that the test holds in its hand: it can be cut, stalled and mended,
//! alike for the three engines, and it keeps account of what was asked of whom.

use axum::body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The network of a browser: [`Engine::start_on`](super::engine::Engine::start_on).
pub struct Line {
    address: SocketAddr,
    state: watch::Sender<State>,
    asked: Asked,
}

/// One request that a browser has sent over its line, whether or not it came through.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    pub method: String,
    /// `http://127.0.0.1:4243`, or `host:443` where it is none of this machine's.
    pub origin: String,
    pub path: String,
}

type Asked = Arc<Mutex<Vec<Request>>>;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Open {
        /// How much later each answer comes.
        latency: Duration,
    },
    /// Nothing comes through, and nothing is said.
    Stalled,
    /// What is under way ends, and what is begun ends at once.
    Cut,
}

impl Line {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, changes) = watch::channel(State::Open { latency: Duration::ZERO });
        let asked = Asked::default();
        tokio::spawn(accept(listener, changes, Arc::clone(&asked)));
        Self { address, state, asked }
    }

    /// Where the proxy is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The network is gone: every connection ends, and every new one.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// What is sent goes nowhere, and what was answered does not arrive, until the line is mended.
    pub fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// The network is there.
    pub fn mend(&self) {
        self.slow(Duration::ZERO);
    }

    /// The network is there, and each answer comes this much later.
    pub fn slow(&self, latency: Duration) {
        self.state.send_replace(State::Open { latency });
    }

    /// What was asked, the oldest first.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// How often this path was asked for by this method.
    pub fn count(&self, method: &str, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.method == method && asked.path == path).count()
    }
}

async fn accept(listener: TcpListener, changes: watch::Receiver<State>, asked: Asked) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    // A connection a request: what the service cuts is not sent again behind the browser's back.
    let client =
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).retry_canceled_requests(false).build(connector);
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(connected(stream, changes.clone(), Arc::clone(&asked), client.clone()));
    }
}

async fn connected(
    stream: TcpStream,
    mut changes: watch::Receiver<State>,
    asked: Asked,
    client: Client<HttpConnector, Body>,
) {
    let on_the_way = changes.clone();
    let service = hyper::service::service_fn(move |request| {
        forward(request, client.clone(), on_the_way.clone(), Arc::clone(&asked))
    });
    let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        biased;
        // Gone with all that is under way on it; the same where the test is over.
        _ = changes.wait_for(|state| *state == State::Cut) => {}
        _ = serving => {}
    }
}

/// An error ends the browser's connection without an answer, as the service's own does.
async fn forward(
    request: http::Request<hyper::body::Incoming>,
    client: Client<HttpConnector, Body>,
    mut changes: watch::Receiver<State>,
    asked: Asked,
) -> Result<http::Response<Body>, io::Error> {
    let uri = request.uri();
    let origin = match (uri.scheme_str(), uri.authority()) {
        (Some(scheme), Some(authority)) => format!("{scheme}://{authority}"),
        _ => uri.to_string(),
    };
    let through = uri.scheme_str() == Some("http");
    asked.lock().unwrap().push(Request { method: request.method().to_string(), origin, path: uri.path().to_owned() });
    if !through {
        return Err(io::Error::other("it goes to this machine alone"));
    }
    passable(&mut changes).await;
    let mut request = request.map(Body::new);
    request.headers_mut().remove("proxy-connection");
    let response = client.request(request).await.map_err(io::Error::other)?;
    tokio::time::sleep(passable(&mut changes).await).await;
    Ok(response.map(Body::new))
}

/// Waits while the line is stalled; how much later an answer comes.
async fn passable(changes: &mut watch::Receiver<State>) -> Duration {
    match changes.wait_for(|state| *state != State::Stalled).await.as_deref() {
        Ok(State::Open { latency }) => *latency,
        _ => Duration::ZERO,
    }
}
