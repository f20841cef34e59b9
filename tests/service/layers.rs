//! The layers of `ARCHITECTURE.md`: a module imports only from layers below its own.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the crate, lowest layer first. Modules of one layer do not import each other.
const LAYERS: [&[&str]; 8] = [
    &["encoding", "package", "platform", "private_file"],
    &["values"],
    &["protocol"],
    &["flow", "operations", "server"],
    &["postgres_address"],
    &["browser", "native", "sandbox"],
    &["check", "demo"],
    &["terminal"],
];

#[test]
fn a_module_imports_only_from_layers_below_its_own() {
    let mut wrong = Vec::new();
    for file in sources() {
        let module = module_of(&file);
        let Some(layer) = layer_of(&module) else { continue };
        for imported in imports(&fs::read_to_string(&file).unwrap()) {
            if imported != module && layer_of(&imported).is_none_or(|below| below >= layer) {
                wrong.push(format!("{} imports `{imported}`", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks that the test above finds the files and their imports.
#[test]
fn every_module_has_a_layer_and_imports_are_read() {
    let mut modules: Vec<String> = sources().iter().map(|file| module_of(file)).collect();
    modules.retain(|module| !["bin", "lib"].contains(&module.as_str()));
    modules.sort();
    modules.dedup();
    let mut known: Vec<&str> = LAYERS.concat();
    known.sort_unstable();
    assert_eq!(modules, known);

    let text =
        "use crate::values::Amount;\n/// [`crate::flow`]\nlet a = crate::every_operation!(a); $crate::platform::b";
    assert_eq!(imports(text), ["values", "operations", "platform"]);
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// The modules that a file imports from the crate's root. Comments do not count.
fn imports(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    code.join("\n")
        .split("crate::")
        .skip(1)
        .map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            match &rest[..end] {
                // A macro is exported at the root, whichever module defines it.
                "every_operation" => "operations".to_owned(),
                module => module.to_owned(),
            }
        })
        .collect()
}

/// `values` of `src/values/money.rs`, and `encoding` of `src/encoding.rs`.
fn module_of(file: &Path) -> String {
    let inside = file.strip_prefix(root()).unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}
