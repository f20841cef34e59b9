//! The memory of a page's wasm over many calls, in two lengths: see `tests/support/soak.rs`.

use crate::support::browser::Browser;
use crate::support::soak::{Progress, amount};
use crate::support::storefront::Storefront;
use serde_json::Value;

/// Keeps the memory of each module that the page loads.
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

#[tokio::test]
async fn the_memory_of_a_pages_wasm_does_not_grow_with_its_calls() {
    const ROUND: usize = 100;
    let rounds = amount(3, 200);
    let shop = Storefront::open().await;
    let browser = Browser::start("soak").await;
    browser.open(&format!("{}/", shop.url())).await;
    browser.run(KEEP_MEMORIES).await;
    shop.begin(&browser, "{}").await;
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
    let mut progress = Progress::of("rounds of 100 quotes in a page", rounds);
    let mut after = before;
    for round in 1..=rounds {
        after = call().await;
        progress.at(round, &format!("{after} bytes"));
    }
    // One page of wasm, 64 KiB, may be needed where memory is fragmented.
    assert!(after <= before + 65_536, "{before} bytes before, {after} after {} calls", rounds * ROUND);
    let page = browser.run("return memories.length").await;
    assert_eq!(page, Value::from(1), "one module");
    browser.close().await;
}
