//! If `GUICHET_RECORD=<folder>` is set, appends every response of the service to a file per test, so that the responses
//! of two versions of the crate can be compared.
use std::io::Write as _;

pub fn record(method: &str, target: &str, status: u16, text: &str) {
    let Some(folder) = std::env::var_os("GUICHET_RECORD") else { return };
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed").replace("::", "-");
    let file = std::path::Path::new(&folder).join(name);
    let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
    file.write_all(format!("{method} {target} {status} {text}\n").as_bytes()).unwrap();
}
