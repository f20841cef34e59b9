//! Embedding the npm package in the binary: what the build script of `guichet-sandbox` generates from the folder that
//! `GUICHET_PACKAGE` names. (`crates/sandbox/src/package.rs` tests how the embedded package is served.)

#[allow(dead_code, reason = "cargo runs its main")]
#[path = "../../crates/sandbox/build.rs"]
mod build;
use crate::support::folder::Folder;
use std::fs;

#[test]
fn without_a_package_there_is_nothing_to_embed() {
    assert_eq!(build::listing(None).unwrap(), "&[]");
}

#[test]
fn every_file_of_the_package_is_embedded_under_its_path() {
    let package = Folder::new("embedding");
    fs::create_dir(package.path.join("core")).unwrap();
    for file in ["hosted.js", "guichet.js", "core/guichet_core_bg.wasm"] {
        fs::write(package.path.join(file), "").unwrap();
    }
    let list = build::listing(Some(&package.path)).unwrap();
    let names: Vec<&str> = list.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split('"').next()).collect();
    assert_eq!(names, ["core/guichet_core_bg.wasm", "guichet.js", "hosted.js"]);
    assert!(list.matches("include_bytes!(\"/").count() == 3, "the compiler looks from another folder: {list}");
}

#[test]
fn a_folder_that_is_not_the_package_stops_the_build_with_the_remedy() {
    let empty = Folder::new("no-package");
    assert!(build::listing(Some(&empty.path)).unwrap_err().contains("cargo xtask pack"));
    let missing = build::listing(Some(&empty.path.join("nowhere"))).unwrap_err();
    assert!(missing.contains("GUICHET_PACKAGE") && missing.contains("nowhere"), "{missing}");
}
