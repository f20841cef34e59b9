//! A proxy between a browser and all origins, which a test can cut, stall, slow down and restore, in the same way for all three
//! engines. It records the requests.

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

/// One request of the browser, whether or not it was forwarded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    pub method: String,
    /// The origin: `http://127.0.0.1:4243`, or `host:443` for other machines.
    pub origin: String,
    pub path: String,
}

type Asked = Arc<Mutex<Vec<Request>>>;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Open {
        /// The delay of each response.
        latency: Duration,
    },
    /// Connections stay open, but nothing is forwarded.
    Stalled,
    /// All connections are closed, and new ones at once.
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

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections, and new ones at once: the network is down.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Forwards nothing in either direction until [`Line::mend`].
    pub fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// Restores the network.
    pub fn mend(&self) {
        self.slow(Duration::ZERO);
    }

    /// Restores the network with a delay of each response.
    pub fn slow(&self, latency: Duration) {
        self.state.send_replace(State::Open { latency });
    }

    /// The requests, oldest first.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    /// The number of requests with this method and path.
    pub fn count(&self, method: &str, path: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.method == method && asked.path == path).count()
    }
}

async fn accept(listener: TcpListener, changes: watch::Receiver<State>, asked: Asked) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    // One connection per request: a request whose connection the service closes is not retried by the HTTP library.
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
        // Closed with everything in flight; also at the end of the test.
        _ = changes.wait_for(|state| *state == State::Cut) => {}
        _ = serving => {}
    }
}

/// An error closes the browser's connection without a response, like one of the service.
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

/// Waits while the proxy is stalled. Returns the delay of responses.
async fn passable(changes: &mut watch::Receiver<State>) -> Duration {
    match changes.wait_for(|state| *state != State::Stalled).await.as_deref() {
        Ok(State::Open { latency }) => *latency,
        _ => Duration::ZERO,
    }
}
