//! The package's types, checked as the people who use it check theirs.
//!
//! `tests/types/` is a small consumer of every entry. It is compiled against the
//! package as npm would install it, by the oldest and the newest TypeScript that
//! the package is meant for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::cargo::{at_root, root, run};

/// A compiler by its name in `xtask/npm/package.json`, and how it finds modules:
/// the oldest as Node.js does, the newest as a bundler does.
const COMPILERS: [(&str, &str, &str); 2] =
    [("typescript-oldest", "nodenext", "nodenext"), ("typescript", "bundler", "esnext")];

pub fn check(package: &Path, remark: &mut String) -> Result<()> {
    declarations(package)?;
    let tools = install()?;
    let consumer = consumer(package)?;
    let mut versions = Vec::new();
    for (compiler, resolution, module) in COMPILERS {
        let folder = tools.join("node_modules").join(compiler);
        let version = version(&folder)?;
        run(at_root("node")
            .current_dir(&consumer)
            .arg(folder.join("bin/tsc"))
            .args(["--project", "tsconfig.json", "--pretty", "false"])
            .args(["--moduleResolution", resolution, "--module", module]))
        .with_context(|| format!("the types do not hold (TypeScript {version}, {resolution})"))?;
        versions.push(version);
    }
    *remark = format!("TypeScript {}", versions.join(" and "));
    Ok(())
}

/// Reads what the package declares: `any` is refused, for it would switch the reader's checks off (what is `any` for want
/// of a type is an error of the compilers), and each exported name must be used by the consumer.
fn declarations(package: &Path) -> Result<()> {
    let mut used = String::new();
    for file in ending(".ts", &root().join("tests/types"))? {
        used.push_str(&fs::read_to_string(file)?);
    }
    for file in ending(".d.ts", package)? {
        let text = fs::read_to_string(&file)?;
        if let Some(line) = first_any(&text) {
            bail!("{}:{line} says `any`", file.display());
        }
        if let Some(name) = exported(&text).find(|name| !used.split(|c| !is_of_a_name(c)).any(|word| word == *name)) {
            bail!("{} exports `{name}`, which tests/types/ does not use", file.display());
        }
    }
    Ok(())
}

fn ending(ending: &str, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} is missing", folder.display()))? {
        let file = entry?.path();
        if file.to_string_lossy().ends_with(ending) {
            found.push(file);
        }
    }
    Ok(found)
}

/// The names that a file declares and exports; what it only hands on is declared in another.
fn exported(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let declared = line.strip_prefix("export ")?;
        let declared = declared.strip_prefix("declare ").unwrap_or(declared);
        let (kind, rest) = declared.split_once(' ')?;
        let name = rest.split(|c| !is_of_a_name(c)).next()?;
        matches!(kind, "class" | "const" | "function" | "interface" | "type").then_some(name).filter(|n| !n.is_empty())
    })
}

/// The line of the first word `any` that is neither in a comment nor in a text.
fn first_any(source: &str) -> Option<usize> {
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if matches!(first, '"' | '\'' | '`') {
            rest[1..].find(first).map_or(rest.len(), |end| end + 2)
        } else if is_of_a_name(first) {
            let end = rest.find(|c| !is_of_a_name(c)).unwrap_or(rest.len());
            if &rest[..end] == "any" {
                let before = &source[..source.len() - rest.len()];
                return Some(before.matches('\n').count() + 1);
            }
            end
        } else {
            first.len_utf8()
        };
        rest = &rest[skipped..];
    }
    None
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Installs the locked compilers under `target/`, unless they are there.
fn install() -> Result<PathBuf> {
    let locked = root().join("xtask/npm");
    let tools = root().join("target/npm-tools");
    let lock = fs::read(locked.join("package-lock.json"))?;
    // Written last, so that an install cut short is made again.
    let done = tools.join("installed-lock.json");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(tools);
    }
    fs::create_dir_all(&tools)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(locked.join(file), tools.join(file))?;
    }
    println!("   installing TypeScript by `npm ci`");
    run(at_root("npm").current_dir(&tools).args([
        "ci",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--loglevel=error",
    ]))?;
    fs::write(done, lock)?;
    Ok(tools)
}

/// The consumer's sources with the package beside them, where npm would put it.
fn consumer(package: &Path) -> Result<PathBuf> {
    let sources = root().join("tests/types");
    let place = root().join("target/types");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let installed = place.join("node_modules/guichet");
    copy(package, &installed)?;
    copy(&sources, &place)?;
    Ok(place)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("{} is missing", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn version(compiler: &Path) -> Result<String> {
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(compiler.join("package.json"))?)?;
    Ok(manifest["version"].as_str().context("the compiler has no version")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_is_found_where_it_is_a_type() {
        assert_eq!(first_any("export type A = unknown;\nexport type B = any[];"), Some(2));
        assert_eq!(first_any("export const a: Promise<any>;"), Some(1));
    }

    #[test]
    fn what_a_file_exports_is_known_by_name() {
        let source = "export declare function open(o: Options): Open;\nexport interface Options {\nexport type A =\n\
            interface Hidden {}\nexport { Other } from \"./other.js\";\nexport * from \"./more.js\";";
        assert_eq!(exported(source).collect::<Vec<_>>(), ["open", "Options", "A"]);
    }

    #[test]
    fn any_is_free_in_comments_texts_and_longer_names() {
        let source = "// any\n/** any\n any */\ntype Many = \"any\" | 'any'; const any_of: Company;";
        assert_eq!(first_any(source), None);
    }
}
