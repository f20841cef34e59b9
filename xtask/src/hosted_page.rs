//! `hosted-page/` of the npm package `guichet`: the templates, the style and the script of the sandbox's checkout page,
//! its sentences, and each of its states as plain HTML, for a payment company that takes the page.

use std::fs;

use anyhow::Result;

use crate::cargo::root;
use crate::npm::run_quietly;
use crate::package::{self, Packed};

/// The folder in the package.
pub const FOLDER: &str = "hosted-page";

/// Writes the folder. The packed sandbox renders the states.
pub fn write(guichet: &Packed, sandbox: &Packed) -> Result<()> {
    let to = guichet.folder.join(FOLDER);
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    let parts = [
        ("crates/sandbox/templates", &["checkout.html", "fields.html"][..]),
        ("www/checkout", &["checkout.css", "checkout.js", "icon.svg"]),
        ("words", &["en.json", "fr.json"]),
        ("www/hosted-page", &["README.md"]),
    ];
    for (folder, names) in parts {
        let files: Vec<_> = names.iter().map(|name| root().join(folder).join(name)).collect();
        package::copy(&files, &root().join(folder), &to)?;
    }
    let render = root().join("www/hosted-page/render.mjs");
    run_quietly(std::process::Command::new("node").arg(render).arg(&sandbox.folder).arg(to.join("states"))).map(drop)
}
