//! Files of the repository that are generated from the code. A test compares them, and `cargo xtask generate` writes
//! them.

use super::root;

/// Compares a file with what the code gives today. If it is stale, the test leaves the text in `target/stale`, where
/// `cargo xtask generate` takes it from, and fails.
pub fn is_up_to_date(path: &str, text: &str) {
    let written = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    if written != text {
        let left = root().join("target/stale").join(path);
        std::fs::create_dir_all(left.parent().expect("a file is in a folder")).expect("the folder can be made");
        std::fs::write(left, text).expect("the file can be written");
        panic!("{path} is stale: run `cargo xtask generate` and commit what it writes");
    }
}
