//! The size of each behaviour of a page: the functions of its wasm, grouped by the module they come from.

use std::fmt;
use std::fs;

use anyhow::{Context as _, Result};

use crate::bytes::Weight;
use crate::cargo::root;

/// The behaviours, each with the parts of function names that belong to it. A function counts for the first behaviour that
/// matches, or else for the last.
const BEHAVIOURS: [(&str, &[&str]); 14] = [
    ("serde, serde-wasm-bindgen", &["serde_wasm_bindgen", "serde_core", "serde::", "hashbrown"]),
    ("wasm-bindgen-futures", &["js_sys::futures", "wasm_bindgen_futures"]),
    ("futures-util", &["futures_util"]),
    ("gloo-net", &["gloo_net", "gloo_utils"]),
    ("wasm-bindgen, js-sys, web-sys", &["externref", "wbindgen", "wasm_bindgen", "js_sys", "web_sys"]),
    // An exported function contains the core's code, which the compiler inlines into its only caller.
    (
        "session",
        &["core::session", "flow::session", "page::nothing", "=client_validate", "=client_renew", "=client_revoke"],
    ),
    (
        "quotes and fees",
        &[
            "::quotes",
            "values::money",
            "Client::fee",
            "Client::payment_methods",
            "=client_fee",
            "=client_paymentMethods",
            "=client_quotes",
        ],
    ),
    (
        "checkout and return",
        &[
            "core::checkout",
            "flow::address",
            "flow::returns",
            "flow::query",
            "values::address",
            "Client::checkout",
            "Client::returned",
            "=client_checkout",
            "=client_returned",
        ],
    ),
    ("waiting", &["core::outcome", "flow::waiting", "Client::wait_for_outcome", "=client_waitForOutcome"]),
    ("the merchant's routes", &["core::merchant"]),
    (
        "calls",
        &[
            "core::transport",
            "core::flights",
            "core::time",
            "core::browser",
            "core::tabs",
            "core::shop",
            "protocol::call",
            "protocol::retry",
        ],
    ),
    (
        "requests, errors, values",
        &[
            "protocol::",
            "operations::",
            "core::error",
            "core::reply",
            "core::value",
            "values::",
            "flow::base",
            "platform::",
            "percent_encoding",
        ],
    ),
    ("the JavaScript edge", &["browser::js", "=client_", "flow::names", "strsim"]),
    ("the library, memory", &[""]),
];

/// The sizes of the functions of a wasm by behaviour.
pub struct Behaviours(Vec<(&'static str, Weight)>, Weight);

impl Behaviours {
    /// The size of a behaviour is the difference in size, compressed, between all functions and all without its own.
    pub fn weigh(named: &[u8]) -> Result<Self> {
        let functions = functions(named).context("the wasm's functions cannot be read")?;
        let of = |name: &str| BEHAVIOURS.iter().position(|(_, parts)| parts.iter().any(|part| fits(name, part)));
        let folder = root().join("target/npm-size/without");
        fs::create_dir_all(&folder)?;
        let mut files = Vec::new();
        for left_out in 0..=BEHAVIOURS.len() {
            let kept = functions.iter().filter(|(name, _)| of(name) != Some(left_out));
            let file = folder.join(format!("{left_out}.code"));
            fs::write(&file, kept.flat_map(|(_, code)| *code).copied().collect::<Vec<u8>>())?;
            files.push(file);
        }
        let mut weights = Weight::of(&files)?;
        let all = weights.pop().context("no size was measured")?;
        let less = |without: Weight| Weight {
            raw: all.raw - without.raw,
            gzip: all.gzip.saturating_sub(without.gzip),
            brotli: all.brotli.saturating_sub(without.brotli),
        };
        let names = BEHAVIOURS.iter().map(|(name, _)| *name);
        Ok(Self(names.zip(weights.into_iter().map(less)).collect(), all))
    }
}

/// Whether a function's name contains this part or, if the part begins with `=`, starts with the rest, as exported names do.
fn fits(name: &str, part: &str) -> bool {
    part.strip_prefix('=').map_or_else(|| name.contains(part), |start| name.starts_with(start))
}

impl fmt::Display for Behaviours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<32}{}", "behaviour, in the wasm's code", Weight::TITLE)?;
        for (name, weight) in &self.0 {
            writeln!(f, "{name:<32}{weight}")?;
        }
        writeln!(f, "{:<32}{}", "all of the code", self.1)?;
        write!(
            f,
            "A behaviour weighs what all the code weighs more with the functions of its rooms than without them; what the\n\
             compiler copied into a caller counts there, and what behaviours share compresses better than their sum."
        )
    }
}

/// Each function of a wasm with its name and its code.
fn functions(wasm: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let mut codes = Vec::new();
    let mut names = std::collections::HashMap::new();
    let mut imported = 0;
    let mut rest = Reader(wasm.get(8..)?);
    while let Some(section) = rest.byte() {
        let mut inside = Reader(rest.bytes()?);
        match section {
            2 => {
                for _ in 0..inside.number()? {
                    inside.bytes()?;
                    inside.bytes()?;
                    imported += usize::from(inside.import()?);
                }
            }
            10 => {
                for _ in 0..inside.number()? {
                    codes.push(inside.bytes()?);
                }
            }
            0 if inside.bytes()? == b"name" => {
                while let Some(part) = inside.byte() {
                    let mut named = Reader(inside.bytes()?);
                    // 1: the names of functions.
                    for _ in 0..if part == 1 { named.number()? } else { 0 } {
                        let index = named.number()?;
                        names.insert(index, String::from_utf8_lossy(named.bytes()?).into_owned());
                    }
                }
            }
            _ => {}
        }
    }
    let name = |index: usize| names.get(&(index + imported)).cloned().unwrap_or_default();
    Some(codes.into_iter().enumerate().map(|(index, code)| (name(index), code)).collect())
}

/// Reads the parts of WebAssembly's binary format that are needed here.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// An unsigned number in LEB128.
    fn number(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Length-prefixed bytes.
    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Reads an import. Returns whether it is a function.
    fn import(&mut self) -> Option<bool> {
        let kind = self.byte()?;
        match kind {
            0 => drop(self.number()?),
            1 => {
                self.byte()?;
                self.limits()?;
            }
            2 => self.limits()?,
            _ => {
                self.byte()?;
                self.byte()?;
            }
        }
        Some(kind == 0)
    }

    fn limits(&mut self) -> Option<()> {
        let has_most = self.byte()? & 1 == 1;
        self.number()?;
        if has_most {
            self.number()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::{FunctionBuilder, Module};

    #[test]
    fn every_function_is_read_with_its_name() {
        let mut module = Module::default();
        for name in ["guichet::flow::session::a", "other"] {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[]);
            function.name(name.into()).func_body().unreachable();
            let id = function.finish(vec![], &mut module.funcs);
            module.exports.add(name, id);
        }

        let wasm = module.emit_wasm();
        let read = functions(&wasm).expect("it is wasm");

        let mut names: Vec<&str> = read.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["guichet::flow::session::a", "other"]);
        assert!(read.iter().all(|(_, code)| code.len() == 3), "no locals, a trap, an end");
    }

    #[test]
    fn a_function_counts_for_the_behaviour_of_its_name() {
        let of = |name: &str| {
            let (behaviour, _) = BEHAVIOURS
                .iter()
                .find(|(_, parts)| parts.iter().any(|part| fits(name, part)))
                .expect("the last behaviour matches every name");
            *behaviour
        };
        for (name, behaviour) in [
            ("guichet::browser::js::page::Client::returned::{{closure}}::{{closure}}", "checkout and return"),
            ("guichet::browser::core::quotes::fee_reply", "quotes and fees"),
            ("client_fee", "quotes and fees"),
            (
                "guichet::browser::core::checkout::<impl guichet::browser::core::shop::Shop>::leave_and_wait",
                "checkout and return",
            ),
            ("guichet::browser::js::options::only", "the JavaScript edge"),
            ("serde_wasm_bindgen::static_str_to_js", "serde, serde-wasm-bindgen"),
            ("alloc::raw_vec::finish_grow", "the library, memory"),
        ] {
            assert_eq!(of(name), behaviour, "{name}");
        }
    }

    #[test]
    fn every_function_counts_for_a_behaviour() {
        let (_, last) = BEHAVIOURS[BEHAVIOURS.len() - 1];
        assert_eq!(last, [""], "each other name counts for the last behaviour");
    }
}
