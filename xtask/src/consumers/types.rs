//! Checks the package's types as its users do.
//!
//! `tests/types/` uses every entry. It is compiled against the
//! installed package, by the oldest and the newest TypeScript that the
//! package supports, and so are the examples of the package's declarations and the JavaScript of the documents. The oldest compiler has the
//! types of the oldest React, and the newest those of the newest.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::copy;
use crate::cargo::{at_root, root};
use crate::npm::{Tools, run_quietly};

/// Compiles it in every way in which TypeScript resolves modules: as a bundler does, as Node.js does (`nodenext`; also from a CommonJS
/// module), and as before `exports` (`node10`).
pub fn check(project: &Path, oldest: &Tools, newest: &Tools, remark: &mut String) -> Result<()> {
    let with_oldest_react = project.join("react-oldest");
    let examples = "examples/tsconfig.json";
    let (types, readmes, commonjs) = ("tsconfig.json", "readme/tsconfig.json", "commonjs/tsconfig.json");
    let mut versions = Vec::new();
    let mut counts = String::new();
    for (project, tools, compiler, resolutions) in [
        // The newest compiler has no `node10`. The oldest does not let a CommonJS module load an ES module.
        (
            &*with_oldest_react,
            oldest,
            "typescript-oldest",
            &[("nodenext", "nodenext", &[types, examples, readmes][..]), ("node10", "esnext", &[types])][..],
        ),
        (
            project,
            newest,
            "typescript",
            &[("bundler", "esnext", &[types, examples, readmes]), ("nodenext", "nodenext", &[types, commonjs])],
        ),
    ] {
        let consumer = Consumer::new(project, oldest)?;
        let version = tools.version(compiler)?;
        for (resolution, module, configurations) in resolutions {
            for configuration in *configurations {
                run_quietly(
                    tools
                        .node(compiler, "tsc")?
                        .current_dir(&consumer.folder)
                        .args(["--project", configuration, "--pretty", "false"])
                        .args(["--moduleResolution", resolution, "--module", module]),
                )
                .with_context(|| format!("{configuration}: errors by TypeScript {version}, {resolution}"))?;
            }
        }
        let resolutions: Vec<_> = resolutions.iter().map(|(resolution, ..)| *resolution).collect();
        versions.push(format!("{version} ({})", resolutions.join(", ")));
        counts = format!("{} examples, {} blocks of documents", consumer.examples, consumer.blocks);
    }
    *remark = format!("TypeScript {}; {counts}", versions.join(" and "));
    Ok(())
}

/// `tests/types/` in a project, with the examples of the declarations and the JavaScript of the documents.
struct Consumer {
    folder: PathBuf,
    /// The number of examples.
    examples: Value,
    /// The number of blocks of JavaScript in the documents.
    blocks: usize,
}

impl Consumer {
    fn new(project: &Path, typescript: &Tools) -> Result<Self> {
        let folder = project.join("types");
        copy(&root().join("tests/types"), &folder)?;
        let script = |name: &str, argument: &Path| {
            run_quietly(at_root("node").current_dir(&folder).arg(name).arg(argument)).map(|output| output.stdout)
        };
        script("words.mjs", Path::new("")).context("the sentences do not match their types")?;
        script("errors.mjs", &root().join("docs")).context("docs/errors.md is out of date")?;
        // The newest TypeScript has no stable interface for programs.
        let examples = script("examples.mjs", &typescript.modules().join("typescript-oldest"))
            .context("a declaration is `any`, or an exported name has no example or no use in tests/types")?;
        let examples = serde_json::from_slice::<Value>(&examples)?["examples"].clone();
        let blocks = write_documents(&folder.join("readme"))?;
        Ok(Self { folder, examples, blocks })
    }
}

/// Writes the JavaScript of the documents as TypeScript into a folder. Returns the number of blocks.
fn write_documents(folder: &Path) -> Result<usize> {
    let mut count = 0;
    for document in documents()? {
        let path = document.strip_prefix(root())?.display().to_string().replace('\\', "/");
        let found = blocks(&fs::read_to_string(&document)?);
        ensure!(!found.is_empty() || !WITH_JAVASCRIPT.contains(&&*path), "{path} shows no JavaScript");
        count += found.len();
        for (number, (extension, script)) in scripts(found).iter().enumerate() {
            fs::write(folder.join(format!("{}-{number}.{extension}", path.replace('/', "-"))), script)?;
        }
    }
    Ok(count)
}

/// The documents that show JavaScript.
const WITH_JAVASCRIPT: [&str; 10] = [
    "README.md",
    "README.fr.md",
    "docs/hosted.md",
    "docs/loading.md",
    "docs/page.md",
    "docs/react.md",
    "docs/testing.md",
    "pkg-template/README.md",
    "pkg-template/sandbox/README.md",
    "pkg-template/server/README.md",
];

/// Every document of the repository and of the packages.
fn documents() -> Result<Vec<PathBuf>> {
    let mut found = vec![root().join("llms.txt")];
    for folder in ["", "docs", "pkg-template", "pkg-template/sandbox", "pkg-template/server"] {
        found.extend(ending(".md", &root().join(folder))?);
    }
    for entry in fs::read_dir(root().join("examples"))? {
        let folder = entry?.path();
        if folder.is_dir() {
            found.extend(ending(".md", &folder)?);
        }
    }
    Ok(found)
}

/// A block of code of a document.
#[derive(Debug, PartialEq)]
struct Block {
    language: String,
    code: String,
}

/// The blocks of a document that are JavaScript or TypeScript, without the indentation of a list.
fn blocks(document: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let indentation = &line[..line.len() - line.trim_start().len()];
        let Some(language) = line.trim_start().strip_prefix("```") else { continue };
        let code = lines.by_ref().take_while(|line| line.trim() != "```");
        let code = code.map(|line| line.strip_prefix(indentation).unwrap_or(line)).collect::<Vec<_>>().join("\n");
        let language = language.trim().to_owned();
        if extension(&language).is_some() {
            found.push(Block { language, code });
        }
    }
    found
}

/// The extension of TypeScript's files for a language of JavaScript or TypeScript.
fn extension(language: &str) -> Option<&'static str> {
    match language {
        "js" | "mjs" | "cjs" | "javascript" | "ts" | "mts" | "typescript" => Some("ts"),
        "jsx" | "tsx" => Some("tsx"),
        _ => None,
    }
}

/// Each script with its extension. A block without imports continues the block of the same language before it.
fn scripts(blocks: Vec<Block>) -> Vec<(&'static str, String)> {
    let mut scripts: Vec<Block> = Vec::new();
    for block in blocks {
        match scripts.iter_mut().rfind(|script| script.language == block.language) {
            Some(script) if !block.code.contains("import ") => script.code.extend(["\n", &*block.code]),
            _ => scripts.push(block),
        }
    }
    scripts.into_iter().filter_map(|script| Some((extension(&script.language)?, script.code))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_imports_nothing_continues_the_script_before_it() {
        let document =
            "\n```js\nimport a;\n```\n\n```mjs\nd();\n```\n```js\nb();\n```\n```sh\nno\n```\n```js\nimport c;\n```\n";
        let scripts = scripts(blocks(document));
        assert_eq!(
            scripts.iter().map(|(_, code)| &**code).collect::<Vec<_>>(),
            ["import a;\nb();", "d();", "import c;"]
        );
    }

    #[test]
    fn blocks_of_a_list_are_found_too() {
        let document = "```sh\n```\n1. A list:\n   ```tsx\n   f(\n     1);\n   ```\n";
        assert_eq!(blocks(document), [Block { language: "tsx".to_owned(), code: "f(\n  1);".to_owned() }]);
    }
}
