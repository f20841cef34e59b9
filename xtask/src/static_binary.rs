//! The command `guichet` as one static program, as the release has it for Linux on x64.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::cargo::{at_root, cargo, root, run};
use crate::npm::run_quietly;

const TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds it, and runs what needs TLS, SQLite and a socket.
pub fn check() -> Result<()> {
    run_quietly(at_root("rustup").args(["target", "add", TARGET]))?;
    run(cargo(["build"]).args([
        "--quiet",
        "--release",
        "--locked",
        "--package=guichet-cli",
        "--features=postgres",
        "--target",
        TARGET,
    ]))?;
    let program = root().join("target").join(TARGET).join("release/guichet");
    // It says so with an exit code of 1, and names the libraries of a program that has some.
    let libraries = at_root("ldd").arg(&program).stderr(Stdio::piped()).output()?;
    ensure!(!libraries.status.success(), "it needs libraries: {}", String::from_utf8_lossy(&libraries.stdout));
    let folder = root().join("target/static-binary");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let settings = "name = \"shoes\"\npublic_url = \"http://127.0.0.1:8000\"\napp = \"http://127.0.0.1:8000/payments\"\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(folder.join("shop.toml"), settings)?;
    let secret = at_root(&program).args(["shop", "secret"]).output()?.stdout;
    let mut shop = at_root(&program);
    shop.args(["shop", "--sandbox=127.0.0.1:0", "--json"]).current_dir(&folder);
    shop.env("GUICHET_APP_SECRET", String::from_utf8(secret)?.trim()).stdout(Stdio::piped());
    let mut shop = shop.spawn()?;
    let mut line = String::new();
    let stdout = shop.stdout.take().context("it was piped")?;
    let read = std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line);
    shop.kill()?;
    shop.wait()?;
    read?;
    ensure!(line.contains("shop_url"), "it has not started: {line}");
    Ok(())
}
