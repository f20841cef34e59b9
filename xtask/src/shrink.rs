//! Removes code and data from the wasm that no page uses. The figures are of a shop's module after wasm-opt and brotli,
//! each measured alone: what formats panics 1.6 KB, the places in source files 0.6 KB, the texts of panics 0.2 KB. The
//! last two stay as long as a page is at its limit without them.

use anyhow::{Context as _, Result};
use walrus::ir::Value;
use walrus::{ConstExpr, DataKind, FunctionBuilder, FunctionId, FunctionKind, Module};

/// Parts of the names of the functions that report a panic, and of those that only their messages use: core's `Debug`
/// and `Display`. None of them runs in a module that traps at once; if the text of a page ever needed one, it would
/// trap, too, and the tests would see it.
const OF_PANICS: [&[&str]; 16] = [
    &["22panic_already_borrowed"],
    &["30panic_already_mutably_borrowed"],
    &["4core9panicking"],
    &["16slice_error_fail"],
    &["19slice_error_fail_rt"],
    &["16slice_index_fail"],
    &["13unwrap_failed"],
    &["13expect_failed"],
    &["17len_mismatch_fail"],
    &["13assert_failed"],
    &["3std9panicking"],
    &["4core", "5Debug3fmt"],
    &["4core", "7Display3fmt"],
    // Tasks that may suspend a whole stack, which no module of ours asks for.
    &["7futures4jspi11SpawnedTask"],
    &["7futures4jspi10task_waker"],
    &["7futures4jspi15spawn_promising"],
];

/// Makes a panic trap at once. The page gets an error of kind `panic` without a message, so the code that formats the
/// message is removed.
pub fn remove_panic_messages(wasm: &[u8]) -> Result<Module> {
    let mut module = Module::from_buffer(wasm).context("cargo's wasm cannot be read")?;
    let is_of_panics = |name: &str| OF_PANICS.iter().any(|parts| parts.iter().all(|part| name.contains(part)));
    let found: Vec<FunctionId> = module
        .functions()
        .filter(|function| function.name.as_deref().is_some_and(is_of_panics))
        .map(|function| function.id())
        .collect();
    for id in found {
        let FunctionKind::Local(function) = &module.funcs.get(id).kind else { continue };
        let (parameters, results) = module.types.params_results(function.ty());
        let (parameters, results) = (parameters.to_vec(), results.to_vec());
        let mut builder = FunctionBuilder::new(&mut module.types, &parameters, &results);
        builder.func_body().unreachable();
        let arguments = parameters.into_iter().map(|kind| module.locals.add(kind)).collect();
        module.funcs.get_mut(id).kind = FunctionKind::Local(builder.local_func(arguments));
    }
    let ids: Vec<_> = module.data.iter().map(|data| data.id()).collect();
    for id in ids {
        let data = module.data.get_mut(id);
        if let DataKind::Active { offset: ConstExpr::Value(Value::I32(start)), .. } = data.kind {
            blank_locations(&mut data.value, start as usize);
            blank_messages(&mut data.value);
        }
    }
    Ok(module)
}

/// The longest texts of panics in a page's module, and of wasm-bindgen's errors about wrong glue, which is generated.
const MESSAGES: [&str; 16] = [
    "`async fn` resumed after completion",
    "LazyCell instance has previously been poisoned",
    "MaybeDone polled after value taken",
    "RefCell already borrowed",
    "RefCell already mutably borrowed",
    "Tried to shrink to a larger capacity",
    "attempt to join into collection with len > usize::MAX",
    "attempted to take ownership of Rust value while it was borrowed",
    "called `Option::unwrap()` on a `None` value",
    "called `Result::unwrap_throw()` on an `Err` value",
    "cannot access a Thread Local Storage value during or after destruction: ",
    "closure invoked recursively or after being dropped",
    "internal error: entered unreachable code",
    "null pointer passed to rust",
    "overflow in Duration::new",
    "recursive use of an object detected which would lead to unsafe aliasing in rust",
];

fn blank_messages(data: &mut [u8]) {
    for message in MESSAGES {
        while let Some(at) = data.windows(message.len()).position(|text| text == message.as_bytes()) {
            data[at..at + message.len()].fill(0);
        }
    }
}

/// A part of the names of serde-wasm-bindgen's deserializer.
pub const DESERIALIZER: &str = "18serde_wasm_bindgen2de";

/// A part of the names of the search that `str::contains`, `find` and `split_once` do for a text.
pub const TEXT_SEARCH: &str = "11StrSearcher";

/// Whether a wasm that keeps the names of its functions has one whose name contains this.
pub fn has_function(wasm: &[u8], part: &str) -> Result<bool> {
    let module = Module::from_buffer(wasm).context("cargo's wasm cannot be read")?;
    Ok(module.functions().any(|function| function.name.as_deref().is_some_and(|name| name.contains(part))))
}

/// Blanks the places in source files, which only panic messages contain, and the names of the files. A place is four
/// numbers: the address and the length of a name that ends in `.rs`, the line and the column.
fn blank_locations(data: &mut [u8], start: usize) {
    let is_path = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(byte));
    let mut found = Vec::new();
    for (at, place) in data.windows(16).enumerate().step_by(4) {
        let [address, length] = [0, 4].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| place[at + byte])) as usize);
        let name = address.wrapping_sub(start)..address.wrapping_sub(start).wrapping_add(length);
        if data.get(name.clone()).is_some_and(|name| name.ends_with(b".rs") && is_path(name)) {
            found.extend([at..at + 16, name]);
        }
    }
    found.into_iter().for_each(|range| data[range].fill(0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::ValType;
    use walrus::ir::Instr;

    #[test]
    fn panics_and_what_formats_their_messages_trap_and_nothing_else() {
        let mut module = Module::default();
        let names = [
            "_RNvNtNtCs1_4core9panicking9panic_fmt",
            "_RNvXsj_NtCs1_4core3fmtcNtB5_5Debug3fmt",
            // Of `u64`.
            "_RNvXsd_NtNtNtCs1_4core3fmt3num3impyNtB9_7Display3fmt",
            // `Display` of the crate's own types, and `u64::to_string`.
            "_ZN73_$LT$guichet..values..money..Amount$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
            "_RNvXsd_NtNtCs1_5alloc6stringyNtB5_12SpecToString14spec_to_string",
        ];
        for name in names {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
            function.name(name.into()).func_body().i32_const(17);
            let id = function.finish(vec![], &mut module.funcs);
            module.exports.add(name, id);
        }

        let shrunk = remove_panic_messages(&module.emit_wasm()).expect("it is wasm");

        let traps = names.map(|name| {
            let id = shrunk.exports.get_func(name).expect("it is exported");
            let function = shrunk.funcs.get(id).kind.unwrap_local();
            matches!(function.block(function.entry_block()).instrs[..], [(Instr::Unreachable(_), _)])
        });
        assert_eq!(traps, [true, true, true, false, false]);
    }

    #[test]
    fn texts_of_panics_are_blanked_and_nothing_else() {
        let mut data = b"one RefCell already borrowed, two".to_vec();
        blank_messages(&mut data);
        assert_eq!(String::from_utf8_lossy(&data).replace('\0', ""), "one , two");
    }

    #[test]
    fn places_in_source_files_are_blanked_and_nothing_else() {
        let text = b"one: src/a.rs, two.rs and text.txt..".to_vec();
        let start = 1_048_576;
        let slice = |at: u32, length: u32| [start + at, length].map(u32::to_le_bytes).concat();
        let place = |at, length| [slice(at, length), slice(0, 0)[..4].to_vec(), 7_u32.to_le_bytes().to_vec()].concat();
        let kept = [slice(26, 8), 1_u32.to_le_bytes().to_vec(), 2_u32.to_le_bytes().to_vec()].concat();
        let mut data = [text, place(5, 8), place(15, 6), place(5, 8), kept.clone()].concat();

        blank_locations(&mut data, start as usize);

        let shown = String::from_utf8_lossy(&data[..36]).replace('\0', "");
        assert_eq!(shown, "one: ,  and text.txt..");
        assert!(data[36..84].iter().all(|byte| *byte == 0), "three places");
        assert_eq!(data[84..], kept, "text.txt is no source file");
    }
}
