//! The size of each behaviour of a page: the functions of its wasm, grouped by the module they come from.

use std::collections::HashMap;
use std::fmt;
use std::fs;

use anyhow::{Context as _, Result};
use wasmparser::{Parser, Payload, TypeRef};

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
    pub fn weigh(wasm: &[u8], symbols: &str) -> Result<Self> {
        let functions = functions(wasm, symbols).context("the wasm's functions cannot be read")?;
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

/// Each function of a wasm with its name and its code. `symbols` has a line `number:name` for each.
fn functions<'a>(wasm: &'a [u8], symbols: &'a str) -> wasmparser::Result<Vec<(&'a str, &'a [u8])>> {
    let (mut codes, mut imported) = (Vec::new(), 0);
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imported += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => codes.push(body.as_bytes()),
            _ => {}
        }
    }
    let names = symbols.lines().filter_map(|line| line.split_once(':'));
    let names: HashMap<u32, &str> = names.filter_map(|(number, name)| Some((number.parse().ok()?, name))).collect();
    Ok((imported..).zip(codes).map(|(number, code)| (names.get(&number).copied().unwrap_or_default(), code)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::{FunctionBuilder, Module};

    #[test]
    fn every_function_is_read_with_its_name() {
        let mut module = Module::default();
        let ty = module.types.add(&[], &[]);
        module.add_import_func("a", "imported", ty);
        for name in ["one", "two"] {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[]);
            function.func_body().unreachable();
            let id = function.finish(vec![], &mut module.funcs);
            module.exports.add(name, id);
        }

        let wasm = module.emit_wasm();
        let read = functions(&wasm, "0:imported\n1:guichet::flow::session::a\n2:other").expect("it is wasm");

        let mut names: Vec<&str> = read.iter().map(|(name, _)| *name).collect();
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
