//! Removes code and data from the wasm that no page uses.

use anyhow::{Context as _, Result};
use walrus::{FunctionBuilder, FunctionId, FunctionKind, Module, ValType};

/// Parts of the names of the functions that report a panic. They never return.
const ENDS: [&str; 11] = [
    "22panic_already_borrowed",
    "30panic_already_mutably_borrowed",
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

/// Makes a panic trap at once. The page gets an error of kind `panic` without a message, so the code that formats the message is
/// removed.
pub fn remove_panic_messages(wasm: &[u8]) -> Result<Module> {
    let mut module = Module::from_buffer(wasm).context("cargo's wasm cannot be read")?;
    let named = |name: &str| match name {
        _ if ENDS.iter().any(|end| name.contains(end)) => Some(Instead::Trap),
        // Every `Debug`, by the trait's path: only panic messages use it. No text of a page may; nothing checks that.
        // `Display` stays: an amount is a `u64` that is written so.
        _ if name.contains("4core") && name.contains("5Debug3fmt") => Some(Instead::Nothing),
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
    data.into_iter().for_each(|id| blank_source_names(&mut module.data.get_mut(id).value));
    Ok(module)
}

/// A part of the names of serde-wasm-bindgen's deserializer.
pub const DESERIALIZER: &str = "18serde_wasm_bindgen2de";

/// Whether a wasm that keeps the names of its functions has one whose name contains this.
pub fn has_function(wasm: &[u8], part: &str) -> Result<bool> {
    let module = Module::from_buffer(wasm).context("cargo's wasm cannot be read")?;
    Ok(module.functions().any(|function| function.name.as_deref().is_some_and(|name| name.contains(part))))
}

/// Blanks the names of source files, which only panic messages contain.
fn blank_source_names(data: &mut [u8]) {
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

/// The new body of a function.
enum Instead {
    Trap,
    /// Returns `Ok` and writes nothing.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::ir::{Const, Instr, Value};

    #[test]
    fn panics_trap_debug_writes_nothing_and_display_is_kept() {
        let mut module = Module::default();
        let names = [
            "_RNvNtNtCs1_4core9panicking9panic_fmt",
            "_RNvXsj_NtCs1_4core3fmtcNtB5_5Debug3fmt",
            // Of `u64`, `str` and `fmt::Arguments`.
            "_RNvXsd_NtNtNtCs1_4core3fmt3num3impyNtB9_7Display3fmt",
            "_RNvXs1i_NtCs1_4core3fmtReNtB6_7Display3fmtB8_",
            "_RNvXs8_NtCs1_4core3fmtNtB5_9ArgumentsNtB5_7Display3fmt",
        ];
        for name in names {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
            function.name(name.into()).func_body().i32_const(17);
            let id = function.finish(vec![], &mut module.funcs);
            module.exports.add(name, id);
        }

        let shrunk = remove_panic_messages(&module.emit_wasm()).expect("it is wasm");

        let bodies = names.map(|name| {
            let id = shrunk.exports.get_func(name).expect("it is exported");
            let function = shrunk.funcs.get(id).kind.unwrap_local();
            match &function.block(function.entry_block()).instrs[..] {
                [(Instr::Unreachable(_), _)] => "traps",
                [(Instr::Const(Const { value: Value::I32(0) }), _)] => "writes nothing",
                [(Instr::Const(Const { value: Value::I32(17) }), _)] => "is kept",
                _ => "is something else",
            }
        });
        assert_eq!(bodies, ["traps", "writes nothing", "is kept", "is kept", "is kept"]);
    }

    #[test]
    fn source_file_names_are_blanked_and_nothing_else() {
        let mut data = *b"one: src/a.rssrc/browser/b.rs/rustc/59/library/c.rsIt is. src/ d.rs";
        blank_source_names(&mut data);
        let text = String::from_utf8_lossy(&data).replace('\0', "");
        assert_eq!(text, "one: It is. src/ d.rs");
    }
}
