//! What a page has no use for is left out of the wasm.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use walrus::{FunctionBuilder, FunctionId, FunctionKind, Module, ValType};

/// The functions that a defect ends in, by a part of their names. They never return.
const ENDS: [&str; 9] = [
    "4core9panicking",
    "16slice_error_fail",
    "19slice_error_fail_rt",
    "16slice_index_fail",
    "13unwrap_failed",
    "13expect_failed",
    "17len_mismatch_fail",
    "13assert_failed",
    "3std9panicking",
];

/// Makes a defect end at once. A page hears of it as an error of kind `panic`, which has no room for a message: what
/// would write one is weight that nobody ever reads.
pub fn silence_defects(wasm: &[u8]) -> Result<Module> {
    let mut module = Module::from_buffer(wasm).context("cargo's wasm cannot be read")?;
    let named = |name: &str| match name {
        _ if ENDS.iter().any(|end| name.contains(end)) => Some(Instead::Trap),
        // How the library shows a `char` or a `str` to a developer: those messages are all that would ask for it.
        _ if name.contains("4core") && name.ends_with("5Debug3fmt") => Some(Instead::Nothing),
        _ => None,
    };
    let found: Vec<(FunctionId, Instead)> =
        module.functions().filter_map(|function| Some((function.id(), named(function.name.as_deref()?)?))).collect();
    for (id, instead) in found {
        let FunctionKind::Local(function) = &module.funcs.get(id).kind else { continue };
        let (parameters, results) = module.types.params_results(function.ty());
        let (parameters, results) = (parameters.to_vec(), results.to_vec());
        let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &results);
        match instead {
            Instead::Nothing if *results == [ValType::I32] => builder.func_body().i32_const(0),
            _ => builder.func_body().unreachable(),
        };
        let arguments = parameters.into_iter().map(|kind| module.locals.add(kind)).collect();
        module.funcs.get_mut(id).kind = FunctionKind::Local(builder.local_func(arguments));
    }
    Ok(module)
}

/// What a function does instead of what it did.
enum Instead {
    Trap,
    /// Writes nothing, and that went well.
    Nothing,
}

/// Gives what the wasm and its glue know each other by short names. The generator's own end in sixteen figures that no
/// compression makes smaller.
pub fn shorten_names(wasm: &[u8], glue: &str) -> Result<(Vec<u8>, String)> {
    let mut module = Module::from_buffer(wasm).context("the generator's wasm cannot be read")?;
    let mut short = HashMap::new();
    let mut shortened = |name: &mut String| {
        if hashed(name) {
            let next = format!("_{}", short.len());
            *name = short.entry(name.clone()).or_insert(next).clone();
        }
    };
    module.imports.iter_mut().for_each(|import| shortened(&mut import.name));
    module.exports.iter_mut().for_each(|export| shortened(&mut export.name));

    let mut text = String::with_capacity(glue.len());
    for word in words(glue) {
        text.push_str(short.get(word).map_or(word, String::as_str));
    }
    Ok((module.emit_wasm(), text))
}

/// Leaves out of the glue what loads the wasm while the page stands still. A namespace that is imported when it is needed
/// keeps all that it exports, so that no bundler would.
pub fn without_waiting_load(glue: &str) -> String {
    let without = |glue: &str| {
        let (before, rest) = glue.split_once("\nfunction initSync(")?;
        let (_, after) = rest.split_once("\n}\n")?;
        let after = after.strip_prefix('\n').unwrap_or(after);
        Some(format!("{before}\n{}", after.replace("export { initSync, ", "export { ")))
    };
    without(glue).filter(|without| !without.contains("initSync")).unwrap_or_else(|| glue.to_owned())
}

/// `__wbg_new_96baed0986e0d99f`, `wasm_bindgen__convert__closures_____invoke__h75c681f0590b6613`.
fn hashed(name: &str) -> bool {
    let figures = name.len().checked_sub(16).and_then(|at| name.get(at..));
    name.starts_with('_') | name.starts_with("wasm_bindgen")
        && figures.is_some_and(|figures| figures.bytes().all(|figure| figure.is_ascii_hexdigit()))
}

/// A source in pieces: whole names, and what is between them.
fn words(source: &str) -> impl Iterator<Item = &str> {
    let of_a_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    source.split_inclusive(move |c| !of_a_name(c)).flat_map(move |piece| {
        let end = piece.find(|c| !of_a_name(c)).unwrap_or(piece.len());
        let (word, rest) = piece.split_at(end);
        [word, rest]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_end_in_figures_are_shortened() {
        assert!(hashed("__wbg_new_96baed0986e0d99f"));
        assert!(hashed("wasm_bindgen__convert__closures_____invoke__h75c681f0590b6613"));
        assert!(!hashed("__wbindgen_malloc"));
        assert!(!hashed("client_state"));
        assert!(!hashed("abcdefabcdefabcdef"));
    }

    #[test]
    fn only_the_load_that_waits_is_left_out() {
        let glue = "let a;\n\nfunction initSync(module) {\n    if (a) {\n    }\n}\n\nasync function b() {\n}\n\nexport { initSync, b as default };\n";
        let without = "let a;\n\nasync function b() {\n}\n\nexport { b as default };\n";
        assert_eq!(without_waiting_load(glue), without);
        assert_eq!(without_waiting_load(without), without);
    }

    #[test]
    fn a_source_is_the_sum_of_its_words() {
        let source = "import0: { __wbg_a_1: (b) => é.c$d[0] }\n";
        assert_eq!(words(source).collect::<String>(), source);
        assert!(words(source).any(|word| word == "__wbg_a_1"));
    }
}
