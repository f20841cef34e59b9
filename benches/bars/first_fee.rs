//! The time from the import to the first fee on the page, compared with the same page in hand-written TypeScript: a cheap phone on
//! a slow network, with an empty cache. Both get a session from the merchant's server, then the fee from the service. The separate
//! wasm file is measured twice: as it is, and in a page that preloads it, as the README says.

use crate::chromium::Chromium;
use crate::measure::{Pairs, Row, milliseconds};
use crate::pages::Shop;
use serde_json::json;
use std::time::Duration;

const TIMES: usize = 20;

pub async fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (ours, which, preloaded, bar) in [
        ("/ours.js", "wasm inside", None, 1.60),
        ("/beside.js", "wasm beside", None, 1.60),
        ("/beside.js", "wasm beside and preloaded", Some("/core/guichet_core_bg.wasm"), 1.30),
    ] {
        let what = format!("browser: import to first fee, {which}, over hand-written TypeScript");
        rows.push(match measured(ours, preloaded).await {
            Err(why) => Row::skipped(&what, &why),
            Ok(pairs) => Row::at_most(&what, bar, &pairs, milliseconds),
        });
    }
    rows
}

async fn measured(ours: &str, preloaded: Option<&str>) -> Result<Pairs, String> {
    let shop = Shop::open("first-fee").await?;
    let browser = Chromium::start().await?;
    browser.script_timeout(Duration::from_secs(60)).await;
    browser.cdp("Network.enable", json!({})).await;
    browser.cdp("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
    let mut pairs = Pairs::default();
    // The first of each is a warm-up.
    for turn in 0..=TIMES {
        let one = first(&browser, &shop, ours, preloaded, 2 * turn).await;
        let two = first(&browser, &shop, "/hand.js", None, 2 * turn + 1).await;
        if turn > 0 {
            pairs.ours.push(one);
            pairs.other.push(two);
        }
    }
    browser.close().await;
    Ok(pairs)
}

async fn first(browser: &Chromium, shop: &Shop, made: &str, preloaded: Option<&str>, number: usize) -> f64 {
    slow(browser, false).await;
    browser.open(&shop.url).await;
    slow(browser, true).await;
    // A new address each time: a browser sends a CORS preflight once per address.
    let amount = (45_000 + number).to_string();
    let [made, service, amount, preloaded] =
        [json!(made), json!(shop.sandbox.base_url), json!(amount), json!(preloaded)];
    browser.resolve(&format!("first({made}, {service}, {amount}, {preloaded})")).await.as_f64().unwrap()
}

/// Turns the emulation of a cheap phone on a slow network on or off.
async fn slow(browser: &Chromium, slow: bool) {
    let (latency, down, up, rate) = if slow { (150, 1_600_000 / 8, 750_000 / 8, 6) } else { (0, -1, -1, 1) };
    let network = json!({ "offline": false, "latency": latency, "downloadThroughput": down, "uploadThroughput": up });
    browser.cdp("Network.emulateNetworkConditions", network).await;
    browser.cdp("Emulation.setCPUThrottlingRate", json!({ "rate": rate })).await;
}
