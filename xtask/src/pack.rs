//! `cargo xtask pack --quick`: the npm package, by Rust alone. `cargo xtask pack`:
//! the same, its wasm made smaller, as the tarball that npm takes, and weighed.
//!
//! What a page loads is written to `target/npm/package/`: the hand-written
//! modules of `pkg-template/`, and under `core/` the crate as wasm, its glue, and
//! the same wasm as text, for the entry that carries it inside.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use wasm_bindgen_cli_support::Bindgen;

use crate::cargo::{self, cargo, root};
use crate::npm::{self, Tools, quietly};
use crate::steps::Steps;
use crate::{inline, setup, shrink, size};

/// The stem of the wasm and its glue: `core/guichet_core.js`, `core/guichet_core_bg.wasm`; and of those of the hosted
/// page, so that a shop's page does not load what pays.
const CORE: &str = "guichet_core";
const HOSTED: &str = "guichet_hosted";

/// The texts of the licences, which npm publishes only where they lie in the package.
pub const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

pub fn verb(args: &[String]) -> Result<()> {
    let mut steps = Steps::begin();
    match args {
        [quick] if quick == "--quick" => {
            steps.step("the wasm32 target", setup::wasm_target)?;
            self::quick(&mut steps).map(drop)
        }
        [] => {
            steps.step("the wasm32 target", setup::wasm_target)?;
            steps.step("Node.js", setup::node)?;
            let tools = steps.step("the tools of xtask/npm", |_| Tools::locked())?;
            let packed = whole(&mut steps, &tools)?;
            steps.step("the tarball", |remark| {
                *remark = shown(&packed.tarball()?);
                Ok(())
            })?;
            let sizes = size::measure(&packed, &tools)?;
            println!("\n{sizes}");
            sizes.hold()
        }
        _ => bail!("usage: cargo xtask pack [--quick]"),
    }
}

/// Builds the wasm and puts the package into its place.
pub fn quick(steps: &mut Steps) -> Result<Packed> {
    in_its_place(steps, None)
}

/// The same, with its wasm as small as wasm-opt makes it.
pub fn whole(steps: &mut Steps, tools: &Tools) -> Result<Packed> {
    in_its_place(steps, Some(tools))
}

fn in_its_place(steps: &mut Steps, optimizer: Option<&Tools>) -> Result<Packed> {
    let core = steps.step("the crate as wasm", |remark| {
        let core = build_wasm()?;
        *remark = format!("guichet {}", core.version);
        Ok(core)
    })?;
    steps.step("the package", |remark| {
        let (packed, fresh) = core.package(optimizer)?;
        *remark = if fresh {
            format!("written to {}", shown(&packed.place))
        } else {
            format!("{} is up to date", shown(&packed.place))
        };
        Ok(packed)
    })
}

/// A package in its place, and what it weighs.
pub struct Packed {
    pub place: PathBuf,
}

impl Packed {
    pub fn wasm(&self) -> PathBuf {
        self.place.join("core").join(format!("{CORE}_bg.wasm"))
    }

    pub fn glue(&self) -> PathBuf {
        self.place.join("core").join(format!("{CORE}.js"))
    }

    /// Writes the tarball, the only one there.
    pub fn tarball(&self) -> Result<PathBuf> {
        let folder = self.place.parent().expect("the package lies in a folder");
        for old in tarballs(folder)? {
            fs::remove_file(old)?;
        }
        let pack = ["pack", "./package", "--pack-destination=.", "--ignore-scripts", "--loglevel=error"];
        quietly(npm::npm(folder).args(pack))?;
        tarballs(folder)?.pop().context("`npm pack` wrote no tarball")
    }
}

/// The crate as cargo builds it for wasm32, before the glue is made.
struct Core {
    version: String,
    wasm: Vec<u8>,
    hosted: Vec<u8>,
}

fn build_wasm() -> Result<Core> {
    let hosted = build_module("wasm-hosted", "js-hosted")?.0;
    let (wasm, version) = build_module("wasm", "js-page")?;
    ensure!(
        !shrink::has_function(&wasm, shrink::DESERIALIZER)?,
        "a shop's page loads serde-wasm-bindgen's deserializer: it is for Rust pages alone, in `browser` and not in `browser::js`"
    );
    Ok(Core { version, wasm, hosted })
}

/// One module of the package, and the crate's version.
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
        .env("CARGO_ENCODED_RUSTFLAGS", without_folders()),
    )?;
    for artifact in built {
        let is_wasm = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "wasm");
        if let Some(file) = artifact.files.iter().find(is_wasm) {
            return Ok((read(file)?, artifact.version));
        }
    }
    bail!("cargo built no .wasm of the package `guichet`");
}

/// Flags that keep this machine's folders out of what is published: the same source gives the same bytes anywhere.
fn without_folders() -> String {
    let cargo_home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let folders = [(cargo_home, "cargo"), (Some(root()), "guichet")];
    let remapped = folders
        .into_iter()
        .filter_map(|(folder, name)| Some(format!("--remap-path-prefix={}={name}", folder?.to_str()?)));
    remapped.collect::<Vec<_>>().join("\x1f")
}

impl Core {
    /// Brings the package up to date, and says whether it had to be written.
    fn package(&self, optimizer: Option<&Tools>) -> Result<(Packed, bool)> {
        let npm = root().join("target/npm");
        let template = root().join("pkg-template");
        let place = npm.join("package");
        let stamp_file = npm.join("package.stamp");
        let stamp = self.stamp(&template)?;
        if let Some(packed) = up_to_date(&place, &stamp_file, stamp, optimizer.is_some()) {
            return Ok((packed, false));
        }

        // Built beside its place and moved there when it is whole: a server that
        // reads the folder meanwhile never sees half of one.
        let fresh = npm.join(format!("package.new-{}", std::process::id()));
        remove(&fresh)?;
        copy(&template, &fresh)?;
        for license in LICENSES {
            fs::copy(root().join(license), fresh.join(license)).with_context(|| format!("{license} is missing"))?;
        }
        let manifest = fresh.join("package.json");
        if manifest.exists() {
            let text = fs::read_to_string(&manifest)?;
            fs::write(&manifest, with_version(&text, &self.version)?)?;
        }
        let core = fresh.join("core");
        for (name, wasm, inlined) in [(CORE, &self.wasm, "inline.js"), (HOSTED, &self.hosted, "inline_hosted.js")] {
            generate(name, wasm, &core, false)?;
            let file = core.join(format!("{name}_bg.wasm"));
            if let Some(tools) = optimizer {
                optimize(tools, &file)?;
            }
            fs::write(core.join(inlined), inline::module(&read(&file)?))?;
        }
        let wasm = read(&core.join(format!("{CORE}_bg.wasm")))?;

        swap(&fresh, &place)?;
        let made = if optimizer.is_some() { WHOLE } else { QUICK };
        fs::write(&stamp_file, format!("{stamp:016x} {made} {}\n", wasm.len()))?;
        Ok((Packed { place }, true))
    }

    /// Changes whenever the package would: the wasm, the template, xtask itself.
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

/// The wasm of a shop's page as it is shipped, but with the names of its functions.
pub fn named(tools: &Tools) -> Result<Vec<u8>> {
    let (wasm, _) = build_module("wasm", "js-page")?;
    let folder = root().join("target/npm-size/named");
    generate(CORE, &wasm, &folder, true)?;
    let file = folder.join(format!("{CORE}_bg.wasm"));
    quietly(tools.node("binaryen", "wasm-opt")?.args(SMALLEST).arg("--debuginfo").arg(&file).arg("-o").arg(&file))?;
    read(&file)
}

fn generate(name: &str, wasm: &[u8], folder: &Path, names: bool) -> Result<()> {
    Bindgen::new()
        .input_module(name, shrink::remove_panic_messages(wasm)?)
        .web(true)?
        // The entries say where the wasm is. An address in the glue would make
        // bundlers emit the file a second time, for the entry that carries it inside.
        .omit_default_module_path(true)
        // The types are hand-written: generated ones are looser than what is promised.
        .typescript(false)
        .remove_name_section(!names)
        .remove_producers_section(true)
        .generate(folder)
        .context("the glue could not be generated")
}

/// Makes a wasm as small as wasm-opt can. What it may use of WebAssembly it reads in the file itself.
fn optimize(tools: &Tools, wasm: &Path) -> Result<()> {
    quietly(tools.node("binaryen", "wasm-opt")?.args(SMALLEST).arg(wasm).arg("-o").arg(wasm))?;
    Ok(())
}

/// As small as brotli sends it, which is not always the fewest bytes: what is called once is copied in only where it is
/// short.
const SMALLEST: [&str; 7] = [
    "-Oz",
    "--converge",
    // The stack of Rust's wasm lies below its data: only an overflow of it reaches the first kilobyte.
    "--low-memory-unused",
    "--one-caller-inline-max-function-size",
    "50",
    "--strip-target-features",
    "--strip-producers",
];

/// How a package was made, in its stamp.
const QUICK: &str = "quick";
const WHOLE: &str = "whole";

/// The package that stands in `place`, when it was written for this stamp and is all there. A whole one is as good
/// where a quick one is asked for.
fn up_to_date(place: &Path, stamp_file: &Path, stamp: u64, whole: bool) -> Option<Packed> {
    let text = fs::read_to_string(stamp_file).ok()?;
    let mut words = text.split_whitespace();
    if words.next()? != format!("{stamp:016x}") {
        return None;
    }
    let made = words.next()?;
    if whole && made != WHOLE {
        return None;
    }
    let core = place.join("core");
    let wasm = fs::metadata(core.join(format!("{CORE}_bg.wasm"))).ok()?;
    let whole = wasm.len() == words.next()?.parse::<u64>().ok()?
        && core.join(format!("{CORE}.js")).exists()
        && core.join("inline.js").exists();
    whole.then(|| Packed { place: place.to_owned() })
}

/// The text of a package.json with its version set, and nothing else touched.
fn with_version(manifest: &str, version: &str) -> Result<String> {
    let key = "\"version\": \"";
    let start = manifest.find(key).context("pkg-template/package.json has no \"version\": \"…\"")? + key.len();
    let end = start + manifest[start..].find('"').context("pkg-template/package.json: the version does not end")?;
    let filled = format!("{}{version}{}", &manifest[..start], &manifest[end..]);
    let read: serde_json::Value = serde_json::from_str(&filled).context("pkg-template/package.json is not JSON")?;
    ensure!(read["version"] == version, "pkg-template/package.json: its first \"version\" is not the package's own");
    Ok(filled)
}

fn tarballs(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = files(folder)?;
    found.retain(|file| file.extension().is_some_and(|ending| ending == "tgz"));
    Ok(found)
}

/// Puts the folder `fresh` where `place` is.
fn swap(fresh: &Path, place: &Path) -> Result<()> {
    let old = place.with_extension(format!("old-{}", std::process::id()));
    if place.exists() {
        fs::rename(place, &old).with_context(|| format!("{} could not be moved away", place.display()))?;
    }
    fs::rename(fresh, place).with_context(|| format!("{} could not be put in its place", place.display()))?;
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

/// Every file under a folder, always in the same order.
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

/// A path as one reads it at the root of the checkout.
fn shown(path: &Path) -> String {
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
        let (fresh, place) = (here.join("new"), here.join("package"));
        for (folder, file) in [(&place, "old.js"), (&fresh, "core/new.js")] {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().expect("it has a folder")).expect("a folder");
            fs::write(file, "").expect("a file");
        }

        swap(&fresh, &place).expect("swapped");

        assert_eq!(files(&here).expect("readable"), [place.join("core/new.js")]);
        remove(&here).expect("removed");
    }
}
