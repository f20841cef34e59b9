//! The listener: connection limits, timeouts, and connections that are dropped on purpose.

use super::Dropped;
use super::per_address::{PerAddress, Slot};
use axum::body::Body;
use axum::http::{Request, Response};
use guichet::values::printable;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_io_timeout::TimeoutWriter;

/// The default limit of open connections per peer address.
pub(crate) const CONNECTIONS_PER_ADDRESS: usize = 100;

/// Limits and timeouts of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most open connections. Further ones wait.
    pub(crate) connections: usize,
    /// The most open connections of one peer address; loopback is not limited. Further ones are closed at once.
    pub(crate) per_address: usize,
    /// The timeout for receiving the head of a request, and for an idle connection.
    pub(crate) head: Duration,
    /// The timeout for a response that makes no progress because the client does not read it.
    pub(crate) write: Duration,
    /// How long a shutdown waits for requests in flight.
    pub(crate) shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            per_address: CONNECTIONS_PER_ADDRESS,
            head: Duration::from_secs(30),
            write: Duration::from_secs(30),
            shutdown: Duration::from_secs(10),
        }
    }
}

/// Serves with the sandbox's limits and timeouts until `stopped` resolves, then finishes the requests in flight. A
/// response that was dropped closes its connection.
pub async fn serve<F>(
    listener: TcpListener,
    respond: impl Fn(Request<Body>) -> F + Clone + Send + 'static,
    stopped: oneshot::Receiver<()>,
) where
    F: Future<Output = Result<Response<Body>, Dropped>> + Send + 'static,
{
    serve_within(Limits::default(), listener, respond, stopped).await;
}

/// Serves as [`serve`], with other limits.
pub(crate) async fn serve_within<F>(
    limits: Limits,
    listener: TcpListener,
    respond: impl Fn(Request<Body>) -> F + Clone + Send + 'static,
    mut stopped: oneshot::Receiver<()>,
) where
    F: Future<Output = Result<Response<Body>, Dropped>> + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let open = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(limits.connections));
    let per_address = PerAddress::new(limits.per_address);
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits, &per_address) => accepted,
            // An error means that the sender was dropped: that is a stop too.
            _ = &mut stopped => break,
        };
        let Some((socket, permit, slot)) = accepted else { continue };
        // Without a timeout, a client that never reads its response would hold the connection for ever.
        let mut socket = TimeoutWriter::new(socket);
        socket.set_timeout(Some(limits.write));
        let io = TokioIo::new(Box::pin(socket));
        let respond = respond.clone();
        let service = service_fn(move |request: Request<Incoming>| respond(request.map(Body::new)));
        let connection = open.watch(http.serve_connection(io, service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = %printable(&error), "a connection was closed early");
            }
            drop((permit, slot));
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.shutdown, open.shutdown()).await.is_err() {
        tracing::warn!("a request was still in flight when the server stopped");
    }
}

/// Accepts the next connection. `None` if accepting failed or the peer address has too many connections.
async fn accept(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    per_address: &Arc<PerAddress>,
) -> Option<(TcpStream, OwnedSemaphorePermit, Option<Slot>)> {
    let permit = Arc::clone(permits).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, peer)) => {
            let slot = per_address.take(peer.ip()).ok()?;
            if let Err(error) = socket.set_nodelay(true) {
                tracing::debug!(error = %printable(&error), "TCP_NODELAY could not be set");
            }
            Some((socket, permit, slot))
        }
        Err(error) => {
            tracing::warn!(error = %printable(&error), "a connection could not be accepted");
            // Probably there are no file descriptors left: retrying at once would only keep a core busy.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Bytes;
    use axum::routing::get;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::task::JoinHandle;
    use tower_service::Service as _;

    /// A server with these limits.
    struct Server {
        address: SocketAddr,
        stop: oneshot::Sender<()>,
        serving: JoinHandle<()>,
    }

    impl Server {
        async fn start(ip: IpAddr, limits: Limits) -> Self {
            let listener = TcpListener::bind((ip, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let (stop, stopped) = oneshot::channel();
            // Larger than the sockets' buffers.
            let large = Bytes::from(vec![b'x'; LARGE]);
            let router = Router::new().route("/large", get(async move || large)).route("/", get(async || "here"));
            let respond = move |request: Request<Body>| {
                let mut router = router.clone();
                async move {
                    let Ok(response) = router.call(request).await;
                    Ok(response)
                }
            };
            Self { address, stop, serving: tokio::spawn(serve_within(limits, listener, respond, stopped)) }
        }

        /// Connects and sends this text.
        async fn send(&self, text: &[u8]) -> TcpStream {
            let mut socket = TcpStream::connect(self.address).await.unwrap();
            socket.write_all(text).await.unwrap();
            socket
        }

        /// Makes a whole request, which is answered.
        async fn is_responding(&self) {
            let mut normal = self.send(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").await;
            let mut response = String::new();
            let read = tokio::time::timeout(Duration::from_secs(60), normal.read_to_string(&mut response));
            read.await.expect("the other clients are disconnected").unwrap();
            assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("here"), "{response}");
        }

        async fn stop(self) {
            self.stop.send(()).unwrap();
            self.serving.await.unwrap();
        }
    }

    const LARGE: usize = 32 << 20;
    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[tokio::test]
    async fn a_client_that_does_not_finish_its_head_is_disconnected_and_frees_its_place() {
        let limits = Limits { connections: 2, head: Duration::from_secs(1), ..Limits::default() };
        let server = Server::start(LOOPBACK, limits).await;
        let mut slow = Vec::new();
        for _ in 0..2 {
            slow.push(server.send(b"GET / HTTP/1.1\r\nHost: ").await);
        }
        server.is_responding().await;
        for mut socket in slow {
            let mut rest = Vec::new();
            let _ = socket.read_to_end(&mut rest).await;
            assert!(!rest.starts_with(b"HTTP/1.1 200"));
        }
        server.stop().await;
    }

    #[tokio::test]
    async fn clients_that_never_read_their_responses_are_disconnected_and_free_their_places() {
        const CLIENTS: usize = 8;
        let limits = Limits { connections: CLIENTS, write: Duration::from_millis(300), ..Limits::default() };
        let server = Server::start(LOOPBACK, limits).await;
        let mut not_reading = Vec::new();
        for _ in 0..CLIENTS {
            not_reading.push(server.send(&b"GET /large HTTP/1.1\r\nHost: here\r\n\r\n".repeat(4)).await);
        }
        server.is_responding().await;
        drop(not_reading);
        server.stop().await;
    }

    #[tokio::test]
    async fn a_client_that_reads_slowly_but_steadily_gets_the_whole_response() {
        let server = Server::start(LOOPBACK, Limits { write: Duration::from_secs(3), ..Limits::default() }).await;
        let mut slow = server.send(b"GET /large HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").await;
        let (mut read, mut piece) = (0, vec![0; 256 << 10]);
        loop {
            let some = slow.read(&mut piece).await.unwrap();
            if some == 0 {
                break;
            }
            read += some;
            // The whole transfer takes far longer than the timeout; each pause is shorter.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(read > LARGE, "{read} of {LARGE}");
        server.stop().await;
    }

    #[tokio::test]
    async fn one_address_cannot_take_every_connection() {
        // A connection to a non-loopback address of this machine has that address as its peer.
        let probe = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
        probe.connect("192.0.2.1:9").expect("this test needs a network: loopback addresses are not limited");
        let own = probe.local_addr().unwrap().ip();
        let server = Server::start(own, Limits { per_address: 2, ..Limits::default() }).await;
        let mut open = Vec::new();
        for number in 0..3 {
            let mut socket = TcpStream::connect(server.address).await.unwrap();
            let _ = socket.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await;
            let mut head = [0; 12];
            let answered = socket.read_exact(&mut head).await.is_ok();
            assert_eq!(answered, number < 2, "connection {number}");
            open.push(socket);
        }
        drop(open);
        server.stop().await;
    }
}
