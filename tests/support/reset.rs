//! Reuses one browser for several tests, one after the other.

use super::browser::Cdp;
use super::engine::Console;
use fantoccini::Client;
use fantoccini::error::CmdError;
use fantoccini::wd::WebDriverCompatibleCommand;
use serde_json::json;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::process::Command;

/// Closes every window, and clears cookies, storage, caches and permissions.
pub async fn firefox(client: &Client) -> Result<(), CmdError> {
    const CLEAR: &str =
        "Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, () => arguments[arguments.length - 1](null));";
    replace_windows(client).await?;
    client.issue_cmd(Context("chrome")).await?;
    client.execute_async(CLEAR, vec![]).await?;
    client.issue_cmd(Context("content")).await?;
    Ok(())
}

/// Closes every window, and clears cookies, storage, caches and the console. What a test has set of a window, such as
/// its network, ends with it.
pub async fn chromium(client: &Client) -> Result<(), CmdError> {
    replace_windows(client).await?;
    for (command, parameters) in [
        ("Network.clearBrowserCookies", json!({})),
        ("Network.clearBrowserCache", json!({})),
        ("Storage.clearDataForOrigin", json!({ "origin": "*", "storageTypes": "all" })),
    ] {
        client.issue_cmd(Cdp { command, parameters }).await?;
    }
    client.issue_cmd(Console).await?;
    Ok(())
}

/// Closes every window, and clears the cookies of this machine's address, which every test's sites have. Their other
/// data is apart, because each site has a port of its own.
pub async fn webkit(client: &Client, driver: SocketAddr) -> Result<(), CmdError> {
    replace_windows(client).await?;
    client.goto(&format!("http://{driver}/status")).await?;
    client.delete_all_cookies().await
}

/// Opens a window and closes all others.
async fn replace_windows(client: &Client) -> Result<(), CmdError> {
    let old = client.windows().await?;
    if let Some(first) = old.first() {
        client.switch_to_window(first.clone()).await?;
    }
    let new = client.new_window(true).await?.handle;
    for window in old {
        client.switch_to_window(window).await?;
        client.close_window().await?;
    }
    client.switch_to_window(new).await
}

/// A command that runs the driver until its standard input is closed. The test process does not drop the browsers that
/// it keeps in a static; when it ends in any way, its pipes are closed, and the driver, its Firefox and their files go
/// as well.
pub fn ends_with_stdin(driver: &OsStr) -> Command {
    const SCRIPT: &str = r#"trap : TERM
        TMPDIR=$(mktemp -d) || exit
        export TMPDIR
        "$0" "$@" < /dev/null &
        cat > /dev/null
        kill -TERM 0
        sleep 1
        rm -rf "$TMPDIR"
        kill -KILL 0"#;
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT]).arg(driver).env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Sets where scripts run: in the page (`content`), or in Firefox itself (`chrome`).
#[derive(Debug)]
struct Context(&'static str);

impl WebDriverCompatibleCommand for Context {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/moz/context", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "context": self.0 }).to_string()))
    }
}
