//! The glue of a page's module: the JavaScript that wasm-bindgen generates beside the wasm.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, ensure};
use walrus::Module;

/// The name of the glue in the wasm, which repeats it for every import.
const MODULE: &str = "a";

/// Shortens the names by which a wasm and its glue know each other. Most of wasm-bindgen's have 16 hexadecimal digits,
/// in both files, and brotli cannot compress them: this saves 2.8 KB. Returns the new glue.
pub fn shorten_names(wasm: &mut Module, glue: &str) -> Result<String> {
    let mut imports = HashMap::new();
    let mut modules = HashSet::new();
    for import in wasm.imports.iter_mut() {
        let short = short_name(imports.len());
        imports.insert(std::mem::replace(&mut import.name, short.clone()), short);
        modules.insert(std::mem::replace(&mut import.module, MODULE.to_owned()));
    }
    ensure!(modules.len() == 1, "the wasm imports from more than its glue: {modules:?}");
    let glue = modules
        .iter()
        .fold(glue.to_owned(), |glue, module| glue.replace(&format!("\"{module}\":"), &format!("{MODULE}:")));
    let mut exports = HashMap::new();
    for export in wasm.exports.iter_mut() {
        let short = short_name(exports.len());
        exports.insert(std::mem::replace(&mut export.name, short.clone()), short);
    }
    let mut replaced = 0;
    let mut rest = &*glue;
    let mut shortened = String::with_capacity(glue.len());
    while let Some(start) = rest.find(is_of_a_name) {
        let (before, from) = rest.split_at(start);
        let (name, after) = from.split_at(from.find(|c| !is_of_a_name(c)).unwrap_or(from.len()));
        shortened.push_str(before);
        let is_export = shortened.ends_with("wasm.");
        let is_import = after.starts_with(": function(");
        let short =
            (if is_export { exports.get(name) } else { imports.get(name).filter(|_| is_import) }).map(String::as_str);
        replaced += usize::from(is_import && short.is_some());
        ensure!(!is_export || short.is_some(), "the glue calls `{name}`, which the wasm does not export");
        shortened.push_str(short.unwrap_or(name));
        rest = after;
    }
    shortened.push_str(rest);
    ensure!(
        replaced == imports.len(),
        "the glue defines {replaced} of the {} functions that the wasm imports",
        imports.len()
    );
    Ok(shortened)
}

/// Replaces wasm-bindgen's loader, which also fetches and compiles: `pkg-template/load.js` has done both. This saves
/// 0.3 KB. Its `initSync` instead would fail in Chrome before 114, which refuses to start more than 4 KB of wasm
/// synchronously on a page.
pub fn replace_loader(glue: &str) -> Result<String> {
    const THEIRS: &str = "export { initSync, __wbg_init as default };";
    const OURS: &str = "/** Starts the compiled module. */
export default async (module) => void __wbg_finalize_init(await WebAssembly.instantiate(module, __wbg_get_imports()), module);";
    ensure!(glue.contains(THEIRS), "the glue does not export the loader that wasm-bindgen generates");
    Ok(glue.replace(THEIRS, OURS))
}

/// Lets JavaScript see what the browser calls in the wasm, to notice a panic: the wasm just stops then, and its
/// promises stay pending.
pub fn watch_callbacks(glue: &str) -> Result<String> {
    const CALL: &str = "return f(a, state.b, ...args);";
    ensure!(glue.contains(CALL), "the glue does not call closures as expected");
    let watched = glue.replace(CALL, "return in_background(() => f(a, state.b, ...args));");
    Ok(format!("import {{ in_background }} from '../calls.js';\n{watched}"))
}

/// Creates the coders of text at their first use: an import must not fail where they are missing, as in the jsdom of
/// Jest.
pub fn create_coders_at_first_use(glue: &str) -> Result<String> {
    const CHANGES: [(&str, &str); 4] = [
        (
            "let cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });\ncachedTextDecoder.decode();",
            "let cachedTextDecoder;",
        ),
        ("if (numBytesDecoded >= MAX", "if (!cachedTextDecoder || numBytesDecoded >= MAX"),
        ("const cachedTextEncoder = new TextEncoder();", "let cachedTextEncoder;"),
        (" = cachedTextEncoder.encodeInto(", " = (cachedTextEncoder ??= new TextEncoder()).encodeInto("),
    ];
    let mut glue = glue.to_owned();
    for (theirs, ours) in CHANGES {
        ensure!(glue.contains(theirs), "the glue has no `{theirs}`");
        glue = glue.replace(theirs, ours);
    }
    Ok(glue)
}

/// Turns off the fallbacks for engines without `encodeInto`, and for wasm without `realloc`, so that a page's bundler
/// removes them: every engine that runs the wasm has the former, and the wasm has the latter. This saves 0.1 KB.
pub fn turn_fallbacks_off(glue: &str) -> Result<String> {
    const CONDITIONS: [&str; 2] = ["(!('encodeInto' in cachedTextEncoder))", "(realloc === undefined)"];
    let mut glue = glue.to_owned();
    for condition in CONDITIONS {
        ensure!(glue.contains(condition), "the glue has no fallback `{condition}`");
        glue = glue.replace(condition, "(false)");
    }
    Ok(glue)
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// `a` to `z`, then `aa`, `ba` and so on.
fn short_name(mut number: usize) -> String {
    let mut name = String::new();
    loop {
        name.push(char::from(b'a' + (number % 26) as u8));
        if number < 26 {
            return name;
        }
        number = number / 26 - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::ValType;

    #[test]
    fn names_are_short_on_both_sides_and_nowhere_else() {
        let mut wasm = Module::default();
        let ty = wasm.types.add(&[], &[ValType::I32]);
        for name in ["__wbg_now_0123456789abcdef", "__wbg_get_0123456789abcdef"] {
            let (function, _) = wasm.add_import_func("./guichet_core_bg.js", name, ty);
            wasm.exports.add(&format!("exported{name}"), function);
        }
        let glue = "{ __wbg_now_0123456789abcdef: function() { return now(); },
            __wbg_get_0123456789abcdef: function(a) { wasm.exported__wbg_now_0123456789abcdef(a); },
            exported__wbg_now_0123456789abcdef(), \"./guichet_core_bg.js\": import0 }";
        let shortened = shorten_names(&mut wasm, glue).expect("every name is known");
        let expected = "{ a: function() { return now(); },
            b: function(a) { wasm.a(a); },
            exported__wbg_now_0123456789abcdef(), a: import0 }";
        assert_eq!(shortened, expected);
        let imports: Vec<_> = wasm.imports.iter().map(|import| import.name.as_str()).collect();
        let exports: Vec<_> = wasm.exports.iter().map(|export| export.name.as_str()).collect();
        assert_eq!((imports, exports), (vec!["a", "b"], vec!["a", "b"]));

        assert!(shorten_names(&mut wasm, "{}").is_err(), "a function that the wasm imports is missing");
        assert!(shorten_names(&mut Module::default(), "wasm.no()").is_err());
    }

    #[test]
    fn no_two_short_names_are_equal() {
        let names: HashSet<_> = (0..2_000).map(short_name).collect();
        assert_eq!(names.len(), 2_000);
    }
}
