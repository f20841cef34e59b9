//! The page at `/`: what runs here, and where to go.

use crate::support::api::{Reply, client, send};
use crate::support::service::Sandbox;
use guichet_sandbox::openapi;

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");

#[tokio::test]
async fn the_front_page_says_what_runs_here_in_english_and_french() {
    let sandbox = Sandbox::start().await.unwrap();
    let french = ("accept-language", "fr-CM,fr;q=0.9,en;q=0.8");
    for (path, headers, language, words) in [
        ("/", &[BROWSER][..], "en", "A guichet sandbox runs here"),
        ("/", &[], "en", "A guichet sandbox runs here"),
        ("/", &[BROWSER, french], "fr", "Un bac à sable guichet tourne ici"),
        ("/?lang=en", &[BROWSER, french], "en", "A guichet sandbox runs here"),
        ("/?lang=fr", &[BROWSER], "fr", "Un bac à sable guichet tourne ici"),
    ] {
        let page = get(&sandbox, "GET", path, headers).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
        assert!(page.text.contains(&format!("<html lang=\"{language}\">")) && page.text.contains(words), "{path}");
        assert!(page.text.contains(env!("CARGO_PKG_VERSION")), "{path}");
        assert!(page.text.contains(&format!("{}/v1", sandbox.base_url())), "{path}");
        let tarball = concat!("npx ./target/npm/guichet-sandbox-", env!("CARGO_PKG_VERSION"), ".tgz demo");
        for command in ["cargo xtask demo", tarball] {
            assert!(page.text.contains(&format!("<code>{command}</code>")), "{path}: {command}");
        }
        assert!(!page.text.contains("{{"), "{path}: {}", page.text);
        for (path, methods) in openapi()["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys().filter(|_| path.starts_with("/sandbox/")) {
                let line = page.text.lines().find(|line| line.contains(&format!(" {path}</code></dt>")));
                let line = line.unwrap_or_else(|| panic!("{path} is not on the page in {language}"));
                assert!(line.contains(&method.to_uppercase()), "{method} is not in {line}");
            }
        }
    }
}

#[tokio::test]
async fn the_front_page_shows_no_secret_under_any_host_and_needs_no_script() {
    let sandbox = Sandbox::start().await.unwrap();
    for headers in [&[BROWSER][..], &[BROWSER, ("host", "evil.example")], &[("accept", "application/json")]] {
        let page = get(&sandbox, "GET", "/", headers).await;
        assert_eq!(page.status, 200);
        for secret in [sandbox.secret_key(), sandbox.control_token()] {
            assert!(!page.text.contains(secret.expose()));
        }
        assert!(!page.text.contains("<script") && !page.text.contains("evil.example"), "{}", page.text);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(page.header("access-control-allow-origin"), None);
    }
    let page = get(&sandbox, "GET", "/", &[BROWSER]).await;
    let assets: Vec<&str> = page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let assets: Vec<&str> = assets.into_iter().filter(|address| address.starts_with("/checkout/assets/")).collect();
    assert_eq!(assets.len(), 2, "{assets:?}");
    for address in assets {
        assert_eq!(get(&sandbox, "GET", address, &[]).await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn the_front_page_is_json_for_a_client_that_prefers_it_and_takes_only_get() {
    let sandbox = Sandbox::start().await.unwrap();
    let json = get(&sandbox, "GET", "/", &[("accept", "application/json")]).await;
    assert_eq!((json.status, json.header("content-type")), (200, Some("application/json")));
    assert_eq!(json.body["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json.body["service"], format!("{}/v1", sandbox.base_url()));
    let address = json.body["openapi"].as_str().unwrap().strip_prefix(sandbox.base_url()).unwrap();
    assert_eq!(get(&sandbox, "GET", address, &[]).await.body, openapi());

    let head = get(&sandbox, "HEAD", "/", &[BROWSER]).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(head.header("content-type"), Some("text/html; charset=utf-8"));
    let posted = get(&sandbox, "POST", "/", &[]).await;
    assert_eq!((posted.status, posted.header("allow")), (405, Some("GET,HEAD")));
    let page = get(&sandbox, "GET", "/", &[BROWSER]).await;
    let again = get(&sandbox, "GET", "/", &[BROWSER, ("if-none-match", page.header("etag").unwrap())]).await;
    assert_eq!(again.status, 304);
    let french = [BROWSER, ("accept-language", "fr"), ("if-none-match", page.header("etag").unwrap())];
    assert_eq!(get(&sandbox, "GET", "/", &french).await.status, 200, "the other language is another page");
}

async fn get(sandbox: &Sandbox, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    send(&client(), method, &format!("{}{path}", sandbox.base_url()), None, None, headers).await
}
