//! The memory of the wasm over many calls, in a page and in Node.js, in two lengths: see `tests/support/soak.rs`.

use crate::support::browser::Browser;
use crate::support::soak::{Progress, amount};
use crate::support::storefront::Storefront;
use serde_json::Value;
use std::process::Command;

/// A script that collects the memory of each module that the page loads.
const KEEP_MEMORIES: &str = "window.memories = [];
    const keep = (instance) => {
        memories.push(...Object.values(instance.exports).filter((one) => one instanceof WebAssembly.Memory));
        return instance;
    };
    for (const name of ['instantiate', 'instantiateStreaming']) {
        const original = WebAssembly[name];
        WebAssembly[name] = async (...given) => {
            const made = await original.apply(WebAssembly, given);
            keep(made.instance ?? made);
            return made;
        };
    }
    WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
        construct: (target, given) => keep(Reflect.construct(target, given)),
    });";

#[test]
fn the_memory_of_the_wasm_is_flat_over_calls_of_every_kind_in_node() {
    let root = crate::support::root();
    let calls = amount(4_000, 40_000).to_string();
    let script = root.join("tests/pages/soak/calls.mjs");
    let node = Command::new("node").arg(script).arg(root.join("target/npm/package")).arg(calls).output().unwrap();
    assert!(node.status.success(), "{}", String::from_utf8_lossy(&node.stderr));
    let found: Value = serde_json::from_slice(&node.stdout).unwrap();
    for what in ["bytes", "values"] {
        let [before, after] = ["before", "after"].map(|when| found[when][what].as_u64().unwrap());
        assert!(before > 0 && after <= before, "{what}: {before} after a tenth of the calls, {after} after all");
    }
}

#[tokio::test]
async fn the_memory_of_a_pages_wasm_does_not_grow_with_its_calls() {
    const ROUND: usize = 100;
    let rounds = amount(3, 200);
    let shop = Storefront::open().await;
    let browser = Browser::start("soak").await;
    browser.open(&format!("{}/", shop.url())).await;
    browser.run_async(KEEP_MEMORIES).await;
    shop.create_client(&browser, "{}").await;
    let call = async || -> u64 {
        let bytes = browser
            .run_async(&format!(
                "for (let n = 0; n < {ROUND}; n++) await guichet.quotes({{ amount: 1000 + n }});
                 return memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0)"
            ))
            .await;
        assert!(bytes.as_u64().is_some_and(|bytes| bytes > 0), "the page's wasm has memory: {bytes}");
        bytes.as_u64().unwrap_or_default()
    };
    let before = call().await;
    let mut progress = Progress::new("rounds of 100 quotes in a page", rounds);
    let mut after = before;
    for round in 1..=rounds {
        after = call().await;
        progress.at(round, &format!("{after} bytes"));
    }
    // Fragmentation may need one more page of wasm memory, 64 KiB.
    assert!(after <= before + 65_536, "{before} bytes before, {after} after {} calls", rounds * ROUND);
    let page = browser.run("return memories.length").await;
    assert_eq!(page, Value::from(1), "one module");
}
