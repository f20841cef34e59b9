//! Files of the repository that are generated from the code. A test only compares them; `cargo xtask generate` copies what it generates.

use super::root;
use std::path::Path;

/// Compares a file with what the code gives today. If `GUICHET_GENERATE` names a folder, writes the text there instead.
pub fn is_up_to_date(path: &str, text: &str) {
    if let Some(folder) = std::env::var_os("GUICHET_GENERATE") {
        let file = Path::new(&folder).join(path);
        std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("the folder can be made");
        std::fs::write(file, text).expect("the file can be written");
        return;
    }
    let written = std::fs::read_to_string(root().join(path)).unwrap_or_default();
    assert!(written == text, "{path} is stale: run `cargo xtask generate` and commit what it writes");
}
