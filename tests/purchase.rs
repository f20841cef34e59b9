//! Nothing yet.
mod support;
#[tokio::test(flavor = "current_thread")]
async fn smoke() {
    let b = support::browser::Browser::start().await;
    b.open("data:text/html,<h1>hi</h1>").await;
    println!("{} {}", b.see("h1").await, b.run("return innerWidth").await);
    b.step("hello").await;
    b.close().await;
}
