//! The sizes of a file: as it is, and compressed as a server sends it.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::cargo::at_root;
use crate::npm::run_quietly;

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    pub raw: usize,
    pub gzip: usize,
    pub brotli: usize,
}

impl Weight {
    /// The heading of the printed columns.
    pub const TITLE: &str = "     raw  gzip -9  brotli -11";

    /// Measures files. Node.js compresses as servers do, and much faster than a Rust library in a debug build.
    pub fn of(files: &[PathBuf]) -> Result<Vec<Self>> {
        const WEIGH: &str = "const { gzipSync, brotliCompressSync } = require('node:zlib');
            console.log(JSON.stringify(process.argv.slice(1).map((file) => {
                const bytes = require('node:fs').readFileSync(file);
                return [bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes).length];
            })))";
        let output = run_quietly(at_root("node").args(["--eval", WEIGH]).args(files))?;
        let weights: Vec<[usize; 3]> = serde_json::from_slice(&output.stdout).context("Node.js printed no sizes")?;
        ensure!(weights.len() == files.len(), "Node.js did not print every size");
        Ok(weights.into_iter().map(|[raw, gzip, brotli]| Self { raw, gzip, brotli }).collect())
    }
}

/// Two files that a page loads.
impl std::ops::Add for Weight {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { raw: self.raw + other.raw, gzip: self.gzip + other.gzip, brotli: self.brotli + other.brotli }
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8}  {:>7}  {:>10}", self.raw, self.gzip, self.brotli)
    }
}
