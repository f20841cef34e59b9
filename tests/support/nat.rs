//! A network between a server and its database that forgets connections.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Forwards connections to an address.
pub struct Nat {
    address: SocketAddr,
    /// Becomes true when the open connections are forgotten. New ones have another.
    forgotten: Arc<Mutex<watch::Sender<bool>>>,
    accepted: Arc<AtomicUsize>,
}

impl Nat {
    /// Starts to forward connections to this address.
    pub async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let forgotten = Arc::new(Mutex::new(watch::Sender::new(false)));
        let accepted = Arc::new(AtomicUsize::new(0));
        let (count, watched) = (Arc::clone(&accepted), Arc::clone(&forgotten));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let forgotten = watched.lock().expect("no holder panics").subscribe();
                tokio::spawn(forward(stream, to, forgotten));
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
    pub async fn forget(&self) {
        let of_new_ones = watch::Sender::new(false);
        let of_open_ones = std::mem::replace(&mut *self.forgotten.lock().expect("no holder panics"), of_new_ones);
        of_open_ones.send_replace(true);
        of_open_ones.closed().await;
    }
}

async fn forward(mut stream: TcpStream, to: SocketAddr, mut forgotten: watch::Receiver<bool>) {
    let mut database = TcpStream::connect(to).await.expect("the database accepts connections");
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut stream, &mut database) => return,
        _ = forgotten.wait_for(|forgotten| *forgotten) => {}
    }
    // `forget` waits for this.
    drop(forgotten);
    // Both ends stay open until the test ends.
    std::future::pending().await
}
