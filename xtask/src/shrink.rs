//! What a page has no use for is left out of the wasm.

use std::collections::{BTreeMap, HashMap};

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
    let data: Vec<_> = module.data.iter().map(|data| data.id()).collect();
    data.into_iter().for_each(|id| forget_places(&mut module.data.get_mut(id).value));
    Ok(module)
}

/// Blanks the names of source files, which only the messages of defects would say.
fn forget_places(data: &mut [u8]) {
    let mut at = 0;
    while at < data.len() {
        let rest = &mut data[at..];
        let path = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(byte)).count();
        let is_place = rest.starts_with(b"/rustc/") || rest.starts_with(b"src/");
        let end = rest[..path].windows(3).position(|three| three == b".rs").filter(|_| is_place);
        let length = end.map_or(0, |end| end + 3);
        rest[..length].fill(0);
        at += length.max(1);
    }
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

/// Makes of the glue a function, and of each call of it an instance of its own: two clients share nothing, and a defect
/// that one has met is not met by the next. How an instance comes to be is the package's affair (`load.js`), and what it
/// exports is given back.
pub fn as_function(wasm: &[u8], glue: &str) -> Result<String> {
    let module = Module::from_buffer(wasm).context("the generator's wasm cannot be read")?;
    // What the wasm calls without any glue, by module.
    let mut plain: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for import in module.imports.iter().filter(|import| import.module.starts_with("../")) {
        plain.entry(&import.module).or_default().push(&import.name);
    }
    let (body, _) = glue.split_once("\nlet wasmModule, wasmInstance, wasm;").context("the glue loads no wasm")?;
    let body =
        HELPERS.iter().try_fold(without_old_encoders(body), |body, (name, plain)| with_function(&body, name, plain))?;

    let (mut imports, mut inner, mut exported) = (String::new(), String::from("let wasm;\n"), Vec::new());
    let mut finalization = false;
    for line in body.lines() {
        finalization |= line.contains("Finalization = ");
        if line.starts_with("import {") {
            imports += &format!("{line}\n");
        } else if finalization || line.contains("Finalization.") || line.starts_with("if (Symbol.dispose)") {
            // What is not freed ends with its instance.
            finalization &= !line.ends_with(';');
        } else if line.contains("cachedTextDecoder") || HELD.iter().any(|held| line.starts_with(held)) {
            // Of the helpers as they were.
        } else if let Some(declared) = line.strip_prefix("export ") {
            let mut words = declared.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            exported.push(words.nth(1).context("an export of the glue has no name")?);
            inner += &format!("{declared}\n");
        } else if !line.starts_with("import * as import") && !line.starts_with("        \"../") {
            inner += &format!("{line}\n");
        }
    }
    for (module, names) in &plain {
        imports += &format!("import {{ {} }} from \"{module}\";\n", names.join(", "));
    }
    let own = plain.iter().map(|(module, names)| format!("\"{module}\": {{ {} }}", names.join(", ")));
    Ok(format!(
        "{imports}\nexport default async (instantiate) => {{\n{inner}\
         wasm = await instantiate({{ ...__wbg_get_imports(), {} }});\n\
         wasm.__wbindgen_start();\nreturn {{ {} }};\n}};\n",
        own.collect::<Vec<_>>().join(", "),
        exported.join(", "),
    ))
}

/// Without what mends a browser that knows no `encodeInto`: one that old has no WebAssembly with references either.
fn without_old_encoders(glue: &str) -> String {
    let without = || {
        let (before, rest) = glue.split_once("\nconst cachedTextEncoder = ")?;
        Some(format!("{before}\n{}", rest.split_once("\n}\n")?.1))
    };
    without().unwrap_or_else(|| glue.to_owned())
}

/// What the glue's helpers come down to where a page's texts are short, its browser is one that has WebAssembly with
/// references, and its memory is not looked at a thousand times a second.
const HELPERS: [(&str, &str); 4] = [
    ("getDataViewMemory0()", "return new DataView(wasm.memory.buffer);"),
    ("getUint8ArrayMemory0()", "return new Uint8Array(wasm.memory.buffer);"),
    ("decodeText(bytes)", "return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);"),
    (
        "passStringToWasm0(arg, malloc, realloc)",
        "const bytes = new TextEncoder().encode(arg);
    const ptr = malloc(WASM_VECTOR_LEN = bytes.length, 1) >>> 0;
    getUint8ArrayMemory0().set(bytes, ptr);
    return ptr;",
    ),
];

/// What those helpers kept.
const HELD: [&str; 3] = ["let cached", "let numBytesDecoded", "const MAX_SAFARI"];

/// The same source, with another body for one of its functions.
fn with_function(source: &str, head: &str, body: &str) -> Result<String> {
    let found = source.split_once(&format!("\nfunction {head} {{\n"));
    let (before, rest) = found.with_context(|| format!("the glue has no function {head}"))?;
    let (_, after) = rest.split_once("\n}\n").context("a function of the glue does not end")?;
    Ok(format!("{before}\nfunction {head} {{\n    {body}\n}}\n{after}"))
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
    fn the_names_of_source_files_are_blank_and_what_stands_beside_them_is_not() {
        let mut data = *b"one: src/a.rssrc/browser/b.rs/rustc/59/library/c.rsIt is. src/ d.rs";
        forget_places(&mut data);
        let text = String::from_utf8_lossy(&data).replace('\0', "");
        assert_eq!(text, "one: It is. src/ d.rs");
    }

    #[test]
    fn only_names_that_end_in_figures_are_shortened() {
        assert!(hashed("__wbg_new_96baed0986e0d99f"));
        assert!(hashed("wasm_bindgen__convert__closures_____invoke__h75c681f0590b6613"));
        assert!(!hashed("__wbindgen_malloc"));
        assert!(!hashed("client_state"));
        assert!(!hashed("abcdefabcdefabcdef"));
    }

    #[test]
    fn each_call_of_the_glue_gives_an_instance_of_its_own() {
        let helpers: String = HELPERS.iter().map(|(head, _)| format!("function {head} {{\n    old();\n}}\n")).collect();
        let glue = format!(
            "import {{ at }} from '../doors.js';\nexport class Task {{\n    free() {{\n        \
             TaskFinalization.unregister(this);\n    }}\n}}\nif (Symbol.dispose) Task;\n\
             const TaskFinalization = (typeof\n    ? 1\n    : new FinalizationRegistry(1);\nlet cachedDataView = null;\n\
             {helpers}let WASM_VECTOR_LEN = 0;\n\nlet wasmModule, wasmInstance, wasm;\nasync function load() {{\n}}\n"
        );

        let function = as_function(&Module::default().emit_wasm(), &glue).expect("it is glue");

        assert!(function.starts_with("import { at } from '../doors.js';\n\nexport default async (instantiate) => {\n"));
        assert!(function.contains("\nclass Task {\n    free() {\n    }\n}\n"), "{function}");
        assert!(function.ends_with("return { Task };\n};\n"), "{function}");
        for left_out in ["Finalization", "Symbol", "cached", "old()", "load()"] {
            assert!(!function.contains(left_out), "{left_out}: {function}");
        }
    }

    #[test]
    fn a_source_is_the_sum_of_its_words() {
        let source = "import0: { __wbg_a_1: (b) => é.c$d[0] }\n";
        assert_eq!(words(source).collect::<String>(), source);
        assert!(words(source).any(|word| word == "__wbg_a_1"));
    }
}
