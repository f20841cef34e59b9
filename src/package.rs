//! The npm package, as the hosted page and the demo's shop serve it.

use crate::encoding::media_type;
use askama::Template;
use axum::Router;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::path::{Path as FilePath, PathBuf};
use tower_http::services::ServeDir;

/// What `build.rs` has put into this binary: nothing, unless it was built with `GUICHET_PACKAGE`.
static EMBEDDED: Files = include!(concat!(env!("OUT_DIR"), "/package.rs"));

/// The names of files and what they hold.
type Files = &'static [(&'static str, &'static [u8])];

/// Where the package is.
#[derive(Clone, Debug)]
pub(crate) enum Package {
    Folder(PathBuf),
    Embedded(Files),
}

impl Package {
    /// In the folder that somebody says. Else in this binary, where it was built so; else below the current folder, or
    /// below the project that this was built from, where `cargo xtask pack` writes it.
    pub(crate) fn find(said: Option<PathBuf>) -> Self {
        const PLACE: &str = "target/npm/package";
        match said {
            Some(folder) => Self::Folder(folder),
            None if !EMBEDDED.is_empty() => Self::Embedded(EMBEDDED),
            None if FilePath::new(PLACE).is_dir() => Self::Folder(PLACE.into()),
            None => Self::Folder(FilePath::new(env!("CARGO_MANIFEST_DIR")).join(PLACE)),
        }
    }

    /// Its files, to be nested where pages look for them. Those of a folder are read anew each time: whoever builds the
    /// package reloads the page.
    pub(crate) fn files<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        match self.clone() {
            Self::Folder(folder) => Router::new().fallback_service(ServeDir::new(folder)),
            Self::Embedded(files) => {
                Router::new().route("/{*path}", get(async move |Path(path): Path<String>| file(files, &path)))
            }
        }
    }

    /// What a page that begins with this file of the package says while the file is not there.
    pub(crate) fn missing(&self, entry: &str) -> Option<String> {
        #[derive(Template)]
        #[template(
            source = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>The package is missing</title>\
                      <h1>The npm package is missing</h1>\
                      <p>This page uses it, and it is not in <code>{{ folder }}</code>. Build it in the project's folder:</p>\
                      <pre>cargo xtask pack --quick</pre>\
                      <p>or say where it is with <code>--package DIR</code>. Then reload this page.</p></html>",
            ext = "html"
        )]
        struct Missing<'a> {
            folder: &'a str,
        }
        match self {
            Self::Folder(folder) if !folder.join(entry).is_file() => {
                let page = Missing { folder: &folder.display().to_string() }.render();
                Some(page.unwrap_or_else(|_| "Build the npm package: cargo xtask pack --quick".into()))
            }
            _ => None,
        }
    }
}

fn file(files: Files, path: &str) -> Response {
    match files.iter().find(|(name, _)| *name == path) {
        Some((_, bytes)) => ([(header::CONTENT_TYPE, media_type(path))], *bytes).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files = &[("hosted.js", b"export {};"), ("core/guichet_hosted_bg.wasm", b"\0asm")];

    #[test]
    fn a_package_in_the_binary_is_served_by_the_names_and_types_of_its_files() {
        let wasm = file(FILES, "core/guichet_hosted_bg.wasm");
        assert_eq!(wasm.headers()[header::CONTENT_TYPE], "application/wasm", "else no browser compiles it as it comes");
        assert_eq!(file(FILES, "hosted.js").headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
        assert_eq!(file(FILES, "core").status(), StatusCode::NOT_FOUND);
        assert_eq!(Package::Embedded(FILES).missing("hosted.js"), None);
    }

    #[test]
    fn a_folder_that_is_named_goes_before_what_is_in_the_binary() {
        let Package::Folder(folder) = Package::find(Some("elsewhere".into())) else { panic!("it is not in a folder") };
        assert_eq!(folder, FilePath::new("elsewhere"));
        let page = Package::Folder("a<b".into()).missing("hosted.js").unwrap();
        assert!(page.contains("cargo xtask pack --quick") && page.contains("--package") && !page.contains("a<b"));
    }
}
