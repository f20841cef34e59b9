//! The files of the shop's page, and what may lie beside them by mistake.

use crate::environment::Response;
use crate::foreign_names::{Meaning, names};
use crate::shop::{CheckedShop, Customer};
use std::collections::{BTreeSet, VecDeque};

/// The most files that are loaded: a page has a few scripts.
const FILES: usize = 80;
/// Loads the page, what it loads, the source maps, and what may lie beside by mistake.
pub(crate) async fn load_page(shop: &CheckedShop, customer: &Customer) {
    let mut paths = VecDeque::from([shop.options.page.clone()]);
    for path in ["/", "/return", "/shop", &shop.options.shop.routes] {
        paths.push_back(path.to_owned());
    }
    for name in names(Meaning::FileByMistake) {
        paths.push_back(format!("/{name}"));
        paths.push_back(format!("{}/{name}", shop.options.shop.routes));
    }
    let mut loaded = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        if loaded.len() >= FILES || !loaded.insert(path.clone()) {
            continue;
        }
        let Ok(response) = shop.request(customer, "GET", &path).send().await.response else { continue };
        if response.status != 200 {
            continue;
        }
        // Before the names beside the page, which usually are not there.
        for address in addresses(&response) {
            if let Some(found) = resolve(shop, &path, &address) {
                paths.push_front(found);
            }
        }
        if path.ends_with(".js") || path.ends_with(".mjs") || path.ends_with(".css") {
            paths.push_front(format!("{path}.map"));
        }
    }
}

/// The path of an address of the shop's own origin, as the file at `base` names it.
fn resolve(shop: &CheckedShop, base: &str, address: &str) -> Option<String> {
    let base = url::Url::parse(&format!("{}{base}", shop.options.shop.origin)).ok()?;
    let url = base.join(address).ok()?;
    let is_own = url.origin() == base.origin();
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    // Signing out is a link on many pages.
    let is_harmless = !["out", "deconnexion", "delete", "remove"].iter().any(|word| url.path().contains(word));
    (is_own && is_harmless).then(|| format!("{}{query}", url.path()))
}

/// The addresses in a page, a script or a style sheet: what follows `src=`, `import` and the like, in quotes.
fn addresses(response: &Response) -> Vec<String> {
    let kind = response.headers("content-type").next().unwrap_or_default().to_ascii_lowercase();
    let body = &response.body;
    let mut found = Vec::new();
    let mut after = |starts: &[&str]| {
        for start in starts {
            for (place, _) in body.match_indices(start) {
                let rest = body[place + start.len()..].trim_start();
                let quote = rest.chars().next().filter(|quote| ['"', '\'', '`'].contains(quote));
                let end = |text: &str| {
                    text.find(|end: char| end == '"' || end == '\'' || end == '`' || end.is_whitespace() || end == '>')
                };
                let text = quote.map_or(rest, |quote| &rest[quote.len_utf8()..]);
                let text = &text[..end(text).unwrap_or(text.len())];
                let is_address = !text.is_empty() && text.len() < 300 && !text.contains(['{', '(', '$']);
                if is_address && (quote.is_some() || start.ends_with('=')) {
                    found.push(text.to_owned());
                }
            }
        }
    };
    if kind.contains("html") {
        // A link to another page is not followed, except to a file.
        after(&["src=", "data-src="]);
        let links = ["stylesheet", "modulepreload", "preload", "manifest", "prefetch"];
        if links.iter().any(|link| body.contains(link)) {
            after(&["href="]);
        }
    }
    if kind.contains("html") || kind.contains("script") {
        after(&["import(", "import", "from", "new URL(", "fetch(", "importScripts("]);
    }
    after(&["sourceMappingURL="]);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_page_are_found() {
        let response = |kind: &str, body: &str| Response {
            status: 200,
            headers: vec![("content-type".into(), kind.into())],
            body: body.into(),
        };
        let html = r#"<link rel="stylesheet" href=/a.css><script type=module src='app.js'></script>
            <script>import {a} from "./b.js"</script>"#;
        assert_eq!(addresses(&response("text/html", html)), ["app.js", "/a.css", "./b.js"]);
        let script = "import\"./c.js\";const d=()=>import('./d.js');\n//# sourceMappingURL=app.js.map";
        let found = addresses(&response("text/javascript", script));
        for address in ["./c.js", "./d.js", "app.js.map"] {
            assert!(found.iter().any(|found| found == address), "{found:?}");
        }
    }
}
