//! The limit of connections per client address at the sandbox. Loopback is not limited.

use crate::support::folder::Folder;
use guichet_sandbox::{Config, Sandbox};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn the_config_of_the_sandbox_limits_the_connections_of_an_address() {
    let config = Config { listen: SocketAddr::new(own_address(), 0), connections_per_address: 2, ..Config::default() };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    assert_eq!(answered(sandbox.base_url(), 4).await, 2);
    sandbox.stop().await;
    let none = Config { connections_per_address: 0, ..Config::default() };
    let refused = Sandbox::start_with(none).await.unwrap_err().to_string();
    assert!(refused.contains("connections_per_address must be at least 1"), "{refused}");
}

#[tokio::test]
async fn the_flag_of_the_command_limits_the_connections_of_an_address() {
    let folder = Folder::new("connections");
    let mut command = Command::new(env!("CARGO_BIN_EXE_guichet"));
    let listen = SocketAddr::new(own_address(), 0).to_string();
    command.args(["sandbox", "--json", "--listen", &listen, "--connections-per-address", "3", "--database"]);
    command
        .arg(folder.database())
        .env_remove("GUICHET_SECRET_KEY")
        .env_remove("GUICHET_INSTANCE_KEY")
        .env_remove("GUICHET_CONTROL_TOKEN");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let served = answered(ready["base_url"].as_str().unwrap(), 5).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(served, 3);
}

/// Opens so many connections at once. Returns the number of those on which a request gets a response.
async fn answered(url: &str, connections: usize) -> usize {
    let address: SocketAddr = url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let mut open = Vec::new();
    let mut answered = 0;
    for _ in 0..connections {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let _ = socket.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n").await;
        let mut head = [0; 8];
        answered += usize::from(socket.read_exact(&mut head).await.is_ok() && &head == b"HTTP/1.1");
        open.push(socket);
    }
    answered
}

/// An address of this machine that is not loopback: a connection to it comes from it.
fn own_address() -> IpAddr {
    let probe = UdpSocket::bind("0.0.0.0:0").unwrap();
    probe.connect("192.0.2.1:9").expect("this test needs a network: loopback addresses are not limited");
    probe.local_addr().unwrap().ip()
}
