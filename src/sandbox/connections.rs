//! Connections: how many there are, how long one may be silent, and how one is cut.

use super::mount::Cut;
use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How many connections are open at once; who comes later waits.
    pub(super) connections: usize,
    /// How long the head of a request may take to arrive, and a connection may be idle.
    pub(super) head: Duration,
    /// How long a stop waits for requests under way.
    pub(super) patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 1024, head: Duration::from_secs(30), patience: Duration::from_secs(10) }
    }
}

/// Serves until it is told to stop; what is under way then is answered.
pub(super) async fn serve(listener: TcpListener, router: Router, limits: Limits, mut stopped: oneshot::Receiver<()>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    loop {
        let arrived = tokio::select! {
            arrived = accept(&listener, &room) => arrived,
            // Stopped, or the sandbox was dropped: either way it ends.
            _ = &mut stopped => break,
        };
        let Some((socket, place)) = arrived else { continue };
        let connection = open.watch(http.serve_connection(TokioIo::new(socket), service_fn(answers(router.clone()))));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection was cut");
            }
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.patience, open.shutdown()).await.is_err() {
        tracing::warn!("a request was still under way when the sandbox stopped");
    }
}

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((socket, _)) => {
            if let Err(error) = socket.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
            Some((socket, place))
        }
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            // Out of file handles, most likely: asking again at once would only keep a core busy.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

/// Answers as the router does. A response that is marked [`Cut`] is none: the connection ends without a byte of it.
fn answers(router: Router) -> impl Fn(hyper::Request<Incoming>) -> Answer {
    let router = TowerToHyperService::new(router);
    move |request| {
        let answer = router.call(request);
        Box::pin(async move {
            match answer.await {
                Ok(response) if response.extensions().get::<Cut>().is_some() => Err(Ended),
                Ok(response) => Ok(response),
                Err(never) => match never {},
            }
        })
    }
}

type Answer = std::pin::Pin<Box<dyn Future<Output = Result<axum::response::Response, Ended>> + Send>>;

/// The connection was meant to end here.
#[derive(Debug)]
struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it was meant to end here")
    }
}

impl std::error::Error for Ended {}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn who_does_not_finish_a_head_is_cut_and_makes_room() {
        let limits = Limits { connections: 2, head: Duration::from_millis(100), ..Limits::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let router = Router::new().fallback(|| async { "here" });
        let serving = tokio::spawn(serve(listener, router, limits, stopped));
        let mut slow = Vec::new();
        for _ in 0..2 {
            let mut socket = TcpStream::connect(address).await.unwrap();
            socket.write_all(b"GET / HTTP/1.1\r\nHost: ").await.unwrap();
            slow.push(socket);
        }
        let mut patient = TcpStream::connect(address).await.unwrap();
        patient.write_all(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut said = String::new();
        patient.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("here"), "{said}");
        for mut socket in slow {
            let mut rest = Vec::new();
            let _ = socket.read_to_end(&mut rest).await;
            assert!(!rest.starts_with(b"HTTP/1.1 200"));
        }
        stop.send(()).unwrap();
        serving.await.unwrap();
    }
}
