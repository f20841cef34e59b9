//! The bytes that a browser receives for a page, on the first visit and on the next. `--nocapture` prints them.

use crate::support::browser::Browser;
use crate::support::demo_shop::DemoShop;
use crate::support::engine::{Engine, only_in_chromium};
use guichet::operations::{CreatePaymentIntent, CustomerName};
use guichet::values::{Amount, Email, MerchantReference};
use serde_json::Value;

/// The limit of the hosted page's files in bytes, without headers.
const HOSTED_FIRST: u64 = 12_000;
/// The page itself, which is never stored; its files are.
const HOSTED_AGAIN: u64 = 6_500;

only_in_chromium!(
    "it uses Chromium's DevTools protocol":
    the_hosted_page_is_small_on_the_wire_and_is_not_fetched_twice,
    the_shops_page_is_not_fetched_twice,
);

async fn the_hosted_page_is_small_on_the_wire_and_is_not_fetched_twice(engine: Engine) {
    let demo = DemoShop::open().await;
    let reference = MerchantReference::new("WIRE-1").unwrap();
    let order = CreatePaymentIntent::new(
        reference,
        Amount::units(5_000),
        "Shoes",
        CustomerName { firstname: "Awa", lastname: "Ndiaye" },
    )
    .email(Email::new("awa@example.com").unwrap());
    let intent = demo.create_intent(order).await;
    let address = intent.checkout_url.as_ref().expect("the sandbox sends this field").expose().to_owned();
    let browser = engine.start("wire-hosted").await;
    let visits = visits("hosted page", &browser, &address, async || {
        browser.wait_for("[data-test='tests-mobile_money']").await; // shown by the script
    })
    .await;
    browser.close().await;
    // 70 kbit/s and 600 ms, for a browser that has nothing of the page.
    let browser = engine.start("wire-slow").await;
    browser.open("about:blank").await;
    browser.throttle(70_000 / 8, 600).await;
    browser.open(&address).await;
    browser.wait_for("[data-test='tests-mobile_money']").await;
    let times = "const of = (type) => performance.getEntriesByType(type);
        const script = of('resource').find(({ name }) => name.endsWith('/checkout.js'));
        return [of('navigation')[0].domInteractive, script.responseEnd].map(Math.round)";
    let times = browser.run(times).await;
    browser.close().await;
    println!(
        "hosted page payable after {} ms, and its script there after {} ms, at 70 kbit/s and 600 ms",
        times[0], times[1]
    );
    let [first, again] = visits.map(|visit| visit.bytes);
    assert!(first <= HOSTED_FIRST, "{first} bytes of {HOSTED_FIRST}");
    assert!(first > again + 3_000, "{first} bytes: a file was not counted");
    assert!(again <= HOSTED_AGAIN, "{again} bytes of {HOSTED_AGAIN}");
}

async fn the_shops_page_is_not_fetched_twice(engine: Engine) {
    let demo = DemoShop::open().await;
    let browser = engine.start("wire-shop").await;
    // A customer who is already signed in, on a page that loads nothing of the shop.
    browser.open(&format!("{}/api/shop", demo.shop.url().trim_end_matches('/'))).await;
    browser
        .run_async(
            "await fetch('/api/sign-in', {
                 method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ customer: 'awa' }),
             })",
        )
        .await;
    let visits = visits("shop", &browser, demo.shop.url(), async || {
        browser.click("[data-test^='add-']").await;
        // The package's wasm requests the prices.
        browser.wait_for("[data-test='quote-mobile_money']").await;
    })
    .await;
    browser.close().await;
    let [first, again] = visits.map(|visit| visit.bytes);
    assert!(first > 20_000 && again <= 5_000, "{first}, then {again}");
}

/// The bytes of one visit.
struct Visit {
    bytes: u64,
}

/// Visits a page twice with an empty cache and prints the bytes of each visit.
async fn visits(name: &str, browser: &Browser, address: &str, arrive: impl AsyncFn()) -> [Visit; 2] {
    let mut visits = Vec::new();
    for visit in ["first visit", "second visit"] {
        browser.open("about:blank").await;
        browser.open(address).await;
        arrive().await;
        // Every module and the wasm have arrived by now. The icon may still be loading, and is small.
        let entries = browser.run(ENTRIES).await;
        let entries: Vec<(&str, u64)> = entries.as_array().expect("a list").iter().filter_map(entry).collect();
        let bytes = entries.iter().map(|(_, bytes)| bytes).sum();
        println!("{name:<12} {visit:<13} {bytes:>7} bytes in {:>2} files", entries.len());
        if std::env::var_os("GUICHET_FILES").is_some() {
            entries.iter().for_each(|(file, bytes)| println!("    {bytes:>7}  {file}"));
        }
        visits.push(Visit { bytes });
    }
    visits.try_into().unwrap_or_else(|_| panic!("two visits"))
}

/// Every file that the page loaded, with the bytes of its body from the network. Chromium adds 300 for the headers. A
/// body from the cache counts as none. Requests to a service are not files.
const ENTRIES: &str = "
    const entries = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    return entries
        .map(({ name, transferSize }) => [new URL(name).pathname, Math.max(0, transferSize - 300)])
        .filter(([path]) => !/^\\/(v1|api|guichet)\\//.test(path));";

fn entry(entry: &Value) -> Option<(&str, u64)> {
    Some((entry[0].as_str()?, entry[1].as_u64()?))
}
