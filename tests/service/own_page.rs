//! A company's own checkout page, which the sandbox serves in the place of its own: `--checkout`.

use crate::support::api::{Merchant, Reply, control};
use crate::support::folder::Folder;
use crate::support::service::{Sandbox, Service};
use guichet_sandbox::Config;
use serde_json::Value;
use std::fs;

#[tokio::test]
async fn a_folder_is_served_in_the_place_of_the_sandboxs_page() {
    serves_a_folder().await;
}

#[tokio::test]
async fn a_folder_without_a_page_is_refused_with_the_remedy() {
    refuses_a_folder_without_a_page().await;
}

mod on_the_package {
    use super::Service;

    #[tokio::test]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn a_folder_is_served_in_the_place_of_the_sandboxs_page() {
        Service::Package.run(super::serves_a_folder()).await;
    }

    #[tokio::test]
    #[ignore = "needs files that `cargo xtask test` builds"]
    async fn a_folder_without_a_page_is_refused_with_the_remedy() {
        Service::Package.run(super::refuses_a_folder_without_a_page()).await;
    }
}

async fn serves_a_folder() {
    let parent = Folder::new("own-page");
    let folder = parent.path.join("page");
    fs::create_dir_all(folder.join("assets")).unwrap();
    fs::create_dir_all(folder.join(".git")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("index.html", "<title>Own</title>");
    for (name, _) in FILES {
        write(name, "own");
    }
    for name in [".env", ".git/config.js", "notes.md", "checkout", "../outside.js"] {
        write(name, "hidden");
    }
    let config = Config { checkout: Some(folder.clone()), ..Config::default() };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    let shop = Merchant::of(&sandbox, "Chez Awa").await;

    let intent = shop.create_intent("ORDER-17").await;
    let address = intent["checkout_url"].as_str().unwrap().strip_prefix(sandbox.base_url()).unwrap();
    for path in [address, address.split_once('?').unwrap().0, "/checkout/pi_none", "/checkout/index.html"] {
        let page = get(&shop, path).await;
        assert_eq!((page.status, page.text.as_str()), (200, "<title>Own</title>"), "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!((page.header("cache-control"), page.header("etag")), (Some("no-store"), None));
        assert_eq!(page.header("content-security-policy"), Some(POLICY));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(
            (page.header("x-frame-options"), page.header("referrer-policy")),
            (Some("DENY"), Some("no-referrer"))
        );
        assert_eq!(page.header("set-cookie"), None, "the address keeps the secret");
    }
    let thread = format!("/thread?payment=ORDER-17&merchant={}", shop.tenant.id());
    let thread = control(&sandbox, "GET", &thread, Value::Null).await.body;
    let entries = thread["entries"].as_array().unwrap().iter();
    assert_eq!(
        entries.filter(|entry| entry["kind"] == "page_opened").count(),
        1,
        "by the address with its secret: {thread}"
    );

    for (name, media_type) in FILES {
        let file = get(&shop, &format!("/checkout/{name}")).await;
        assert_eq!((file.status, file.text.as_str()), (200, "own"), "{name}");
        assert_eq!((file.header("content-type"), file.header("cache-control")), (Some(media_type), Some("no-cache")));
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        assert!(
            !file.header("content-security-policy").unwrap().contains("font-src"),
            "that of the page is the page's alone"
        );
    }
    for path in [
        ".env",
        ".git/config.js",
        "notes.md",
        "none.js",
        "none/none",
        "assets/none.js",
        "guichet/none.js",
        "%2e%2e/outside.js",
        "..%2foutside.js",
        "..%5coutside.js",
        "assets/..%2f..%2foutside.js",
        "assets//app.js",
        "assets/app%2ejs",
        "C:/app.js",
        "./%2e/app.js%00",
    ] {
        let refused = get(&shop, &format!("/checkout/{path}")).await;
        assert_eq!((refused.status, refused.text.contains("hidden")), (404, false), "{path}");
    }
    let path = address.split_once('?').unwrap().0;
    let posted = shop.send("POST", path, None, Some("action=pay".into()), &[("content-type", FORM)]).await;
    assert_eq!(posted.status, 405, "it has no forms");

    write("index.html", "<title>Changed</title>");
    assert_eq!(get(&shop, path).await.text, "<title>Changed</title>", "a developer only reloads it");
    fs::remove_file(folder.join("index.html")).unwrap();
    assert_eq!(get(&shop, path).await.status, 404);
    // The pages of the sandbox that are not the checkout page stay.
    let issuer = get(&shop, &format!("{path}/challenge")).await;
    assert_eq!((issuer.status, issuer.text.contains("Changed")), (200, false), "{}", issuer.text);
    let front = get(&shop, "/").await.text;
    let icon = front.split('"').find(|text| text.starts_with("/checkout/assets/")).expect("a file of the front page");
    assert_eq!(get(&shop, icon).await.header("cache-control"), Some("public, max-age=31536000, immutable"));
}

async fn refuses_a_folder_without_a_page() {
    let folder = Folder::new("no-page");
    fs::write(folder.path.join("page.html"), "").unwrap();
    for folder in [folder.path.clone(), folder.path.join("none"), folder.path.join("page.html")] {
        let config = Config { checkout: Some(folder.clone()), ..Config::default() };
        let refused = Sandbox::start_with(config).await.unwrap_err();
        let names = format!("There is no index.html in {}", folder.display());
        assert!(refused.contains(&names) && refused.contains("examples/hosted"), "{refused}");
    }
}

const FILES: [(&str, &str); 7] = [
    ("app.js", "text/javascript; charset=utf-8"),
    ("style.css", "text/css; charset=utf-8"),
    ("assets/logo.svg", "image/svg+xml"),
    ("assets/photo.png", "image/png"),
    ("assets/font-Dk3_x.woff2", "font/woff2"),
    ("core.wasm", "application/wasm"),
    ("words.txt", "text/plain; charset=utf-8"),
];
const FORM: &str = "application/x-www-form-urlencoded";
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; style-src 'self'; \
                      img-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

async fn get(shop: &Merchant, path: &str) -> Reply {
    shop.send("GET", path, None, None, &[]).await
}
