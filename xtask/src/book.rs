//! `cargo xtask book`: the documents as a site with a search, made by mdBook. `--serve` shows it while it runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cargo::{root, run};
use crate::consumers::copy;
use crate::setup;

const MDBOOK: &str = "mdbook";
const REPOSITORY: &str = "https://github.com/guichet-pay/guichet/blob/main";
/// Without the preprocessor that renames each README.md, so that links to it hold.
const BOOK: &str = "[book]\ntitle = \"guichet\"\nlanguage = \"en\"\n\n[build]\nuse-default-preprocessors = false\n\n\
                    [output.html]\ngit-repository-url = \"https://github.com/guichet-pay/guichet\"\n";

/// Writes the site to `target/book/book/`, and shows it if the command of mdBook is `serve`.
pub fn build(verb: &str) -> Result<()> {
    let folder = root().join("target/book");
    write_sources(&folder)?;
    setup::cargo_subcommand(MDBOOK, &mut String::new())?;
    run(setup::subcommand(MDBOOK).arg(verb).arg(&folder))?;
    println!("\nThe site is in {}", folder.join("book").display());
    Ok(())
}

/// Copies the pages of the list of all pages. A link to a file that is none of them leads to the repository.
fn write_sources(folder: &Path) -> Result<()> {
    let (summary, pages) = contents(&fs::read_to_string(root().join("docs/index.md"))?);
    let source = folder.join("src");
    for page in &pages {
        let target = source.join(page);
        fs::create_dir_all(target.parent().context("a page is in a folder")?)?;
        fs::write(target, with_links(&fs::read_to_string(root().join(page))?, page, &pages))?;
    }
    copy(&root().join("docs/pictures"), &source.join("docs/pictures"))?;
    fs::write(folder.join("book.toml"), BOOK)?;
    Ok(fs::write(source.join("SUMMARY.md"), summary)?)
}

/// The table of contents, and its pages: the list of all pages without their sentences.
fn contents(index: &str) -> (String, BTreeSet<PathBuf>) {
    let mut summary = "# Summary\n\n[guichet](README.md)\n[En français](README.fr.md)\n".to_owned();
    let mut pages = BTreeSet::from(["README.md", "README.fr.md"].map(PathBuf::from));
    for line in index.lines() {
        if let Some(readers) = line.strip_prefix("## ") {
            summary += &format!("\n# {readers}\n\n");
        }
        let entry = line.strip_prefix("- ").and_then(|entry| entry.split_once("]("));
        if let Some((title, (page, _))) = entry.and_then(|(title, rest)| Some((title, rest.split_once(')')?))) {
            let page = page.strip_prefix("../").map_or_else(|| format!("docs/{page}"), str::to_owned);
            summary += &format!("- {title}]({page})\n");
            pages.insert(PathBuf::from(page));
        }
    }
    (summary, pages)
}

/// A document whose links lead to documents of the book, or to the repository.
fn with_links(text: &str, page: &Path, pages: &BTreeSet<PathBuf>) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    first
        + &parts
            .map(|part| match part.split_once(')') {
                Some((target, rest)) => format!("]({}){rest}", link(target, page, pages)),
                None => format!("]({part}"),
            })
            .collect::<String>()
}

fn link(target: &str, page: &Path, pages: &BTreeSet<PathBuf>) -> String {
    let path = target.split('#').next().unwrap_or_default();
    if path.is_empty() || target.contains("://") {
        return target.to_owned();
    }
    let mut found = PathBuf::new();
    for part in page.with_file_name(path).components() {
        if part == Component::ParentDir {
            found.pop();
        } else {
            found.push(part);
        }
    }
    if pages.contains(&found) {
        target.to_owned()
    } else if pages.contains(&found.join("README.md")) {
        format!("{path}/README.md")
    } else {
        format!("{REPOSITORY}/{}", found.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_the_book_or_to_the_repository() {
        let (summary, pages) =
            contents("# All\n\n## P\n\n- [A](a.md): It is.\n- [B](b.md): B.\n- [X](../x/README.md): Y.\n");
        assert!(summary.ends_with("\n# P\n\n- [A](docs/a.md)\n- [B](docs/b.md)\n- [X](x/README.md)\n"), "{summary}");
        let text = "[a](b.md#c) [x](../x) [y](../src/lib.rs) [z](https://example.com) [h](#h)";
        assert_eq!(
            with_links(text, Path::new("docs/a.md"), &pages),
            format!("[a](b.md#c) [x](../x/README.md) [y]({REPOSITORY}/src/lib.rs) [z](https://example.com) [h](#h)")
        );
    }
}
