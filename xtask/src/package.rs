//! The npm package `guichet`, in `target/npm/package/`: the hand-written modules of `pkg-template/`, and under `core/`
//! the crate as wasm, its glue, and the same wasm as text, for the entry that embeds it. The other packages are built
//! with the same functions.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::cargo::{self, cargo, root};
use crate::npm::{self, Tools, remove, run_quietly};
use crate::sandbox_build::without_comments;
use crate::steps::Steps;
use crate::{glue, inline, shrink};

/// The file name of the module for shop pages: `core/guichet_core.js` and `core/guichet_core_bg.wasm`.
const CORE: &str = "guichet_core";
/// The file name of the module for the hosted page. It is separate, so that a shop's page does not load the code that
/// charges.
const HOSTED: &str = "guichet_hosted";

/// The files of the repository that each package holds. npm publishes them only if they are in the package's folder.
pub const ROOT_FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "llms.txt"];

/// Builds the package without wasm-opt, or keeps the one that is up to date.
pub fn quick(steps: &mut Steps) -> Result<Packed> {
    steps.step("the package", |_| build(None))
}

/// The same with the wasm optimized by wasm-opt.
pub fn optimized(steps: &mut Steps, tools: &Tools) -> Result<Packed> {
    steps.step("the package", |_| build(Some(tools)))
}

/// Builds the package, with the wasm optimized by these tools if they are given.
pub fn build(optimizer: Option<&Tools>) -> Result<Packed> {
    build_wasm()?.package(optimizer)
}

/// A built package.
pub struct Packed {
    pub folder: PathBuf,
}

impl Packed {
    pub fn wasm(&self) -> PathBuf {
        self.folder.join("core").join(format!("{CORE}_bg.wasm"))
    }

    pub fn glue(&self) -> PathBuf {
        self.folder.join("core").join(format!("{CORE}.js"))
    }

    /// Writes the tarball.
    pub fn tarball(&self) -> Result<PathBuf> {
        let folder = self.folder.parent().expect("the package's folder has a parent");
        let pack = ["--pack-destination=.", "--ignore-scripts", "--loglevel=error", "--json"];
        let output = run_quietly(npm::npm(folder).arg("pack").arg(&self.folder).args(pack))?;
        let packed: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        Ok(folder.join(packed[0]["filename"].as_str().context("`npm pack` wrote no tarball")?))
    }
}

/// The two modules of the package as cargo builds them for wasm32, before the glue is generated.
struct BuiltModules {
    version: String,
    wasm: Vec<u8>,
    hosted: Vec<u8>,
}

fn build_wasm() -> Result<BuiltModules> {
    let hosted = build_module("guichet-npm-hosted", "wasm", &[])?.0;
    let (wasm, version) = build_module("guichet", "wasm", &["--features=js-page"])?;
    for module in [&hosted, &wasm] {
        ensure!(
            !shrink::has_function(module, shrink::TEXT_SEARCH)?,
            "a page loads the standard library's search for a text in a text, 2.7 KB with what its panics print. Search byte by byte, as `src/flow/query.rs` does."
        );
    }
    ensure!(
        !shrink::has_function(&wasm, shrink::DESERIALIZER)?,
        "a shop's page loads serde-wasm-bindgen's deserializer. Use it only in `browser`, for Rust pages, and not in `browser::js`."
    );
    Ok(BuiltModules { version, wasm, hosted })
}

/// Builds a crate as one module of a package. Returns it with the crate's version.
pub fn build_module(name: &str, profile: &str, options: &[&str]) -> Result<(Vec<u8>, String)> {
    let mut command = cargo(["rustc", "--lib", "--target=wasm32-unknown-unknown", "--crate-type=cdylib"]);
    command.args(["--package", name, "--profile", profile]).args(options);
    let (file, version) = cargo::build_wasm(name, command.env("CARGO_ENCODED_RUSTFLAGS", remap_flags()))?;
    let (wasm, own_folder) = (read(&file)?, root().display().to_string());
    ensure!(
        !wasm.windows(own_folder.len()).any(|bytes| bytes == own_folder.as_bytes()),
        "the wasm of {name} contains {own_folder}: another machine would build another file"
    );
    Ok((wasm, version))
}

/// Compiler flags that remove this machine's folders from the wasm, so that the same source gives the same bytes
/// anywhere.
fn remap_flags() -> String {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let folders = [(cargo_home, "cargo"), (Some(root()), "guichet")];
    let remapped = folders
        .into_iter()
        .filter_map(|(folder, name)| Some(format!("--remap-path-prefix={}={name}", folder?.to_str()?)));
    remapped.collect::<Vec<_>>().join("\x1f")
}

impl BuiltModules {
    /// Brings the package up to date. Where none is optimized, one that is optimized is good, too.
    fn package(&self, optimizer: Option<&Tools>) -> Result<Packed> {
        let npm = root().join("target/npm");
        let template = root().join("pkg-template");
        let stamp = stamp(&[&self.wasm, &self.hosted], &self.version, &template_files(&template)?)?;
        let optimized = format!("{stamp} optimized");
        let stamps = if optimizer.is_some() { vec![optimized] } else { vec![format!("{stamp} quick"), optimized] };
        up_to_date(npm.join("package"), &stamps, |new| {
            write_template(&template, new, &self.version)?;
            let core = new.join("core");
            for (name, wasm, inlined) in [(CORE, &self.wasm, "inline.js"), (HOSTED, &self.hosted, "inline_hosted.js")] {
                generate(name, wasm, &core)?;
                let file = core.join(format!("{name}_bg.wasm"));
                if let Some(tools) = optimizer {
                    optimize(tools, &file, &npm.join(format!("{name}.symbols")))?;
                    // The hosted page has no bundler.
                    if name == HOSTED {
                        minify(tools, &core.join(format!("{name}.js")))?;
                    }
                }
                fs::write(core.join(inlined), inline::module(&read(&file)?))?;
            }
            // A page without a bundler loads the comments, too. What they say of the entries is in the types.
            for file in files(new)?.iter().filter(|file| file.extension().is_some_and(|extension| extension == "js")) {
                fs::write(file, without_comments(&fs::read_to_string(file)?))?;
            }
            Ok(())
        })
    }
}

/// The package in this folder, if it has one of these stamps. Otherwise `make` writes it with the first. It is written
/// to another folder and renamed when it is complete, so that a server that reads the folder meanwhile never sees a
/// partial package.
pub fn up_to_date(folder: PathBuf, stamps: &[String], make: impl FnOnce(&Path) -> Result<()>) -> Result<Packed> {
    let stamp_file = folder.with_extension("stamp");
    let is_current = fs::read_to_string(&stamp_file).is_ok_and(|stamp| stamps.contains(&stamp));
    if !is_current || !folder.is_dir() {
        let new = folder.with_extension(format!("new-{}", std::process::id()));
        remove(&new)?;
        make(&new)?;
        swap(&new, &folder)?;
        fs::write(stamp_file, &stamps[0])?;
    }
    Ok(Packed { folder })
}

/// A hash of everything that determines a package: its wasm, its files, those of the repository that each package
/// holds, and xtask itself.
pub fn stamp(wasm: &[&[u8]], version: &str, files: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (wasm, version).hash(&mut hasher);
    for file in files.iter().cloned().chain(ROOT_FILES.map(|file| root().join(file))) {
        (file.strip_prefix(root())?, read(&file)?).hash(&mut hasher);
    }
    let xtask = fs::metadata(std::env::current_exe()?)?;
    (xtask.len(), xtask.modified()?).hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// The version of every package.json in `pkg-template/`.
const NO_VERSION: &str = "\"version\": \"0.0.0\"";

/// Copies the hand-written half of a package, with the version, the licences and `llms.txt`.
pub fn write_template(template: &Path, folder: &Path, version: &str) -> Result<()> {
    copy(&template_files(template)?, template, folder)?;
    for file in ROOT_FILES {
        fs::copy(root().join(file), folder.join(file)).with_context(|| format!("{file} is missing"))?;
    }
    let manifest = folder.join("package.json");
    let text = fs::read_to_string(&manifest).context("the package has no package.json")?;
    ensure!(text.contains(NO_VERSION), "package.json has no {NO_VERSION}, which its version replaces");
    Ok(fs::write(&manifest, text.replace(NO_VERSION, &format!("\"version\": \"{version}\"")))?)
}

/// The hand-written files of a package. Those of `guichet-sandbox` and `guichet-server` are in folders of their own.
pub fn template_files(template: &Path) -> Result<Vec<PathBuf>> {
    let mut found = files(template)?;
    let of_others = ["sandbox", "server"].map(|folder| template.join(folder));
    found.retain(|file| !of_others.iter().any(|folder| file.starts_with(folder)));
    Ok(found)
}

/// Writes the glue and the wasm of a module, with the names of its functions. wasm-opt removes them, and writes them
/// beside the package.
fn generate(name: &str, wasm: &[u8], folder: &Path) -> Result<()> {
    let mut bindgen = bindgen(true)?;
    bindgen.input_module(name, shrink::remove_panic_messages(wasm)?);
    let mut output = bindgen.generate_output().context("the glue could not be generated")?;
    let glue = glue::turn_fallbacks_off(&glue::watch_callbacks(&glue::replace_loader(output.js())?)?)?;
    let glue = glue::create_coders_at_first_use(&glue)?;
    let glue = glue::shorten_names(output.wasm_mut(), &glue)?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join(format!("{name}.js")), glue)?;
    Ok(fs::write(folder.join(format!("{name}_bg.wasm")), output.wasm_mut().emit_wasm())?)
}

/// The generator of the glue, as every package has it.
pub fn bindgen(names: bool) -> Result<Bindgen> {
    let mut bindgen = Bindgen::new();
    bindgen
        .web(true)?
        // The entries pass the wasm's address. An address in the glue would make
        // bundlers emit the file as well for the entry that embeds it.
        .omit_default_module_path(true)
        // The types are hand-written, because generated ones are too loose.
        .typescript(false)
        .remove_name_section(!names)
        .remove_producers_section(true);
    Ok(bindgen)
}

/// Optimizes a wasm file in place, and writes the numbers and names of its functions to `map`: the stack of a panic has
/// the numbers. wasm-opt reads the allowed WebAssembly features from the file.
pub fn optimize(tools: &Tools, wasm: &Path, map: &Path) -> Result<()> {
    let map = format!("--symbolmap={}", map.display());
    run_quietly(tools.node("binaryen", "wasm-opt")?.args(WASM_OPT).arg(map).arg(wasm).arg("-o").arg(wasm))?;
    Ok(())
}

/// Minifies a generated file in place, which saves 1.1 KB.
fn minify(tools: &Tools, file: &Path) -> Result<()> {
    let how = ["--minify", "--format=esm", "--allow-overwrite"];
    run_quietly(tools.node("esbuild", "esbuild")?.arg(file).args(how).arg(format!("--outfile={}", file.display())))?;
    Ok(())
}

/// The options of wasm-opt that give the smallest file after brotli, which is not always the smallest before: functions
/// with one caller are inlined only if they are short.
const WASM_OPT: [&str; 7] = [
    "-Oz",
    "--converge",
    // Rust puts the stack below the data, so nothing but a stack overflow uses the first kilobyte.
    "--low-memory-unused",
    "--one-caller-inline-max-function-size",
    "50",
    "--strip-target-features",
    "--strip-producers",
];

/// Replaces `folder` by the folder `new`.
fn swap(new: &Path, folder: &Path) -> Result<()> {
    let old = folder.with_extension(format!("old-{}", std::process::id()));
    if folder.exists() {
        fs::rename(folder, &old).with_context(|| format!("{} could not be moved away", folder.display()))?;
    }
    fs::rename(new, folder).with_context(|| format!("{} could not be put in its place", folder.display()))?;
    remove(&old)
}

/// Copies these files of a folder into another one.
pub fn copy(files: &[PathBuf], from: &Path, to: &Path) -> Result<()> {
    for file in files {
        let target = to.join(file.strip_prefix(from)?);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(file, &target).with_context(|| format!("{} could not be copied", file.display()))?;
    }
    Ok(())
}

/// Every file under a folder, sorted by path.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("{} is missing", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} could not be read", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_replaced_whole() {
        let here = std::env::temp_dir().join(format!("guichet-swap-{}", std::process::id()));
        let (new, folder) = (here.join("new"), here.join("package"));
        for (folder, file) in [(&folder, "old.js"), (&new, "core/new.js")] {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().expect("it has a folder")).expect("a folder");
            fs::write(file, "").expect("a file");
        }

        swap(&new, &folder).expect("swapped");

        assert_eq!(files(&here).expect("readable"), [folder.join("core/new.js")]);
        remove(&here).expect("removed");
    }
}
