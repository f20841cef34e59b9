//! The clients that two generators make of `docs/openapi.json`, used as their users do.
//!
//! `cargo xtask test` installs the generators and runs this; alone:
//! `cargo test -p guichet-cli --all-features --test service generated_clients:: -- --ignored`.

use crate::support::folder::Folder;
use crate::support::root;
use crate::support::service::Sandbox;
use std::path::PathBuf;
use std::process::Command;

#[test]
#[ignore = "needs openapi-typescript: cargo xtask test"]
fn typescript_generated_from_the_description_compiles() {
    let folder = Folder::new("generated-typescript");
    for file in ["client.ts", "tsconfig.json"] {
        std::fs::copy(sources().join(file), folder.path.join(file)).unwrap();
    }
    let node = |script: &str| {
        let mut command = Command::new("node");
        command.arg(installed("npm-openapi").join("node_modules").join(script)).current_dir(&folder.path);
        command
    };
    run(node("openapi-typescript/bin/cli.js").arg(description()).args(["--output", "openapi.d.ts"]));
    run(node("typescript/bin/tsc").args(["--project", "tsconfig.json", "--pretty", "false"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs openapi-python-client: cargo xtask test"]
async fn a_generated_python_client_pays_at_the_sandbox() {
    let folder = Folder::new("generated-python");
    let programs = installed("openapi-python-client").join("bin");
    let config = folder.path.join("config.yml");
    // Formatting would need programs on PATH, and the generated code is only executed here.
    std::fs::write(&config, "post_hooks: []\n").unwrap();
    run(Command::new(programs.join("openapi-python-client"))
        .args(["generate", "--meta", "none", "--fail-on-warning", "--output-path"])
        .arg(folder.path.join("service"))
        .arg("--path")
        .arg(description())
        .arg("--config")
        .arg(config));

    let sandbox = Sandbox::start().await.unwrap();
    run(Command::new(programs.join("python"))
        .arg(sources().join("client.py"))
        .env("PYTHONPATH", &folder.path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GUICHET_BASE_URL", sandbox.base_url())
        .env("GUICHET_SECRET_KEY", sandbox.secret_key().expose()));
}

/// Runs a command, and shows what it wrote if it fails.
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let [written, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{command:?}\n{written}{errors}");
}

fn description() -> PathBuf {
    root().join("docs/openapi.json")
}

fn sources() -> PathBuf {
    root().join("tests/service/generated_clients")
}

/// The folder into which `cargo xtask test` installs a generator.
fn installed(name: &str) -> PathBuf {
    let folder = root().join("target").join(name);
    assert!(folder.is_dir(), "{name} is not installed; `cargo xtask test` installs it");
    folder
}
