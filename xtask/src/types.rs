//! Checks the package's types as its users do.
//!
//! `tests/types/` uses every entry. It is compiled against the
//! installed package, by the oldest and the newest TypeScript that the
//! package supports, and so is the JavaScript of the READMEs. The oldest compiler has the types of the oldest React, and the newest those of
//! the newest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::cargo::{at_root, root};
use crate::consumers::Project;
use crate::npm::{Tools, run_quietly};

/// Compiles it: the oldest compiler resolves modules as Node.js does, the newest as a bundler does.
pub fn check(
    project: &Project,
    oldest: &Tools,
    newest: &Tools,
    oldest_react: &Tools,
    remark: &mut String,
) -> Result<()> {
    for package in [project.package(), project.sandbox()] {
        declarations(&package)?;
    }
    let with_oldest_react = project.with_other_react("types-react-oldest", oldest_react)?;
    let mut versions = Vec::new();
    for (project, tools, compiler, resolution, module) in [
        (&with_oldest_react, oldest, "typescript-oldest", "nodenext", "nodenext"),
        (project, newest, "typescript", "bundler", "esnext"),
    ] {
        let consumer = consumer(project)?;
        let version = tools.version(compiler)?;
        for (what, configuration) in
            [("the types", "tsconfig.json"), ("the JavaScript of the READMEs", "readme/tsconfig.json")]
        {
            run_quietly(
                tools
                    .node(compiler, "tsc")?
                    .current_dir(&consumer)
                    .args(["--project", configuration, "--pretty", "false"])
                    .args(["--moduleResolution", resolution, "--module", module]),
            )
            .with_context(|| format!("{what}: errors by TypeScript {version}, {resolution}"))?;
        }
        versions.push(version);
    }
    *remark = format!("TypeScript {}", versions.join(" and "));
    Ok(())
}

/// Copies `tests/types/` and the scripts of the READMEs into a project.
fn consumer(project: &Project) -> Result<PathBuf> {
    let consumer = project.with_sources(&root().join("tests/types"))?;
    run_quietly(at_root("node").current_dir(&consumer).arg("words.mjs"))
        .context("the sentences do not match their types")?;
    run_quietly(at_root("node").current_dir(&consumer).arg("errors.mjs").arg(root().join("docs/errors.md")))
        .context("docs/errors.md is out of date")?;
    for (name, document) in READMES {
        let text = fs::read_to_string(root().join(document))?;
        let found = scripts(&text, "js");
        ensure!(!found.is_empty(), "{document} shows no JavaScript");
        for (language, scripts) in [("ts", found), ("tsx", scripts(&text, "tsx"))] {
            for (number, script) in scripts.iter().enumerate() {
                fs::write(consumer.join("readme").join(format!("{name}-{number}.{language}")), script)?;
            }
        }
    }
    Ok(consumer)
}

/// The documents whose JavaScript is compiled as strict TypeScript, each with the name of its files.
const READMES: [(&str, &str); 3] =
    [("root", "README.md"), ("package", "pkg-template/README.md"), ("sandbox", "pkg-template/sandbox/README.md")];

/// The scripts of a document in this language. A block without imports continues the block before it.
fn scripts(document: &str, language: &str) -> Vec<String> {
    let mut scripts: Vec<String> = Vec::new();
    for block in document.split(&format!("\n```{language}\n")).skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        match scripts.last_mut() {
            Some(script) if !block.contains("import ") => script.extend(["\n", block]),
            _ => scripts.push(block.to_owned()),
        }
    }
    scripts
}

/// Checks the package's declarations: `any` is refused, because it would turn off the user's checks (the compilers report an
/// implicit `any`), and `tests/types/` must use each exported name.
fn declarations(package: &Path) -> Result<()> {
    let mut used = String::new();
    for kind in [".ts", ".tsx"] {
        for file in ending(kind, &root().join("tests/types"))? {
            used.push_str(&fs::read_to_string(file)?);
        }
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

/// The names that a file declares and exports. Re-exported names are declared in another file.
fn exported(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let declared = line.strip_prefix("export ")?;
        let declared = declared.strip_prefix("declare ").unwrap_or(declared);
        let (kind, rest) = declared.split_once(' ')?;
        let name = rest.split(|c| !is_of_a_name(c)).next()?;
        matches!(kind, "class" | "const" | "function" | "interface" | "type").then_some(name).filter(|n| !n.is_empty())
    })
}

/// The line of the first word `any` outside comments and strings.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_is_found_where_it_is_a_type() {
        assert_eq!(first_any("export type A = unknown;\nexport type B = any[];"), Some(2));
        assert_eq!(first_any("export const a: Promise<any>;"), Some(1));
    }

    #[test]
    fn a_block_that_imports_nothing_continues_the_script_before_it() {
        let document = "\n```js\nimport a;\n```\n\n```js\nb();\n```\n```sh\nno\n```\n```js\nimport c;\n```\n";
        assert_eq!(scripts(document, "js"), ["import a;\nb();", "import c;"]);
    }

    #[test]
    fn the_names_that_a_file_exports_are_found() {
        let source = "export declare function open(o: Options): Open;\nexport interface Options {\nexport type A =\n\
            interface Hidden {}\nexport { Other } from \"./other.js\";\nexport * from \"./more.js\";";
        assert_eq!(exported(source).collect::<Vec<_>>(), ["open", "Options", "A"]);
    }

    #[test]
    fn any_is_ignored_in_comments_strings_and_longer_names() {
        let source = "// any\n/** any\n any */\ntype Many = \"any\" | 'any'; const any_of: Company;";
        assert_eq!(first_any(source), None);
    }
}
