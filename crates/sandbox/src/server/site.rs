//! Serves a site: its pages, their files, and the npm package. The files are under a versioned folder whose name is a digest of
//! their content, so a browser caches everything but the pages for ever.

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
    pages: &'static [Page],
    package: Package,
    /// More placeholders and their values: `{{ attempts }}` and 3.
    values: Vec<(&'static str, String)>,
    current: Mutex<Option<Arc<Version>>>,
}

/// One page. In its text, `{{ assets }}` is replaced by the versioned folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Its file name.
    pub(crate) name: &'static str,
    /// The file of the package that the page requires.
    pub(crate) needs: Option<&'static str>,
}

/// One version of the site, in memory.
#[derive(Debug)]
struct Version {
    package: Fingerprint,
    name: String,
    files: BTreeMap<String, Arc<StaticFile>>,
    pages: BTreeMap<&'static str, Arc<StaticFile>>,
}

impl Site {
    pub(crate) fn new(base: &'static str, files: Files, pages: &'static [Page], package: Package) -> Self {
        Self { base, files, pages, package, values: Vec::new(), current: Mutex::default() }
    }

    /// Replaces `{{ name }}` in the pages by this value.
    pub(crate) fn value(mut self, name: &'static str, value: String) -> Self {
        self.values.push((name, value));
        self
    }

    /// Responds with a page. If the package that it needs is missing, the response says how to build it.
    pub(crate) async fn page(self: &Arc<Self>, name: &'static str, request: HeaderMap) -> Response<Body> {
        self.respond(move |site, version| {
            let needs = site.pages.iter().find(|page| page.name == name).and_then(|page| page.needs);
            if let Some(missing) = needs.filter(|entry| !version.files.contains_key(&format!("{PACKAGE}{entry}"))) {
                tracing::warn!(missing, "the npm package is missing");
                return site.package_missing();
            }
            version.pages.get(name).map_or_else(not_found, |page| page.respond(&request, Caching::Revalidate))
        })
        .await
    }

    /// Responds with what `write` returns for the address of the files. It may compress.
    pub(crate) async fn written(
        self: &Arc<Self>,
        write: impl FnOnce(&str) -> Response<Body> + Send + 'static,
    ) -> Response<Body> {
        self.respond(move |site, version| write(&format!("{}/{}", site.base, version.name))).await
    }

    /// Responds with a file below [`Site::base`]; the path may begin with a version. Under the current version it is immutable. Under
    /// any other path it is the current file, and the browser must revalidate it.
    pub(crate) async fn file(self: &Arc<Self>, path: String, request: HeaderMap) -> Response<Body> {
        self.respond(move |_, version| {
            let (caching, path) = match path.split_once('/') {
                Some((name, path)) if name == version.name => (Caching::Immutable, path),
                Some((name, path)) if is_version(name) => (Caching::Revalidate, path),
                _ => (Caching::Revalidate, path.as_str()),
            };
            // A script may read a page, as a part of the same version.
            let page = version.pages.get(path).filter(|_| matches!(caching, Caching::Immutable));
            let file = version.files.get(path).or(page);
            file.map_or_else(not_found, |file| file.respond(&request, caching))
        })
        .await
    }

    /// Reads and compresses: on the blocking thread pool, where there is one.
    async fn respond(
        self: &Arc<Self>,
        respond: impl FnOnce(&Self, &Version) -> Response<Body> + Send + 'static,
    ) -> Response<Body> {
        let site = Arc::clone(self);
        #[cfg(feature = "serve")]
        let response =
            tokio::task::spawn_blocking(move || respond(&site, &site.version())).await.unwrap_or_else(|error| {
                tracing::error!(error = %guichet::values::printable(&error), "a file could not be served");
                plain(StatusCode::INTERNAL_SERVER_ERROR, "The file cannot be served.")
            });
        #[cfg(not(feature = "serve"))]
        let response = respond(&site, &site.version());
        response
    }

    /// The current version. Reads the files again if the package on disk has changed, so that a developer who rebuilds the package only
    /// reloads the page.
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
        let is_page = |name: &str| self.pages.iter().any(|page| page.name == name);
        let mut files = BTreeMap::new();
        for (name, bytes) in self.files.iter().filter(|(name, _)| !is_page(name)) {
            files.insert((*name).to_owned(), StaticFile::new(name, Bytes::from_static(bytes)));
        }
        for (name, bytes) in self.package.read(&package) {
            let name = format!("{PACKAGE}{name}");
            files.insert(name.clone(), StaticFile::new(&name, bytes));
        }
        let templates = self.files.iter().filter(|(name, _)| is_page(name));
        let name = name_of(&files, templates);
        let pages = self.pages.iter().map(|page| (page.name, self.page_of(page, &name))).collect();
        Version { package, name, files, pages }
    }

    fn page_of(&self, page: &Page, version: &str) -> Arc<StaticFile> {
        let template = self.files.iter().find(|(name, _)| *name == page.name).map_or(&b""[..], |(_, bytes)| bytes);
        let template = String::from_utf8_lossy(template);
        let assets = format!("{}/{version}", self.base);
        let text = template.replace("{{ assets }}", &assets);
        let text =
            self.values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{{ {name} }}}}"), value));
        StaticFile::new(page.name, Bytes::from(text))
    }

    fn package_missing(&self) -> Response<Body> {
        let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, self.package.missing());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        response
    }
}

/// The name of a version: a digest of the names and contents of all files and pages.
fn name_of<'a>(
    files: &BTreeMap<String, Arc<StaticFile>>,
    pages: impl Iterator<Item = &'a (&'static str, &'static [u8])>,
) -> String {
    let mut digest = Sha256::new();
    for (name, file) in files {
        digest.update(name);
        digest.update([0]);
        digest.update(file.digest());
    }
    for (name, page) in pages {
        digest.update(name);
        digest.update([0]);
        digest.update(page);
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
