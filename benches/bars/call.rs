//! A call in a page, compared with hand-written `fetch` and JSON: the same server, headers and reply.

use crate::chromium::Chromium;
use crate::measure::{Pairs, Row, microseconds};
use crate::pages::Shop;
use serde_json::json;
use std::time::Duration;

const PAIRS: usize = 2_000;
const WHAT: &str = "browser: a call, over hand-written fetch and JSON";

pub async fn rows() -> Vec<Row> {
    vec![
        measured()
            .await
            .map_or_else(|why| Row::skipped(WHAT, &why), |pairs| Row::at_most(WHAT, 1.10, &pairs, microseconds)),
    ]
}

async fn measured() -> Result<Pairs, String> {
    let shop = Shop::open("call").await?;
    let browser = Chromium::start().await?;
    browser.script_timeout(Duration::from_secs(300)).await;
    browser.open(&shop.url).await;
    let took = browser.resolve(&format!("pairs({}, {PAIRS})", json!(shop.sandbox.base_url))).await;
    browser.close().await;
    let side = |name: &str| took[name].as_array().unwrap().iter().map(|time| time.as_f64().unwrap()).collect();
    Ok(Pairs { ours: side("ours"), other: side("other") })
}
