//! `cargo xtask pack --quick`: builds the npm package `guichet` with Rust alone.
//! `cargo xtask pack`: builds the three npm packages with optimized wasm and their tarballs, and checks their sizes.
//! `cargo xtask pack --server`: builds `guichet-server` alone.

use std::path::PathBuf;

use anyhow::Result;

use crate::npm::Tools;
use crate::package::{self, Packed};
use crate::steps::Steps;
use crate::{hosted_page, sandbox_package, server_package, setup, size};

#[derive(clap::Args)]
pub struct Options {
    /// Build the package guichet alone, with Rust alone, in target/npm/package/
    #[arg(long)]
    quick: bool,
    /// Build the package guichet-server alone
    #[arg(long, conflicts_with = "quick")]
    server: bool,
}

pub fn command(options: &Options) -> Result<()> {
    let mut steps = Steps::start();
    match options {
        Options { quick: true, .. } => {
            steps.step("the wasm32 target", setup::wasm_target)?;
            package::quick(&mut steps).map(drop)
        }
        Options { server: true, .. } => {
            let tools = setup::to_pack(&mut steps)?;
            let server = server_package::build(&mut steps, &tools)?;
            server.tarball()?;
            println!("\n{}", server_package::measure(&server)?);
            Ok(())
        }
        _ => {
            let tools = setup::to_pack(&mut steps)?;
            let packages = Packages::build(&mut steps, &tools)?;
            steps.step("the tarballs", |_| packages.tarballs())?;
            let sizes = size::measure(&packages.guichet, &tools)?;
            println!("\n{sizes}\n\n{}", packages.measure()?);
            sizes.check_budget()
        }
    }
}

/// The three packages.
pub struct Packages {
    pub guichet: Packed,
    sandbox: Packed,
    server: Packed,
}

impl Packages {
    pub fn build(steps: &mut Steps, tools: &Tools) -> Result<Self> {
        let guichet = package::optimized(steps, tools)?;
        let server = server_package::build(steps, tools)?;
        let sandbox = sandbox_package::build(steps, tools, &guichet, &server)?;
        steps.step("the hosted page's states", |_| hosted_page::write(&guichet, &sandbox))?;
        Ok(Self { guichet, sandbox, server })
    }

    pub fn tarballs(&self) -> Result<Tarballs> {
        let [guichet, sandbox, server] = [self.guichet.tarball()?, self.sandbox.tarball()?, self.server.tarball()?];
        Ok(Tarballs { guichet, sandbox, server })
    }

    /// The sizes of the sandbox's wasm and of the server's package. Fails if one is over its limit.
    pub fn measure(&self) -> Result<String> {
        Ok([sandbox_package::measure(&self.sandbox)?, server_package::measure(&self.server)?].join("\n"))
    }
}

/// The tarballs of the packages.
pub struct Tarballs {
    pub guichet: PathBuf,
    pub sandbox: PathBuf,
    pub server: PathBuf,
}

impl Tarballs {
    pub fn all(&self) -> [PathBuf; 3] {
        [&self.guichet, &self.sandbox, &self.server].map(PathBuf::clone)
    }
}
