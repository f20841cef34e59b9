//! One address in front of several servers, which take its connections in turn.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// The running front. It ends when it is dropped.
#[derive(Debug)]
pub struct RoundRobin {
    pub url: String,
    task: JoinHandle<()>,
}

impl RoundRobin {
    /// Takes a free port: the servers may need its address before they start.
    pub async fn listen() -> (TcpListener, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        (listener, url)
    }

    /// Forwards the connections to servers on this machine.
    pub fn start<const N: usize>(listener: TcpListener, url: String, servers: [&str; N]) -> Self {
        let servers = servers.map(|server| server.strip_prefix("http://").expect("a plain address").to_owned());
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            for server in servers.iter().cycle() {
                let Ok((mut from, _)) = listener.accept().await else { return };
                let server = server.clone();
                connections.spawn(async move {
                    if let Ok(mut to) = TcpStream::connect(server).await {
                        let _ = copy_bidirectional(&mut from, &mut to).await;
                    }
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { url, task }
    }
}

impl Drop for RoundRobin {
    fn drop(&mut self) {
        self.task.abort();
    }
}
