//! The responses of the hosted page: small, cacheable, and the same for every payment.

use crate::support::api::{Merchant, Reply, client, send};
use crate::support::folder::Folder;
use guichet_sandbox::{Config, Package, Sandbox};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap};
use serde_json::Value;
use std::fs;

const WASM: &str = "package/core/guichet_hosted_bg.wasm";

#[tokio::test]
async fn the_hosted_page_loads_nothing_from_elsewhere() {
    let package = package("nothing-from-elsewhere");
    let config = Config {
        package: Package::Folder(package.path.clone()),
        public_url: Some("https://pay.example".into()),
        ..Config::default()
    };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    let shop = Merchant::of(&sandbox, "Sandbox shop").await;
    let intent = shop.create_intent("ORDER-17").await;
    let id = intent["id"].as_str().unwrap();
    let address = format!("https://pay.example/checkout/{id}?client_secret=");
    assert!(intent["checkout_url"].as_str().unwrap().starts_with(&address));

    let page = opened(&shop, &intent).await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(
        page.header("content-security-policy").map(without_digests).as_deref(),
        Some(
            "default-src 'none'; script-src 'self' 'sha256-…'; connect-src 'self'; style-src 'self' 'sha256-…'; img-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'; trusted-types guichet-page; \
             require-trusted-types-for 'script'"
        )
    );
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    let links = links(&page.text);
    assert!(links.iter().all(|link| link.starts_with("/checkout/assets/")), "{links:?}");
    let script = links.iter().find(|link| link.ends_with("/checkout.js")).expect("the page's script");
    for (file, media_type) in [("package/hosted.js", "text/javascript; charset=utf-8"), ("icon.svg", "image/svg+xml")] {
        let reply = get(&shop, &script.replace("checkout.js", file)).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(media_type)));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    }
    for nothing in [
        "/checkout/assets/sandbox.en.html",
        "/checkout/assets/none.js",
        "/checkout/assets/package/..%2f..%2fsecret",
        "/checkout/assets/package/none.js",
        "/checkout/assets/../../Cargo.toml",
    ] {
        assert_eq!(get(&shop, nothing).await.status, 404, "{nothing}");
    }
}

#[tokio::test]
async fn the_hosted_page_is_the_same_for_known_and_unknown_ids() {
    let package = package("same");
    let config = Config { package: Package::Folder(package.path.clone()), ..Config::default() };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    let shop = Merchant::of(&sandbox, "Chez Awa").await;
    let intent = shop.create_intent("ORDER-17").await;
    let known = intent["id"].as_str().unwrap();
    for page in ["", "/challenge"] {
        let first = get(&shop, &format!("/checkout/{known}{page}")).await;
        assert_eq!(first.status, if page.is_empty() { 404 } else { 200 });
        assert!(!first.text.contains("Chez "));
        for unknown in ["pi_0000000000000000000000", "pi_unknown", "nonsense", "%F0%9F%91%9F"] {
            let other = get(&shop, &format!("/checkout/{unknown}{page}")).await;
            assert_eq!((other.status, &other.text), (first.status, &first.text), "{unknown}");
            assert_eq!(other.header("etag"), first.header("etag"), "{unknown}");
        }
    }
}

#[tokio::test]
async fn the_merchants_name_is_sent_only_for_the_client_secret() {
    let sandbox = Sandbox::start().await.unwrap();
    let shop = Merchant::of(&sandbox, "Chez <Awa>").await;
    let (intent, other) = (shop.create_intent("ORDER-17").await, shop.create_intent("ORDER-18").await);
    let (id, secret) = (intent["id"].as_str().unwrap(), intent["client_secret"].as_str().unwrap());
    let page_of = async |id: &str, secret: Option<&str>| {
        let cookie = secret.map(|secret| format!("guichet_checkout={secret}"));
        let cookie: Vec<_> = cookie.iter().map(|cookie| ("cookie", cookie.as_str())).collect();
        shop.send("GET", &format!("/checkout/{id}"), None, None, &cookie).await
    };
    let named = page_of(id, Some(secret)).await;
    assert_eq!((named.status, named.header("cache-control")), (200, Some("no-store")));
    assert!(named.text.contains("Chez &#60;Awa&#62;"), "{}", named.text);

    let other_secret = other["client_secret"].as_str().unwrap();
    let forged = format!("{id}_secret_{}", "x".repeat(43));
    for secret in [None, Some(other_secret), Some(&*forged), Some("cst_test_none")] {
        let (known, unknown) = (page_of(id, secret).await, page_of("pi_0000000000000000000000", secret).await);
        assert_eq!((known.status, &known.text), (404, &unknown.text), "{secret:?}");
        // A random id may have the letters of a name, but no space.
        assert!(!known.text.contains("Chez "));
    }
}

#[tokio::test]
async fn files_are_compressed_and_cached_by_browsers() {
    let package = package("compressed");
    let config = Config { package: Package::Folder(package.path.clone()), ..Config::default() };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    let (origin, page) = (sandbox.base_url(), "/");
    let html = plainly(&format!("{origin}/checkout/pi_1")).await;
    let script = links(&html.text).into_iter().find(|link| link.ends_with("/checkout.js")).expect("the page's script");
    let files = ["checkout.js", "icon.svg", "package/hosted.js", WASM].map(|file| script.replace("checkout.js", file));
    let files = files.iter().map(|file| (file.as_str(), "public, max-age=31536000, immutable"));
    for (path, caching) in files.chain([(page, "no-cache")]) {
        let url = format!("{origin}{path}");
        let plain = plainly(&url).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{path}");
        assert_eq!(plain.header("cache-control"), Some(caching), "{path}");
        let mut tags = vec![plain.header("etag").expect("a tag").to_owned()];
        for coding in ["br", "gzip"] {
            let (head, body) = in_coding(&url, coding, None).await;
            if plain.text.len() > 1000 {
                assert_eq!(head["content-encoding"], coding, "{path}");
                assert!(head["vary"].to_str().unwrap().starts_with("accept-encoding"), "{path}");
                assert!(body.len() * 2 < plain.text.len(), "{path}: {} of {}", body.len(), plain.text.len());
            }
            let tag = head["etag"].to_str().unwrap().to_owned();
            assert!(tag.starts_with('"'), "{tag} is strong");
            let (head, body) = in_coding(&url, coding, Some(&tag)).await;
            assert_eq!((head["x-status"].to_str().unwrap(), body.len()), ("304", 0), "{path}");
            tags.push(tag);
        }
        tags.dedup();
        assert!(plain.text.len() <= 1000 || tags.len() == 3, "{path}: each content coding has its own ETag: {tags:?}");
    }
}

#[tokio::test]
async fn a_rebuilt_package_is_served_under_a_new_name_at_once() {
    let package = package("anew");
    let config = Config { package: Package::Folder(package.path.clone()), ..Config::default() };
    let sandbox = Sandbox::start_with(config).await.unwrap();
    let shop = Merchant::of(&sandbox, "Sandbox shop").await;
    let intent = shop.create_intent("ORDER-17").await;
    let hosted = async || {
        let script = links(&opened(&shop, &intent).await.text).into_iter().find(|link| link.ends_with("/checkout.js"));
        script.expect("the page's script").replace("checkout.js", "package/hosted.js")
    };
    let before = hosted().await;
    assert_eq!(hosted().await, before);
    fs::write(package.path.join("hosted.js"), "export const hosted = 'a new one';").unwrap();
    let after = hosted().await;
    assert_ne!(after, before, "a cached old file must not be used");
    assert!(get(&shop, &after).await.text.contains("a new one"));
    // A page that was loaded before still gets a file, but may not cache it under the old name.
    let late = get(&shop, &before).await;
    assert_eq!((late.status, late.header("cache-control")), (200, Some("no-cache")));
    fs::remove_file(package.path.join("hosted.js")).unwrap();
    let alone = opened(&shop, &intent).await;
    assert_eq!((alone.status, alone.text.contains("<form")), (200, true), "the page does not need the package");
}

/// A package with the files that the hosted page links to.
fn package(test: &str) -> Folder {
    let package = Folder::new(&format!("site-{test}"));
    let long = "// A line of a module that is long enough to be worth compressing.\n".repeat(40);
    fs::create_dir(package.path.join("core")).unwrap();
    fs::write(package.path.join("hosted.js"), format!("export const hosted = 1;\n{long}")).unwrap();
    fs::write(package.path.join("core/guichet_hosted_bg.wasm"), b"\0asm\x01\0\0\0".repeat(300)).unwrap();
    package
}

/// The page of a payment, as a browser with its cookie gets it.
async fn opened(shop: &Merchant, intent: &Value) -> Reply {
    let cookie = format!("guichet_checkout={}", intent["client_secret"].as_str().unwrap());
    shop.send("GET", &format!("/checkout/{}", intent["id"].as_str().unwrap()), None, None, &[("cookie", &cookie)]).await
}

/// A policy without the digests of the page's style and of its inline line.
fn without_digests(policy: &str) -> String {
    let mut parts = policy.split("'sha256-");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |before, part| format!("{before}'sha256-…{}", &part[part.find('\'').unwrap()..]))
}

/// Every file that a page links to.
fn links(html: &str) -> Vec<String> {
    let links = html.split(['"']).filter(|text| text.contains("/assets/") && !text.contains(char::is_whitespace));
    links.map(str::to_owned).collect()
}

async fn get(shop: &Merchant, path: &str) -> Reply {
    shop.send("GET", path, None, None, &[]).await
}

async fn plainly(url: &str) -> Reply {
    send(&client(), "GET", url, None, None, &[]).await
}

/// The headers and the raw bytes of a response. `x-status` holds the status.
async fn in_coding(url: &str, coding: &str, kept: Option<&str>) -> (HeaderMap, Vec<u8>) {
    let mut request = client().get(url).header(ACCEPT_ENCODING, coding);
    if let Some(kept) = kept {
        request = request.header("if-none-match", kept);
    }
    let response = request.send().await.unwrap();
    let mut head = response.headers().clone();
    head.insert("x-status", response.status().as_str().parse().unwrap());
    (head, response.bytes().await.unwrap().to_vec())
}
