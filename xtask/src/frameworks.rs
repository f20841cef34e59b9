//! Compiles the examples of `docs/rust-page.md` for Leptos, Yew and Dioxus for wasm32, with the newest version of each,
//! and that for Leptos also for a server that renders the page.

use std::fs;

use anyhow::{Context as _, Result};

use crate::cargo::{cargo, root, run};

const PAGE: &str = "docs/rust-page.md";

/// Each framework, and its feature for pages that render in the browser.
const FRAMEWORKS: [(&str, &str); 3] = [("leptos", "csr"), ("yew", "csr"), ("dioxus", "web")];

/// Creates a crate of each example, in a workspace without this project's lock file, and checks them.
pub fn check() -> Result<()> {
    let page = fs::read_to_string(root().join(PAGE))?;
    let place = root().join("target/rust-readme");
    for (framework, feature) in FRAMEWORKS {
        let source = example(&page, framework)
            .with_context(|| format!("{PAGE} has no block of Rust that begins with `use {framework}::`"))?;
        let manifest = format!(
            "[package]\nname = \"readme-{framework}\"\nedition = \"2024\"\n\n[dependencies]\n\
             guichet = {{ path = {:?}, features = [\"browser\"] }}\nserde_json = \"*\"\n\
             {framework} = \"*\"\n\n[features]\ndefault = [\"page\"]\npage = [\"{framework}/{feature}\"]\nserver = [\"{framework}/ssr\"]\n",
            root()
        );
        let folder = place.join(framework);
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/lib.rs"), source)?;
    }
    let members = FRAMEWORKS.map(|(framework, _)| format!("{framework:?}")).join(", ");
    let workspace = format!("[workspace]\nmembers = [{members}]\nresolver = \"3\"\n\n[profile.dev]\ndebug = 0\n");
    fs::write(place.join("Cargo.toml"), workspace)?;
    // It prints the versions.
    run(cargo(["update"]).current_dir(&place))?;
    run(cargo(["check", "--quiet", "--target=wasm32-unknown-unknown"]).current_dir(&place))?;
    let server = ["check", "--quiet", "--package=readme-leptos", "--no-default-features", "--features=server"];
    run(cargo(server).current_dir(&place))
}

/// The block of Rust that begins with the framework's own imports.
fn example<'a>(page: &'a str, framework: &str) -> Option<&'a str> {
    let begin = format!("```rust,ignore\nuse {framework}::");
    let start = page.find(&begin)? + "```rust,ignore\n".len();
    let length = page[start..].find("```")?;
    Some(&page[start..start + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_has_its_example() {
        let page = fs::read_to_string(root().join(PAGE)).expect("it is there");
        for (framework, _) in FRAMEWORKS {
            let source = example(&page, framework).expect("the page shows it");
            assert!(source.contains("guichet::browser::Client") || source.contains("browser::{Client"), "{source}");
        }
        assert_eq!(example(&page, "svelte"), None);
    }
}
