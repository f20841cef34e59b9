//! A network between a server and its database that forgets connections.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections to an address.
pub struct Nat {
    address: SocketAddr,
    /// The connections with a smaller number are forgotten.
    forgotten: watch::Sender<usize>,
    /// The numbers of the connections that are forwarded.
    forwarded: watch::Sender<BTreeSet<usize>>,
    accepted: Arc<AtomicUsize>,
}

impl Nat {
    /// Starts to forward connections to this address.
    pub async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (forgotten, watched) = watch::channel(0);
        let forwarded = watch::Sender::default();
        let accepted = Arc::new(AtomicUsize::new(0));
        let (count, numbers) = (Arc::clone(&accepted), forwarded.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst);
                numbers.send_modify(|numbers: &mut BTreeSet<_>| {
                    numbers.insert(number);
                });
                tokio::spawn(forward(stream, to, number, watched.clone(), numbers.clone()));
            }
        });
        Self { address, forgotten, forwarded, accepted }
    }

    /// The address that forwards.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections so far.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Forwards nothing more of the open connections, and closes none of them. New ones are forwarded.
    pub async fn forget(&self) {
        let accepted = self.accepted();
        self.forgotten.send_replace(accepted);
        let is_over = |numbers: &BTreeSet<usize>| numbers.range(..accepted).next().is_none();
        self.forwarded.subscribe().wait_for(is_over).await.expect("the sender is open");
    }
}

async fn forward(
    mut stream: TcpStream,
    to: SocketAddr,
    number: usize,
    mut forgotten: watch::Receiver<usize>,
    forwarded: watch::Sender<BTreeSet<usize>>,
) {
    let mut database = TcpStream::connect(to).await.expect("the database accepts connections");
    let is_closed = tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut stream, &mut database) => true,
        result = forgotten.wait_for(|forgotten| number < *forgotten) => result.is_err(),
    };
    forwarded.send_modify(|numbers| {
        numbers.remove(&number);
    });
    if !is_closed {
        // Both ends stay open until the test ends.
        let _ = forgotten.wait_for(|_| false).await;
    }
}
