//! `cargo xtask pack --quick`: builds the npm package with Rust alone.
//! `cargo xtask pack`: the same with optimized wasm and a tarball, and checks the byte budget.
//!
//! The package is written to `target/npm/package/`: the hand-written
//! modules of `pkg-template/`, and under `core/` the crate as wasm, its glue, and
//! the same wasm as text, for the entry that embeds it.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::cargo::{self, cargo, root};
use crate::npm::{self, Tools, run_quietly};
use crate::steps::Steps;
use crate::{inline, setup, shrink, size};

/// The file name of the module for shop pages: `core/guichet_core.js` and `core/guichet_core_bg.wasm`.
const CORE: &str = "guichet_core";
/// The file name of the module for the hosted page. It is separate, so that a shop's page does not load the code that charges.
const HOSTED: &str = "guichet_hosted";

/// The texts of the licences. npm publishes them only if they are in the package's folder.
pub const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

pub fn command(args: &[String]) -> Result<()> {
    let mut steps = Steps::start();
    match args {
        [quick] if quick == "--quick" => {
            steps.step("the wasm32 target", setup::wasm_target)?;
            self::quick(&mut steps).map(drop)
        }
        [] => {
            steps.step("the wasm32 target", setup::wasm_target)?;
            steps.step("Node.js", setup::node)?;
            let tools = steps.step("the tools of xtask/npm", |_| Tools::locked())?;
            let packed = optimized(&mut steps, &tools)?;
            steps.step("the tarball", |remark| {
                *remark = relative(&packed.tarball()?);
                Ok(())
            })?;
            let sizes = size::measure(&packed, &tools)?;
            println!("\n{sizes}");
            sizes.check_budget()
        }
        _ => bail!("usage: cargo xtask pack [--quick]"),
    }
}

/// Builds the package without wasm-opt, or keeps the one that is up to date.
pub fn quick(steps: &mut Steps) -> Result<Packed> {
    build_package(steps, None)
}

/// The same with the wasm optimized by wasm-opt.
pub fn optimized(steps: &mut Steps, tools: &Tools) -> Result<Packed> {
    build_package(steps, Some(tools))
}

fn build_package(steps: &mut Steps, optimizer: Option<&Tools>) -> Result<Packed> {
    let core = steps.step("the crate as wasm", |remark| {
        let core = build_wasm()?;
        *remark = format!("guichet {}", core.version);
        Ok(core)
    })?;
    steps.step("the package", |remark| {
        let (packed, new) = core.package(optimizer)?;
        *remark = if new {
            format!("written to {}", relative(&packed.folder))
        } else {
            format!("{} is up to date", relative(&packed.folder))
        };
        Ok(packed)
    })
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

    /// Writes the tarball, and deletes older ones.
    pub fn tarball(&self) -> Result<PathBuf> {
        let folder = self.folder.parent().expect("the package's folder has a parent");
        for old in tarballs(folder)? {
            fs::remove_file(old)?;
        }
        let pack = ["pack", "./package", "--pack-destination=.", "--ignore-scripts", "--loglevel=error"];
        run_quietly(npm::npm(folder).args(pack))?;
        tarballs(folder)?.pop().context("`npm pack` wrote no tarball")
    }
}

/// The two modules of the package as cargo builds them for wasm32, before the glue is generated.
struct BuiltModules {
    version: String,
    wasm: Vec<u8>,
    hosted: Vec<u8>,
}

fn build_wasm() -> Result<BuiltModules> {
    let hosted = build_module("wasm-hosted", "js-hosted")?.0;
    let (wasm, version) = build_module("wasm", "js-page")?;
    ensure!(
        !shrink::has_function(&wasm, shrink::DESERIALIZER)?,
        "a shop's page loads serde-wasm-bindgen's deserializer. Use it only in `browser`, for Rust pages, and not in `browser::js`."
    );
    Ok(BuiltModules { version, wasm, hosted })
}

/// Builds one module of the package. Returns it with the crate's version.
fn build_module(profile: &str, feature: &str) -> Result<(Vec<u8>, String)> {
    let built = cargo::build(
        cargo([
            "rustc",
            "--package=guichet",
            "--lib",
            "--profile",
            profile,
            "--target=wasm32-unknown-unknown",
            "--crate-type=cdylib",
            "--message-format=json-render-diagnostics",
        ])
        .arg(format!("--features={feature}"))
        .env("CARGO_ENCODED_RUSTFLAGS", remap_flags()),
    )?;
    for artifact in built {
        let is_wasm = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "wasm");
        if let Some(file) = artifact.files.iter().find(is_wasm) {
            return Ok((read(file)?, artifact.version));
        }
    }
    bail!("cargo built no .wasm of the package `guichet`");
}

/// Compiler flags that remove this machine's folders from the wasm, so that the same source gives the same bytes anywhere.
fn remap_flags() -> String {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let folders = [(cargo_home, "cargo"), (Some(root()), "guichet")];
    let remapped = folders
        .into_iter()
        .filter_map(|(folder, name)| Some(format!("--remap-path-prefix={}={name}", folder?.to_str()?)));
    remapped.collect::<Vec<_>>().join("\x1f")
}

impl BuiltModules {
    /// Brings the package up to date. Returns whether it was written.
    fn package(&self, optimizer: Option<&Tools>) -> Result<(Packed, bool)> {
        let npm = root().join("target/npm");
        let template = root().join("pkg-template");
        let folder = npm.join("package");
        let stamp_file = npm.join("package.stamp");
        let stamp = self.stamp(&template)?;
        if let Some(packed) = up_to_date(&folder, &stamp_file, stamp, optimizer.is_some()) {
            return Ok((packed, false));
        }

        // Built in another folder and renamed when it is complete, so that a server
        // that reads the folder meanwhile never sees a partial package.
        let new = npm.join(format!("package.new-{}", std::process::id()));
        remove(&new)?;
        copy(&template, &new)?;
        for license in LICENSES {
            fs::copy(root().join(license), new.join(license)).with_context(|| format!("{license} is missing"))?;
        }
        let manifest = new.join("package.json");
        if manifest.exists() {
            let text = fs::read_to_string(&manifest)?;
            fs::write(&manifest, with_version(&text, &self.version)?)?;
        }
        let core = new.join("core");
        for (name, wasm, inlined) in [(CORE, &self.wasm, "inline.js"), (HOSTED, &self.hosted, "inline_hosted.js")] {
            generate(name, wasm, &core, false)?;
            let file = core.join(format!("{name}_bg.wasm"));
            if let Some(tools) = optimizer {
                optimize(tools, &file)?;
            }
            fs::write(core.join(inlined), inline::module(&read(&file)?))?;
        }
        let wasm = read(&core.join(format!("{CORE}_bg.wasm")))?;

        swap(&new, &folder)?;
        let variant = if optimizer.is_some() { OPTIMIZED } else { UNOPTIMIZED };
        fs::write(&stamp_file, format!("{stamp:016x} {variant} {}\n", wasm.len()))?;
        Ok((Packed { folder }, true))
    }

    /// A hash of everything that determines the package: the wasm, the template, the licences and xtask itself.
    fn stamp(&self, template: &Path) -> Result<u64> {
        let mut hasher = DefaultHasher::new();
        self.version.hash(&mut hasher);
        self.wasm.hash(&mut hasher);
        self.hosted.hash(&mut hasher);
        for file in files(template)? {
            file.strip_prefix(template)?.hash(&mut hasher);
            read(&file)?.hash(&mut hasher);
        }
        for license in LICENSES {
            read(&root().join(license))?.hash(&mut hasher);
        }
        let xtask = fs::metadata(std::env::current_exe()?)?;
        xtask.len().hash(&mut hasher);
        xtask.modified()?.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

/// The optimized wasm of a shop's page with the names of its functions.
pub fn with_function_names(tools: &Tools) -> Result<Vec<u8>> {
    let (wasm, _) = build_module("wasm", "js-page")?;
    let folder = root().join("target/npm-size/named");
    generate(CORE, &wasm, &folder, true)?;
    let file = folder.join(format!("{CORE}_bg.wasm"));
    run_quietly(tools.node("binaryen", "wasm-opt")?.args(WASM_OPT).arg("--debuginfo").arg(&file).arg("-o").arg(&file))?;
    read(&file)
}

fn generate(name: &str, wasm: &[u8], folder: &Path, names: bool) -> Result<()> {
    Bindgen::new()
        .input_module(name, shrink::remove_panic_messages(wasm)?)
        .web(true)?
        // The entries pass the wasm's address. An address in the glue would make
        // bundlers emit the file as well for the entry that embeds it.
        .omit_default_module_path(true)
        // The types are hand-written, because generated ones are too loose.
        .typescript(false)
        .remove_name_section(!names)
        .remove_producers_section(true)
        .generate(folder)
        .context("the glue could not be generated")
}

/// Optimizes a wasm file in place. wasm-opt reads the allowed WebAssembly features from the file.
fn optimize(tools: &Tools, wasm: &Path) -> Result<()> {
    run_quietly(tools.node("binaryen", "wasm-opt")?.args(WASM_OPT).arg(wasm).arg("-o").arg(wasm))?;
    Ok(())
}

/// The options of wasm-opt that give the smallest file after brotli, which is not always the smallest before: functions with one
/// caller are inlined only if they are short.
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

/// The build mode of a package, in its stamp file.
const UNOPTIMIZED: &str = "quick";
const OPTIMIZED: &str = "optimized";

/// The package in `folder`, if it was written for this stamp and is complete. If `optimized` is false, an optimized package
/// is up to date, too.
fn up_to_date(folder: &Path, stamp_file: &Path, stamp: u64, optimized: bool) -> Option<Packed> {
    let text = fs::read_to_string(stamp_file).ok()?;
    let mut fields = text.split_whitespace();
    if fields.next()? != format!("{stamp:016x}") {
        return None;
    }
    let variant = fields.next()?;
    if optimized && variant != OPTIMIZED {
        return None;
    }
    let core = folder.join("core");
    let wasm = fs::metadata(core.join(format!("{CORE}_bg.wasm"))).ok()?;
    let is_complete = wasm.len() == fields.next()?.parse::<u64>().ok()?
        && core.join(format!("{CORE}.js")).exists()
        && core.join("inline.js").exists();
    is_complete.then(|| Packed { folder: folder.to_owned() })
}

/// The text of a package.json with its version replaced and everything else unchanged.
fn with_version(manifest: &str, version: &str) -> Result<String> {
    let key = "\"version\": \"";
    let start = manifest.find(key).context("pkg-template/package.json has no \"version\": \"…\"")? + key.len();
    let end = start + manifest[start..].find('"').context("pkg-template/package.json: the version does not end")?;
    let filled = format!("{}{version}{}", &manifest[..start], &manifest[end..]);
    let read: serde_json::Value = serde_json::from_str(&filled).context("pkg-template/package.json is not JSON")?;
    ensure!(read["version"] == version, "pkg-template/package.json: the first \"version\" is not that of the package");
    Ok(filled)
}

fn tarballs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = files(folder)?;
    found.retain(|file| file.extension().is_some_and(|extension| extension == "tgz"));
    Ok(found)
}

/// Replaces `folder` by the folder `new`.
fn swap(new: &Path, folder: &Path) -> Result<()> {
    let old = folder.with_extension(format!("old-{}", std::process::id()));
    if folder.exists() {
        fs::rename(folder, &old).with_context(|| format!("{} could not be moved away", folder.display()))?;
    }
    fs::rename(new, folder).with_context(|| format!("{} could not be put in its place", folder.display()))?;
    remove(&old)
}

/// Copies every file under `from`.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let target = to.join(file.strip_prefix(from)?);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::copy(&file, &target).with_context(|| format!("{} could not be copied", file.display()))?;
    }
    Ok(())
}

/// Every file under a folder, sorted by path.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
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

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} could not be read", file.display()))
}

/// A path relative to the root of the checkout, for messages.
fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_of_the_manifest_is_touched() {
        let manifest = "{\n  \"name\": \"guichet\",\n  \"version\": \"0.0.0\",\n  \"type\": \"module\"\n}\n";
        assert_eq!(with_version(manifest, "1.2.3").expect("it has a version"), manifest.replace("0.0.0", "1.2.3"));
    }

    #[test]
    fn a_version_that_is_not_the_packages_own_is_refused() {
        let nested = r#"{"engine": {"version": "1"}, "version": "0.0.0"}"#;
        assert!(with_version(nested, "1.2.3").is_err());
        assert!(with_version("{}", "1.2.3").is_err());
    }

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
