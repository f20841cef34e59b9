//! `guichet shop init`: an application to begin with, its page and its settings.

use super::secret;
use clap::{Args, ValueEnum};
use guichet_sandbox::Package;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct InitArgs {
    /// What the application is written in.
    kind: Kind,
    /// A folder that is empty or does not exist.
    folder: PathBuf,
    /// The folder of the npm package, which the page loads.
    #[arg(long, value_name = "DIR")]
    package: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Kind {
    /// Django 5.2, Python 3.11 or newer
    Django,
    /// Go 1.19 or newer, with its standard library alone
    Go,
    /// Laravel 8.83 or newer, PHP 8.2
    Laravel,
}

/// The name of a file, and its text.
type File = (&'static str, &'static str);

/// A file of `examples`, by the link in `crates/cli/shops` that makes it a part of this crate.
macro_rules! files {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../shops/", $folder, "/", $name)))),+]
    };
}

const PAGE: &[File] = files!("page": "index.html", "page.css", "page.js");
/// What belongs to no repository.
const IGNORED: &str = "app-secret\n.guichet/\nsecret_key\napp-key\nshop.json\n*.sqlite*\nvenv/\n__pycache__/\n";

impl Kind {
    fn files(self) -> &'static [File] {
        match self {
            Self::Django => {
                files!("django": "shop.py", "models.py", "settings.py", "shop.toml", "requirements.txt", "README.md")
            }
            Self::Go => {
                files!("go": "guichet.go", "main.go", "payments.go", "store.go", "go.mod", "README.md", "shop.toml")
            }
            Self::Laravel => {
                files!("laravel": "Guichet.php", "PaymentsController.php", "index.php", "README.md", "shop.toml")
            }
        }
    }

    /// The line that runs it, beside the process.
    fn line(self) -> &'static str {
        match self {
            Self::Django => {
                "python3 -m venv venv && venv/bin/pip install -q -r requirements.txt && venv/bin/python shop.py runserver"
            }
            Self::Go => "go run .",
            Self::Laravel => "php -S 127.0.0.1:8000 -t page index.php",
        }
    }
}

pub(super) fn init(args: InitArgs) -> Result<(), String> {
    let InitArgs { kind, folder, package } = args;
    let package = Package::find(package);
    if let Some(problem) = package.problem() {
        return Err(problem);
    }
    let shown = folder.display();
    let unusable = |why: &dyn std::fmt::Display| format!("The folder {shown} cannot be used: {why}.");
    fs::create_dir_all(&folder).map_err(|error| unusable(&error))?;
    if fs::read_dir(&folder).map_err(|error| unusable(&error))?.next().is_some() {
        return Err(format!(
            "The folder {shown} is not empty. Nothing was written. Give a folder that is empty or does not exist."
        ));
    }
    let write = |name: &str, bytes: &[u8]| write(&folder.join(name), bytes, 0o644).map_err(|error| unusable(&error));
    for (name, text) in kind.files() {
        write(name, text.as_bytes())?;
    }
    for (name, text) in PAGE {
        write(&format!("page/{name}"), text.as_bytes())?;
    }
    for (name, bytes) in package.files() {
        write(&format!("page/package/{name}"), &bytes)?;
    }
    write(".gitignore", IGNORED.as_bytes())?;
    let secret = [&**secret::new()?, "\n"].concat();
    self::write(&folder.join("app-secret"), secret.as_bytes(), 0o600).map_err(|error| unusable(&error))?;
    let application = kind.line();
    println!(
        "The shop is in {shown}. Two lines run it, each in a terminal of its own, in that folder:\n\n  guichet shop --sandbox\n  {application}"
    );
    println!("\nThen open http://127.0.0.1:8000. No real money moves.");
    Ok(())
}

/// Writes a new file of this mode, with its folders.
fn write(file: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    options.open(file)?.write_all(bytes)
}
