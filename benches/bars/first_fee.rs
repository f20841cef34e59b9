//! The time from the import to the first fee on the page, compared with the same page with a hand-written client: a
//! cheap phone on a slow network, with an empty cache. Both get a session from the merchant's server, then the fee from
//! the service. Each page is built alone, by each bundler's defaults. The separate wasm file is measured twice: as it
//! is, and in a page that preloads it, as the guide says.

use crate::chromium::Chromium;
use crate::measure::{Pairs, Row, milliseconds};
use crate::pages::Shop;
use serde_json::{Value, json};
use std::time::Duration;

const TIMES: usize = 10;
const BUNDLERS: [&str; 4] = ["esbuild", "esbuild-splitting", "vite", "webpack"];

pub async fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for bundler in BUNDLERS {
        for (page, which, bar) in [
            ("inside/index.html", "wasm inside", 1.60),
            ("beside/index.html", "wasm beside", 1.60),
            ("beside/preloaded.html", "wasm beside and preloaded", 1.30),
        ] {
            let what = format!("browser: import to first fee, {which}, by {bundler}, over a hand-written page");
            rows.push(match measured(bundler, page).await {
                Err(why) => Row::skipped(&what, &why),
                Ok((pairs, [ours, other])) => {
                    Row::at_most(&what, bar, &pairs, milliseconds).with_remarks(&ours.to_string(), &other.to_string())
                }
            });
        }
    }
    rows
}

async fn measured(bundler: &str, page: &str) -> Result<(Pairs, [Requests; 2]), String> {
    let shop = Shop::open("first-fee").await?;
    let browser = Chromium::start().await?;
    browser.script_timeout(Duration::from_secs(60)).await;
    browser.cdp("Network.enable", json!({})).await;
    browser.cdp("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
    // A cheap phone on a slow network.
    let network = json!({ "offline": false, "latency": 150, "downloadThroughput": 1_600_000 / 8, "uploadThroughput": 750_000 / 8 });
    browser.cdp("Network.emulateNetworkConditions", network).await;
    browser.cdp("Emulation.setCPUThrottlingRate", json!({ "rate": 6 })).await;
    let pages = [format!("{}/{bundler}-{page}", shop.url), format!("{}/{bundler}-hand/index.html", shop.url)];
    let mut pairs = Pairs::default();
    let mut requests = [Requests::default(); 2];
    // The first of each is a warm-up. Each goes first every second time.
    for turn in 0..=TIMES {
        let mut took = [0.0; 2];
        for side in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            (took[side], requests[side]) = first(&browser, &shop, &pages[side], 2 * turn + side).await;
        }
        if turn > 0 {
            pairs.ours.push(took[0]);
            pairs.other.push(took[1]);
        }
    }
    browser.close().await;
    Ok((pairs, requests))
}

/// The requests of a page, and how many of them were one after the other.
#[derive(Clone, Copy, Default)]
struct Requests {
    count: usize,
    rounds: u64,
}

impl std::fmt::Display for Requests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} requests, {} deep", self.count, self.rounds)
    }
}

async fn first(browser: &Chromium, shop: &Shop, page: &str, number: usize) -> (f64, Requests) {
    // A new address each time: a browser sends a CORS preflight once per address.
    let amount = 45_000 + number;
    browser.open(&format!("{page}?service={}&amount={amount}", shop.sandbox.base_url)).await;
    let first: Value = browser.resolve("first").await;
    assert!(first["text"].as_str().is_some_and(|text| text.ends_with(" XAF")), "{page}: {first}");
    let count = first["requests"].as_array().unwrap().len();
    (first["seconds"].as_f64().unwrap(), Requests { count, rounds: first["rounds"].as_u64().unwrap() })
}
