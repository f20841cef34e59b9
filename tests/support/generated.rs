//! Files of the repository that are generated from the code. `cargo xtask generate` writes them; every other run only compares them.

use super::root;

/// Compares a file with what the code gives today, or writes it.
pub fn is_up_to_date(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os("GUICHET_GENERATE").is_some() {
        std::fs::write(&file, text).expect("a tracked file can be written");
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == text, "{path} is stale: run `cargo xtask generate` and commit what it writes");
}
