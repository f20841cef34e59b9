//! Serves a site: its pages, their files, and the npm package. The files are under a versioned folder whose name is a
//! digest of their content, so a browser caches everything but the pages for ever.

use super::static_file::{Caching, StaticFile};
use crate::package::{Files, Fingerprint, Package};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of the package within a site's files.
const PACKAGE: &str = "package/";
/// The number of hexadecimal digits in a version's name.
const VERSION_DIGITS: usize = 16;

/// A site's own files and the npm package that they import.
#[derive(Debug)]
pub(crate) struct Site {
    /// The path of the files, without a trailing `/`.
    base: &'static str,
    files: Files,
    /// The file names of the pages. In their text, `{{ assets }}` is replaced by the versioned folder.
    pages: &'static [&'static str],
    package: Package,
    /// More placeholders and their values: `{{ version }}` and 0.1.0.
    values: Vec<(&'static str, String)>,
    current: Mutex<Option<Arc<Version>>>,
}

/// One version of the site, in memory.
#[derive(Debug)]
pub(crate) struct Version {
    package: Fingerprint,
    name: String,
    /// The path of its folder.
    assets: String,
    files: BTreeMap<String, Arc<StaticFile>>,
    pages: BTreeMap<&'static str, Arc<StaticFile>>,
}

impl Site {
    pub(crate) fn new(base: &'static str, files: Files, pages: &'static [&'static str], package: Package) -> Self {
        Self { base, files, pages, package, values: Vec::new(), current: Mutex::default() }
    }

    /// Replaces `{{ name }}` in the pages by this value.
    pub(crate) fn value(mut self, name: &'static str, value: String) -> Self {
        self.values.push((name, value));
        self
    }

    /// Responds with a page.
    pub(crate) async fn page(self: &Arc<Self>, name: &'static str, request: HeaderMap) -> Response<Body> {
        self.respond(move |version| {
            version.pages.get(name).map_or_else(not_found, |page| page.respond(&request, Caching::Revalidate))
        })
        .await
    }

    /// Responds with a file below [`Site::base`]; the path may begin with a version. Under the current version it is
    /// immutable. Under any other path it is the current file, and the browser must revalidate it.
    pub(crate) async fn file(self: &Arc<Self>, path: String, request: HeaderMap) -> Response<Body> {
        self.respond(move |version| version.file(&path, &request)).await
    }

    /// Reads and compresses: on the blocking thread pool, where there is one.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        respond: impl FnOnce(&Version) -> Response<Body> + Send + 'static,
    ) -> Response<Body> {
        let site = Arc::clone(self);
        #[cfg(feature = "serve")]
        let response = tokio::task::spawn_blocking(move || respond(&site.version())).await.unwrap_or_else(|error| {
            tracing::error!(error = %guichet::values::printable(&error), "a file could not be served");
            plain(StatusCode::INTERNAL_SERVER_ERROR, "The file cannot be served.")
        });
        #[cfg(not(feature = "serve"))]
        let response = respond(&site.version());
        response
    }

    /// The current version. Reads the files again if the package on disk has changed, so that a developer who rebuilds
    /// the package only reloads the page.
    fn version(&self) -> Arc<Version> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let fingerprint = self.package.fingerprint();
        if let Some(version) = current.as_ref().filter(|version| version.package == fingerprint) {
            return Arc::clone(version);
        }
        let version = Arc::new(self.read(fingerprint));
        *current = Some(Arc::clone(&version));
        version
    }

    fn read(&self, package: Fingerprint) -> Version {
        let is_page = |name: &str| self.pages.contains(&name);
        let mut files = BTreeMap::new();
        for (name, bytes) in self.files.iter().filter(|(name, _)| !is_page(name)) {
            files.insert((*name).to_owned(), StaticFile::new(name, Bytes::from_static(bytes)));
        }
        for (name, bytes) in self.package.read(&package) {
            let name = format!("{PACKAGE}{name}");
            files.insert(name.clone(), StaticFile::new(&name, bytes));
        }
        let name = name_of(&files);
        let assets = format!("{}/{name}", self.base);
        let pages = self.pages.iter().map(|page| (*page, self.page_of(page, &assets))).collect();
        Version { package, name, assets, files, pages }
    }

    fn page_of(&self, page: &'static str, assets: &str) -> Arc<StaticFile> {
        let template = self.files.iter().find(|(name, _)| *name == page).map_or(&b""[..], |(_, bytes)| bytes);
        let template = String::from_utf8_lossy(template);
        let text = template.replace("{{ assets }}", assets);
        let text =
            self.values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{{ {name} }}}}"), value));
        StaticFile::new(page, Bytes::from(text))
    }
}

impl Version {
    /// The path of the versioned folder.
    pub(crate) fn assets(&self) -> &str {
        &self.assets
    }

    /// Responds with a file, as [`Site::file`] does.
    pub(crate) fn file(&self, path: &str, request: &HeaderMap) -> Response<Body> {
        let (caching, path) = match path.split_once('/') {
            Some((name, path)) if name == self.name => (Caching::Immutable, path),
            Some((name, path)) if is_version(name) => (Caching::Revalidate, path),
            _ => (Caching::Revalidate, path),
        };
        self.files.get(path).map_or_else(not_found, |file| file.respond(request, caching))
    }
}

/// The name of a version: a digest of the names and contents of all files.
fn name_of(files: &BTreeMap<String, Arc<StaticFile>>) -> String {
    let mut digest = Sha256::new();
    for (name, file) in files {
        digest.update(name);
        digest.update([0]);
        digest.update(file.digest());
    }
    let mut name = hex::encode(digest.finalize());
    name.truncate(VERSION_DIGITS);
    name
}

fn is_version(name: &str) -> bool {
    name.len() == VERSION_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn not_found() -> Response<Body> {
    plain(StatusCode::NOT_FOUND, "There is no such file.")
}

fn plain(status: StatusCode, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
