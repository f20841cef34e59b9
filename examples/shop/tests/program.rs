//! The program: its output, and the sentences with which it does not start.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Command, Stdio};

const KEY: &str = "sk_test_0123456789abcdefghijklmn";

#[cfg(unix)]
#[test]
fn it_prints_one_line_of_json_and_stops_on_sigterm() {
    let package = package();
    let mut shop = command(KEY, &["--listen", "127.0.0.1:0", "--database", "memory:", "--json"]);
    let mut shop = shop.arg("--package").arg(package.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(shop.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert!(ready["shop_url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{ready}");
    assert_eq!(ready["base_url"], "http://127.0.0.1:4243");
    assert!(Command::new("kill").arg(shop.id().to_string()).status().unwrap().success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((shop.wait().unwrap().code(), rest.as_str()), (Some(0), ""), "nothing else is printed");
}

#[test]
fn why_it_does_not_start_is_said_in_a_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let hidden = "sk_test_hidden";
    for (key, arguments, said) in [
        (KEY, &["--listen", "0.0.0.0:0"][..], "Give a loopback address: --listen 127.0.0.1:0."),
        (KEY, &["--listen", &taken], "already in use"),
        (
            KEY,
            &["--package", "no/such/folder"],
            "no/such/folder, and the pages need it. Build it with cargo xtask pack --quick",
        ),
        ("", &[], "GUICHET_SECRET_KEY"),
        (hidden, &["--base-url", "http://api.example.com"], "https"),
        ("sk_live_hidden", &["--base-url", "https://api.example.com"], "test key"),
        (KEY, &["--database", "shop.db"], "give sqlite: and a file"),
        (KEY, &["--database", "sqlite::memory:"], "or memory:"),
        #[cfg(not(feature = "postgres"))]
        (KEY, &["--database", "postgres://shop:hidden@127.0.0.1/shop"], "build it with --features postgres"),
        #[cfg(feature = "postgres")]
        (KEY, &["--database", "postgres://shop:hidden@127.0.0.1:1/shop"], "guichet-shop: "),
    ] {
        let package = package();
        let mut shop = command(key, arguments);
        if !arguments.contains(&"--package") {
            shop.arg("--package").arg(package.path());
        }
        if !arguments.contains(&"--database") {
            shop.args(["--database", "memory:"]);
        }
        let run = shop.output().unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0), "{arguments:?}: {stderr}");
        assert!(stderr.contains("guichet-shop: ") && stderr.contains(said), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("hidden"), "{stderr}");
    }
}

fn command(key: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_guichet-shop"));
    command.args(arguments).env("GUICHET_SECRET_KEY", key);
    if key.is_empty() {
        command.env_remove("GUICHET_SECRET_KEY");
    }
    command
}

fn package() -> tempfile::TempDir {
    let package = tempfile::tempdir().unwrap();
    std::fs::write(package.path().join("guichet.js"), "export {};").unwrap();
    package
}
