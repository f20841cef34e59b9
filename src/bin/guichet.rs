//! The `guichet` command: `guichet::terminal` is all of it.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    guichet::terminal::run(std::env::args_os()).await
}
