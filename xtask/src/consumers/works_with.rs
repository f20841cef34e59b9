//! The table "Works with" in `docs/loading.md`: what the checks of the tarballs use, with the locked versions.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cargo::root;

/// The folder of a lock file, and a package in it.
type Locked = (&'static str, &'static str);

/// Each toolchain, the packages that have its versions, and how the package is used in it.
const TOOLCHAINS: [(&str, &[Locked], &str); 26] = [
    ("no bundler", &[], "the package's files, by their addresses"),
    ("Vite", &[("", "4, 5, 6, 7"), (TOOLS, "vite")], DEV_AND_BUILD),
    ("webpack", &[(TOOLS, "webpack")], ""),
    (
        "esbuild",
        &[(TOOLS, "esbuild")],
        "with `guichet/beside`, pass `--format=esm` and copy `core/guichet_core_bg.wasm` to `core/` beside its output",
    ),
    ("Rollup", &[NEWEST], "with `guichet/beside`, copy the same file"),
    ("Parcel", &[NEWEST], "it writes an import map into the page, which a Content-Security-Policy must allow"),
    ("Metro", &[NEWEST], "`guichet`: its scripts have no `import.meta`, which `guichet/beside` needs"),
    ("Next", &[("xtask/npm/next", "next")], "with Turbopack and with webpack"),
    ("Svelte", &[NEWEST], DEV_AND_BUILD),
    ("SvelteKit", &[NEWEST], DEV_AND_BUILD),
    ("Nuxt", &[NEWEST], DEV_AND_BUILD),
    ("Astro", &[NEWEST], DEV_AND_BUILD),
    ("Angular", &[NEWEST], "`ng serve` and `ng build`"),
    ("React Router", &[("", "7")], "framework mode, `dev` and `build`"),
    ("Gatsby", &[NEWEST], "`build`"),
    ("Storybook", &[NEWEST], "`dev` and `build`, with Vite"),
    ("Node.js", &[], "`import`; `require` from 20.19 and 22.12 on"),
    ("Deno", &[(TOOLS, "deno")], "needs no permission"),
    ("Bun", &[(TOOLS, "bun")], ""),
    ("Cloudflare's Workers", &[NEWEST], "with the option `wasm`; `import` without it, at any compatibility date"),
    (
        "TypeScript",
        &[(TOOLS, "typescript-oldest"), (TOOLS, "typescript")],
        "`moduleResolution`: `bundler`, `nodenext`, `node10`",
    ),
    ("React", &[("xtask/npm/react-oldest", "react"), (TOOLS, "react")], "`guichet/react`"),
    ("Vue", &[(TOOLS, "vue")], "`guichet/vue`"),
    ("Vitest", &[(TOOLS, "vitest")], "in `node` and in `jsdom`"),
    ("Jest", &[("xtask/npm/jest", "jest")], "in `node`; a component in its jsdom"),
    ("Playwright", &[(TOOLS, "@playwright/test")], "in Chromium"),
];

const DEV_AND_BUILD: &str = "`dev` and `build`";
const TOOLS: &str = "xtask/npm";
/// `cargo xtask test --newest` installs the newest version that runs on its Node.js.
const NEWEST: Locked = ("", "the newest");

pub const PAGE: &str = "docs/loading.md";

/// The page with this table.
pub fn page() -> Result<String> {
    const HEADING: &str = "| in | version | |\n|---|---|---|\n";
    let page = fs::read_to_string(root().join(PAGE))?;
    let (before, rest) = page.split_once(HEADING).context("the page has no table of toolchains")?;
    let (_, after) = rest.split_once("\n\n").context("no paragraph follows the table")?;
    let rows = TOOLCHAINS.iter().map(row).collect::<Result<Vec<_>>>()?;
    Ok(format!("{before}{HEADING}{}\n\n{after}", rows.join("\n")))
}

fn row((name, packages, note): &(&str, &[Locked], &str)) -> Result<String> {
    let versions = packages.iter().map(|(folder, package)| locked_version(folder, package));
    let versions = versions.collect::<Result<Vec<_>>>()?;
    let cells = [name, &*versions.join(" and "), note]
        .map(|cell| if cell.is_empty() { " ".to_owned() } else { format!(" {cell} ") });
    Ok(format!("|{}|", cells.join("|")))
}

fn locked_version(folder: &str, package: &str) -> Result<String> {
    if folder.is_empty() {
        return Ok(package.to_owned());
    }
    let lock: Value = serde_json::from_str(&fs::read_to_string(root().join(folder).join("package-lock.json"))?)?;
    let version = lock["packages"][format!("node_modules/{package}")]["version"].as_str();
    Ok(version.with_context(|| format!("{folder} does not lock {package}"))?.to_owned())
}

#[test]
fn the_table_of_toolchains_has_the_locked_versions() {
    let current = page().expect("it can be written");
    let tracked = fs::read_to_string(root().join(PAGE)).expect("it is there");
    assert!(tracked == current, "{PAGE} is stale. Run `cargo xtask generate`, and commit what it writes.");
}
