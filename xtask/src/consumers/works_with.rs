//! The table "Works with" in the package's README: what the checks of the tarballs use, with the locked versions.

use std::fs;

use serde_json::Value;

use crate::cargo::root;

/// The folder of a lock file, and a package in it.
type Locked = (&'static str, &'static str);

/// Each toolchain, the packages that have its versions, and how the package is used in it.
const TOOLCHAINS: [(&str, &[Locked], &str); 15] = [
    ("no bundler", &[], "the package's files, by their addresses"),
    ("Vite", &[(TOOLS, "vite")], "`dev` and `build`"),
    ("webpack", &[NEWEST], ""),
    (
        "esbuild",
        &[(TOOLS, "esbuild")],
        "with `guichet/beside`, copy `core/guichet_core_bg.wasm` to `core/` beside its output",
    ),
    ("Rollup", &[NEWEST], "the same"),
    ("Parcel", &[NEWEST], "it writes an import map into the page, which a Content-Security-Policy must allow"),
    ("Next", &[("xtask/npm/next", "next")], "with Turbopack and with webpack"),
    ("Node.js", &[], "`import`; `require` from 20.19 and 22.12 on"),
    ("Deno", &[(TOOLS, "deno")], "needs no permission"),
    ("Bun", &[(TOOLS, "bun")], ""),
    (
        "TypeScript",
        &[(TOOLS, "typescript-oldest"), (TOOLS, "typescript")],
        "`moduleResolution`: `bundler`, `nodenext`, `node10`",
    ),
    ("React", &[("xtask/npm/react-oldest", "react"), (TOOLS, "react")], "`guichet/react`"),
    ("Vitest", &[(TOOLS, "vitest")], "in `node` and in `jsdom`"),
    ("Jest", &[("xtask/npm/jest", "jest")], "in `node`"),
    ("Playwright", &[(TOOLS, "@playwright/test")], "in Chromium"),
];

const TOOLS: &str = "xtask/npm";
/// `cargo xtask test --newest` installs the newest version.
const NEWEST: Locked = ("", "the newest");

#[test]
fn the_table_of_toolchains_has_the_locked_versions() {
    const HEADING: &str = "| in | version | |\n|---|---|---|\n";
    let file = root().join("pkg-template/README.md");
    let readme = fs::read_to_string(&file).expect("the package has a README");
    let (before, rest) = readme.split_once(HEADING).expect("the README has the table");
    let (_, after) = rest.split_once("\n\n").expect("a paragraph follows the table");
    let rows: Vec<String> = TOOLCHAINS.iter().map(row).collect();
    let current = format!("{before}{HEADING}{}\n\n{after}", rows.join("\n"));
    if readme != current {
        fs::write(&file, current).expect("the README can be written");
        panic!(
            "the table of toolchains in pkg-template/README.md was stale and was written again: review and commit it"
        );
    }
}

fn row((name, packages, note): &(&str, &[Locked], &str)) -> String {
    let versions: Vec<String> = packages.iter().map(|(folder, package)| locked_version(folder, package)).collect();
    let cells = [name, &*versions.join(" and "), note]
        .map(|cell| if cell.is_empty() { " ".to_owned() } else { format!(" {cell} ") });
    format!("|{}|", cells.join("|"))
}

fn locked_version(folder: &str, package: &str) -> String {
    if folder.is_empty() {
        return package.to_owned();
    }
    let lock = fs::read_to_string(root().join(folder).join("package-lock.json")).expect("there is a lock file");
    let lock: Value = serde_json::from_str(&lock).expect("it is JSON");
    let version = lock["packages"][format!("node_modules/{package}")]["version"].as_str();
    version.unwrap_or_else(|| panic!("{folder} does not lock {package}")).to_owned()
}
