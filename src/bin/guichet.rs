//! The `guichet` command. It only calls `guichet::terminal`.

#[tokio::main]
async fn main() -> std::process::ExitCode {
    guichet::terminal::run(std::env::args_os()).await
}
