//! A network between a server and its database that forgets connections.

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
    accepted: Arc<AtomicUsize>,
}

impl Nat {
    /// Starts to forward connections to this address.
    pub async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (forgotten, watched) = watch::channel(0);
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let number = count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(forward(stream, to, number, watched.clone()));
            }
        });
        Self { address, forgotten, accepted }
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
    pub fn forget(&self) {
        self.forgotten.send_replace(self.accepted());
    }
}

async fn forward(mut stream: TcpStream, to: SocketAddr, number: usize, mut forgotten: watch::Receiver<usize>) {
    let mut database = TcpStream::connect(to).await.expect("the database accepts connections");
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut stream, &mut database) => return,
        result = forgotten.wait_for(|forgotten| number < *forgotten) => {
            if result.is_err() {
                return;
            }
        }
    }
    // Both ends stay open until the test ends.
    let _ = forgotten.wait_for(|_| false).await;
}
