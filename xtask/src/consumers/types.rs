//! Checks the package's types as its users do.
//!
//! `tests/types/` uses every entry. It is compiled against the
//! installed package, by the oldest and the newest TypeScript that the
//! package supports, and so are the examples of the package's declarations and the JavaScript of the documents. The
//! oldest compiler has the types of the oldest React, and the newest those of the newest.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::copy;
use crate::cargo::{at_root, root};
use crate::npm::{Tools, run_quietly};

/// Compiles it in every way in which TypeScript resolves modules: as a bundler does, as Node.js does (`nodenext`; also
/// from a CommonJS module), and as before `exports` (`node10`).
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
    blocks: Value,
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
        let blocks = serde_json::from_slice(&script("documents.mjs", &root())?)?;
        Ok(Self { folder, examples, blocks })
    }
}
