//! A fake of the payments service that sends scripted responses, one per request, over a real socket.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct FakeService {
    pub base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

/// One scripted response.
pub enum ScriptedResponse {
    /// The status, further headers, the body.
    Reply(&'static str, &'static [&'static str], String),
    /// Reads the request and closes the connection without a response.
    CloseConnection,
}

pub fn reply(status: &'static str, body: impl Into<String>) -> ScriptedResponse {
    ScriptedResponse::Reply(status, &[], body.into())
}

impl FakeService {
    pub async fn start(responses: Vec<ScriptedResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let received = Arc::clone(&requests);
        tokio::spawn(async move {
            for response in responses {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let request = read(&mut stream).await;
                received.lock().expect("not poisoned").push(request);
                if let ScriptedResponse::Reply(status, headers, body) = response {
                    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
                    let text = format!(
                        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    // A write error means that the client has closed the socket, which is not an error of the test.
                    let _ = stream.write_all(text.as_bytes()).await;
                    let _ = stream.shutdown().await;
                }
            }
        });
        Self { base_url, requests }
    }

    /// Every request so far, head and body.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                return text.into_owned();
            }
        }
        match stream.read(&mut chunk).await.expect("a request") {
            0 => return String::from_utf8_lossy(&bytes).into_owned(),
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}
