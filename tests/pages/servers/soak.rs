//! Correct shops pass every rule of the check, also if the machine is busy and the network between shop and service is
//! slow. A rule that is sometimes wrong is worse than none.

use super::KEY;
use super::running::{Server, ShopServer};
use crate::support::port;
use crate::support::soak::Progress;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const RUNS: usize = 60;
/// The checks at the same time. They keep two cores busy.
const AT_ONCE: usize = 6;
/// The shortest and the longest delay of what is sent, in milliseconds.
const DELAYS: (u64, u64) = (20, 120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs files that `cargo xtask soak` builds"]
async fn correct_shops_pass_the_check_in_every_run() {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut checks = JoinSet::new();
    for server in [Server::Express, Server::Php].into_iter().cycle().take(RUNS) {
        let permits = Arc::clone(&permits);
        checks.spawn(async move {
            let _permit = permits.acquire_owned().await.unwrap();
            let service = format!("127.0.0.1:{}", port::free());
            let mut shop = ShopServer::start(server, &slow_network(service.clone()).await, KEY).await;
            (server, shop.check(&service, &[]).await)
        });
    }
    let mut progress = Progress::new("checks of correct shops", RUNS);
    let (mut done, mut wrong) = (0, Vec::new());
    while let Some(checked) = checks.join_next().await {
        let (server, (has_passed, report)) = checked.unwrap();
        done += 1;
        progress.at(done, &format!("{} false alarms", wrong.len() + usize::from(!has_passed)));
        if !has_passed {
            println!("{server:?}: {report}");
            wrong.push(server);
        }
    }
    assert!(wrong.is_empty(), "false alarms: {wrong:?}");
}

/// Forwards connections to this address, and delays what is sent. Returns the origin that a shop calls.
async fn slow_network(to: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((shop, _)) = listener.accept().await {
            let to = to.clone();
            tokio::spawn(async move {
                // The service ends before the shop.
                let Ok(service) = TcpStream::connect(to).await else { return };
                let ((from_shop, to_shop), (from_service, to_service)) = (shop.into_split(), service.into_split());
                tokio::join!(delay(from_shop, to_service), delay(from_service, to_shop));
            });
        }
    });
    origin
}

async fn delay(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut bytes = [0; 16 << 10];
    let mut delay = DELAYS.0;
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        // Each delay is another one.
        delay = DELAYS.0 + (delay * 37 + 11) % (DELAYS.1 - DELAYS.0);
        tokio::time::sleep(Duration::from_millis(delay)).await;
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
    // The other side may have closed it already.
    let _ = to.shutdown().await;
}
