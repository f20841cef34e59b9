//! No line of this repository fetches a stranger's package: until the names are ours in the registries, each command
//! names a file. And none shows a key of another company.

use std::fs;
use std::process::Command;

/// Whether `guichet`, `guichet-sandbox` and `guichet-server` belong to this project in the registries of npm and of
/// Rust. The release that takes the names sets it: the test below then lists the lines with tarballs, which that
/// release rewrites.
const NAMES_ARE_OURS: bool = false;

#[test]
fn no_line_runs_or_installs_guichet_by_a_name_that_is_not_ours() {
    let mut stale = Vec::new();
    for (file, text) in tracked_texts() {
        // This file shows what is refused.
        if file != "tests/service/names.rs" {
            stale.extend(stale_lines(&text, NAMES_ARE_OURS).into_iter().map(|line| format!("{file}: {line}")));
        }
    }
    assert!(stale.is_empty(), "{stale:#?}");
}

/// Scanners report the keys that payment companies print in their documents.
#[test]
fn no_file_has_an_example_key_of_another_company() {
    // In two parts, so that this file has none.
    let keys = [("4eC39HqLyj", "WDarjt"), ("BQokikJOvB", "iI2HlW"), ("26PHem9AhJ", "ZvU623"), ("TYooMQauvd", "EDq54N")];
    let keys = keys.map(|(begin, end)| format!("{begin}{end}"));
    let has_one = |(_, text): &(String, String)| keys.iter().any(|key| text.contains(key));
    let found: Vec<String> = tracked_texts().filter(has_one).map(|(file, _)| file).collect();
    assert!(found.is_empty(), "{found:?} show a key of another company. Take sk_test_0123456789abcdefghijklmn.");
}

/// The files that git tracks, with their texts. A file that is no text is left out.
fn tracked_texts() -> impl Iterator<Item = (String, String)> {
    let root = crate::support::root();
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(&root).output().expect("git lists the files");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("names in UTF-8");
    let names: Vec<String> = names.split_terminator('\0').map(str::to_owned).collect();
    names.into_iter().filter_map(move |file| {
        let text = fs::read_to_string(root.join(&file)).ok()?;
        Some((file, text))
    })
}

/// Checks that the test above finds such lines, and no others.
#[test]
fn a_name_is_told_from_a_file_and_from_a_command_that_was_installed_from_a_file() {
    for line in [
        "npx guichet-sandbox",
        "<code>npx --yes guichet-sandbox@0.1.0 demo</code>",
        "In Node.js, `npx guichet-sandbox check` is the same.",
        "npm install guichet",
        "npm i -D guichet-sandbox@latest vitest",
        "pnpm add guichet",
        "yarn dlx guichet-sandbox",
        "bunx guichet-sandbox",
        "deno add npm:guichet",
        "(cargo install guichet --features cli)",
        "cargo add guichet",
        "npm install ./guichet-sandbox-0.1.0.tgz && npx guichet-sandbox",
        "```sh\nnpm install ./guichet-sandbox-0.1.0.tgz\n```\n```sh\nnpx guichet-sandbox\n```",
    ] {
        assert_eq!(stale_lines(line, false).len(), 1, "{line}");
    }
    for line in [
        "npx ./target/npm/guichet-sandbox-0.1.0.tgz demo",
        "npm install ../guichet/target/npm/guichet-0.1.0.tgz ../guichet/target/npm/guichet-sandbox-0.1.0.tgz",
        "```sh\nnpm install ./guichet-sandbox-0.1.0.tgz\nnpx guichet-sandbox\n```",
        "cargo install --path crates/cli",
        "`npm install` the package guichet",
        "npx next build, as guichet does",
        "import { createGuichet } from \"guichet\";",
        "node node_modules/guichet-sandbox/bin.js",
        "guichet sandbox",
    ] {
        assert_eq!(stale_lines(line, false), [""; 0], "{line}");
    }
    let tarball = "npx ./target/npm/guichet-sandbox-0.1.0.tgz demo";
    assert_eq!(stale_lines(tarball, true), [tarball]);
    assert_eq!(stale_lines("npx guichet-sandbox demo", true), [""; 0]);
}

/// The lines of a text with a command that gets a package of ours by its name, or by a file once the names are ours.
fn stale_lines(text: &str, names_are_ours: bool) -> Vec<String> {
    let mut stale = Vec::new();
    let mut is_block = false;
    // What the lines above have installed from files, in this block of code.
    let mut installed: Vec<&str> = Vec::new();
    let text = text.replace("\\\n", " ");
    for line in text.lines() {
        if line.trim_start_matches(['/', '!', ' ']).starts_with("```") {
            is_block = !is_block;
            installed.clear();
        }
        // A command ends with its line, its sequence, its quotation or its element.
        for command in line.split(['`', '<', '>', '|', ';', '&', '#']) {
            let words: Vec<&str> =
                command.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', '"', '\''])).collect();
            let (ours, runs) = packages(&words);
            let (files, names): (Vec<&str>, Vec<&str>) = ours.into_iter().partition(|package| is_file(package));
            let is_stale = match names_are_ours {
                true => !files.is_empty(),
                false => names.iter().any(|name| !(runs && installed.contains(name))),
            };
            if is_stale {
                stale.push(line.trim().to_owned());
            }
            installed.extend(files.into_iter().filter(|_| is_block && !runs).filter_map(package_of));
        }
    }
    stale
}

/// The packages of ours that a command runs or installs, and whether it runs them.
fn packages<'a>(words: &[&'a str]) -> (Vec<&'a str>, bool) {
    let is_ours = |word: &&str| {
        let name = word.trim_start_matches("npm:");
        name.starts_with("guichet") || is_file(word) && package_of(word).is_some()
    };
    for (place, word) in words.iter().enumerate() {
        let verb = words.get(place + 1).copied().unwrap_or_default();
        let (runs, begin) = match (*word, verb) {
            ("npx" | "bunx" | "pnpx", _) => (true, place + 1),
            ("npm" | "pnpm" | "yarn" | "bun", "dlx" | "exec" | "x") => (true, place + 2),
            ("npm" | "pnpm" | "yarn" | "bun" | "deno", "add" | "i" | "install") => (false, place + 2),
            ("cargo", "add" | "binstall" | "install") => (false, place + 2),
            _ => continue,
        };
        let named = words[begin..].iter().filter(|word| !word.starts_with('-')).copied();
        // What follows the name of a program are its own arguments.
        let most = if runs { 1 } else { usize::MAX };
        return (named.take(most).filter(is_ours).collect(), runs);
    }
    (Vec::new(), false)
}

fn is_file(package: &str) -> bool {
    package.ends_with(".tgz")
}

/// The name of the package in a tarball: `guichet-sandbox` of `../guichet-sandbox-0.1.0.tgz`.
fn package_of(file: &str) -> Option<&str> {
    let (name, _version) = file.rsplit('/').next()?.strip_suffix(".tgz")?.rsplit_once('-')?;
    name.starts_with("guichet").then_some(name)
}
