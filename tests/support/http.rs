//! Raw HTTP requests, one connection each, with headers that only a browser can set, and servers of a router.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Reply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Reply {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body of JSON")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The cookie of `Set-Cookie`, as a browser sends it back.
    pub fn cookie(&self) -> Option<String> {
        Some(format!("Cookie: {}", self.header("set-cookie")?.split(';').next()?))
    }
}

/// Serves a router on a free port until the test ends. Returns its address.
pub async fn serve(router: axum::Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async { axum::serve(listener, router).await });
    url
}

pub async fn get(url: &str, headers: &[&str]) -> Reply {
    send("GET", url, headers, "").await
}

/// Posts a body, as JSON unless a header sets another type.
pub async fn post(url: &str, headers: &[&str], body: &str) -> Reply {
    let typed = headers.iter().any(|header| header.to_ascii_lowercase().starts_with("content-type:"));
    let json: &[&str] = if typed { &[] } else { &["Content-Type: application/json"] };
    send("POST", url, &[headers, json].concat(), body).await
}

/// Sends a request. A header `Host` replaces that of the address.
pub async fn send(method: &str, url: &str, headers: &[&str], body: &str) -> Reply {
    let (host, path) = url.strip_prefix("http://").expect("plain http").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).await.expect("a connection");
    let named = headers.iter().any(|header| header.to_ascii_lowercase().starts_with("host:"));
    let own = if named { String::new() } else { format!("Host: {host}\r\n") };
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{method} /{path} HTTP/1.1\r\n{own}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.expect("it is sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("it is answered");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Reply { status, head: head.to_owned(), body: body.to_owned() }
}
