//! A proxy between a browser and all origins, in the same way for all three engines. It records the requests, and a
//! test can disconnect, stall, delay and restore it.

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

/// The proxy of one browser: see [`Browser::proxy`](super::browser::Browser::proxy).
pub struct Proxy {
    address: SocketAddr,
    state: watch::Sender<State>,
    requests: Requests,
}

/// One request of the browser, whether or not it was forwarded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Request {
    pub method: String,
    /// The origin: `http://127.0.0.1:4243`, or `host:443` for other machines.
    pub origin: String,
    pub path: String,
}

type Requests = Arc<Mutex<Vec<Request>>>;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Open {
        /// The delay of each response.
        latency: Duration,
    },
    /// Connections stay open, but nothing is forwarded.
    Stalled,
    /// All connections are closed, and new ones at once.
    Disconnected,
    /// All is forwarded but scripts.
    WithoutScripts,
}

impl Proxy {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, changes) = watch::channel(State::Open { latency: Duration::ZERO });
        let requests = Requests::default();
        tokio::spawn(accept(listener, changes, Arc::clone(&requests)));
        Self { address, state, requests }
    }

    /// The address of the proxy.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections, and new ones at once: the network is down.
    pub fn disconnect(&self) {
        self.state.send_replace(State::Disconnected);
    }

    /// Forwards nothing in either direction until [`Proxy::reconnect`].
    pub fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// Closes each connection on which a script is requested.
    pub fn block_scripts(&self) {
        self.state.send_replace(State::WithoutScripts);
    }

    /// Restores the network.
    pub fn reconnect(&self) {
        self.delay_responses(Duration::ZERO);
    }

    /// Restores the network with a delay of each response.
    pub fn delay_responses(&self, latency: Duration) {
        self.state.send_replace(State::Open { latency });
    }

    /// Restores the network for another test, and forgets the requests.
    pub fn renew(&self) {
        self.requests.lock().unwrap().clear();
        self.reconnect();
    }

    /// The requests, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The number of requests with this method and path.
    pub fn count(&self, method: &str, path: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|request| request.method == method && request.path == path).count()
    }
}

async fn accept(listener: TcpListener, changes: watch::Receiver<State>, requests: Requests) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    // One connection per request: a request whose connection the service closes is not retried by the HTTP library.
    let client =
        Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).retry_canceled_requests(false).build(connector);
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, changes.clone(), Arc::clone(&requests), client.clone()));
    }
}

async fn serve(
    stream: TcpStream,
    mut changes: watch::Receiver<State>,
    requests: Requests,
    client: Client<HttpConnector, Body>,
) {
    let for_requests = changes.clone();
    let service = hyper::service::service_fn(move |request| {
        forward(request, client.clone(), for_requests.clone(), Arc::clone(&requests))
    });
    let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        biased;
        // `disconnect` closes it with everything in flight. Each test ends with that.
        _ = changes.wait_for(|state| *state == State::Disconnected) => {}
        _ = serving => {}
    }
}

/// Forwards one request. If it returns an error, the browser's connection is closed without a response.
async fn forward(
    request: http::Request<hyper::body::Incoming>,
    client: Client<HttpConnector, Body>,
    mut changes: watch::Receiver<State>,
    requests: Requests,
) -> Result<http::Response<Body>, io::Error> {
    let uri = request.uri();
    let origin = match (uri.scheme_str(), uri.authority()) {
        (Some(scheme), Some(authority)) => format!("{scheme}://{authority}"),
        _ => uri.to_string(),
    };
    let is_http = uri.scheme_str() == Some("http");
    requests.lock().unwrap().push(Request {
        method: request.method().to_string(),
        origin,
        path: uri.path().to_owned(),
    });
    // Tests use plain http on this machine. Any other request is of the browser itself.
    if !is_http {
        return Err(io::Error::other("only http is forwarded"));
    }
    wait_while_stalled(&mut changes).await;
    if *changes.borrow() == State::WithoutScripts && uri.path().ends_with(".js") {
        return Err(io::Error::other("scripts are not forwarded"));
    }
    let mut request = request.map(Body::new);
    request.headers_mut().remove("proxy-connection");
    let response = client.request(request).await.map_err(io::Error::other)?;
    tokio::time::sleep(wait_while_stalled(&mut changes).await).await;
    Ok(response.map(Body::new))
}

/// Waits while the proxy is stalled. Returns the delay of responses.
async fn wait_while_stalled(changes: &mut watch::Receiver<State>) -> Duration {
    match changes.wait_for(|state| *state != State::Stalled).await.as_deref() {
        Ok(State::Open { latency }) => *latency,
        _ => Duration::ZERO,
    }
}
