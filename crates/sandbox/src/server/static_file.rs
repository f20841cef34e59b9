//! Responds with one static file: compressed once, with an entity tag, and 304 to a browser that has it.

use super::accept;
use crate::surroundings;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// The `Cache-Control` policy of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caching {
    /// Cached forever: its address changes with its content.
    Immutable,
    /// Cached, but revalidated before each use.
    Revalidate,
}

impl Caching {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Immutable => "public, max-age=31536000, immutable",
            Self::Revalidate => "no-cache",
        })
    }
}

/// A file and its compressed forms, which are made at the first request for each.
#[derive(Debug)]
pub(crate) struct StaticFile {
    media_type: &'static str,
    bytes: Bytes,
    digest: String,
    brotli: OnceLock<Option<Bytes>>,
    gzip: OnceLock<Option<Bytes>>,
}

/// The content coding of a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Coding {
    Brotli,
    Gzip,
    Identity,
}

/// Files below this size in bytes are not compressed: the saving is smaller than the response's head.
const SMALLEST_COMPRESSED: usize = 128;

/// All files of this process by media type and digest, so that several servers in one process, or a package that was
/// rebuilt without changes, do not compress the same content twice.
static FILES: LazyLock<Mutex<FileCache>> = LazyLock::new(Mutex::default);
type FileCache = HashMap<(&'static str, String), Arc<StaticFile>>;
/// The size at which the cache is cleared: more than the files of all pages.
const MAX_CACHED: usize = 256;

impl StaticFile {
    /// Creates a file. Its media type follows from the extension of the name.
    pub(crate) fn new(name: &str, bytes: Bytes) -> Arc<Self> {
        let media_type = media_type(name);
        let digest = hex::encode(Sha256::digest(&bytes));
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() >= MAX_CACHED {
            files.clear();
        }
        let file = files.entry((media_type, digest)).or_insert_with_key(|(_, digest)| {
            let digest = digest.clone();
            Arc::new(Self { media_type, bytes, digest, brotli: OnceLock::new(), gzip: OnceLock::new() })
        });
        Arc::clone(file)
    }

    /// Whether a file of this name has a media type.
    pub(crate) fn is_typed(name: &str) -> bool {
        media_type(name) != UNTYPED
    }

    /// The SHA-256 of its content, in hexadecimal.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Responds to a GET with these request headers. The first request for a coding compresses the file, which is
    /// CPU-bound: call it on the blocking thread pool.
    ///
    /// tower-http 0.7 would replace 83 lines of this negotiation, and lose by it: its `ServeDir` does not compile for
    /// wasm32 and makes entity tags from times, which embedded files do not have; its compression layer compresses each
    /// response anew, and all codings of a file get one tag.
    pub(crate) fn respond(&self, request: &HeaderMap, caching: Caching) -> Response<Body> {
        let (coding, bytes) = self.in_best_coding(request);
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, caching.header());
        if self.may_compress() {
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        let etag = self.etag(coding);
        let is_cached_by_client = has_match(request, &etag);
        if let Ok(etag) = HeaderValue::try_from(etag) {
            headers.insert(header::ETAG, etag);
        }
        if is_cached_by_client {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return response;
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        if let Some(name) = coding.name() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
        }
        *response.body_mut() = Body::from(bytes);
        response
    }

    /// The entity tag of one coding. Strong tags identify the exact bytes, so each coding has its own.
    fn etag(&self, coding: Coding) -> String {
        let digest = &self.digest[..32];
        coding.name().map_or_else(|| format!("\"{digest}\""), |name| format!("\"{digest}-{name}\""))
    }

    fn in_best_coding(&self, request: &HeaderMap) -> (Coding, Bytes) {
        if self.may_compress() {
            for coding in accepted(request) {
                let compressed = match coding {
                    Coding::Brotli => self.brotli.get_or_init(|| self.smaller(surroundings::brotli(&self.bytes))),
                    Coding::Gzip => self.gzip.get_or_init(|| self.smaller(surroundings::gzip(&self.bytes))),
                    Coding::Identity => break,
                };
                if let Some(compressed) = compressed {
                    return (coding, compressed.clone());
                }
            }
        }
        (Coding::Identity, self.bytes.clone())
    }

    fn may_compress(&self) -> bool {
        self.bytes.len() >= SMALLEST_COMPRESSED && self.media_type != UNTYPED
    }

    fn smaller(&self, compressed: Option<Vec<u8>>) -> Option<Bytes> {
        compressed.filter(|compressed| compressed.len() < self.bytes.len()).map(Bytes::from)
    }
}

impl Coding {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Identity => None,
        }
    }
}

/// The content codings that the client accepts, best first: by the weights in `Accept-Encoding`, then by size.
fn accepted(request: &HeaderMap) -> Vec<Coding> {
    let items: Vec<(&str, f32)> = accept::items(request, &header::ACCEPT_ENCODING).collect();
    let weight = |name: &str| {
        let named = items.iter().find(|(item, _)| item.eq_ignore_ascii_case(name));
        named.or_else(|| items.iter().find(|(item, _)| *item == "*")).map_or(0.0, |(_, weight)| *weight)
    };
    let mut codings = [(Coding::Brotli, weight("br")), (Coding::Gzip, weight("gzip"))];
    // The sort is stable: with equal weights, brotli stays first.
    codings.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    codings.into_iter().filter(|(_, weight)| *weight > 0.0).map(|(coding, _)| coding).collect()
}

/// Compresses a body that is sent once, if the client accepts gzip: brotli at its best takes longer than the bytes that
/// it saves.
pub(crate) fn gzip(bytes: &[u8], request: &HeaderMap) -> Option<Vec<u8>> {
    let is_accepted = accepted(request).contains(&Coding::Gzip);
    is_accepted.then(|| surroundings::gzip(bytes)).flatten()
}

/// Whether `If-None-Match` contains this entity tag.
fn has_match(request: &HeaderMap, etag: &str) -> bool {
    let values = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

/// The media type of a file without one.
const UNTYPED: &str = "application/octet-stream";

/// The media type of a file, by its extension.
fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("woff2") => "font/woff2",
        _ => UNTYPED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn the_best_accepted_coding_is_sent() {
        let file = StaticFile::new("a.js", Bytes::from("let a = 1;\n".repeat(100)));
        for (accepts, coding) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("gzip", Some("gzip")),
            ("GZIP;q=1, br;q=0.5", Some("gzip")),
            ("br;q=0, gzip;q=0", None),
            ("*", Some("br")),
            ("br;q=0, *", Some("gzip")),
            ("identity", None),
            ("br;q=nonsense", None),
            ("", None),
        ] {
            let response = file.respond(&request_with(header::ACCEPT_ENCODING, accepts), Caching::Immutable);
            let found = response.headers().get(header::CONTENT_ENCODING).map(|coding| coding.to_str().unwrap());
            assert_eq!(found, coding, "{accepts:?}");
            assert_eq!(response.headers()[header::VARY], "accept-encoding", "a cache stores each coding");
        }
    }

    #[test]
    fn a_cached_coding_gets_304_and_another_coding_is_sent() {
        let file = StaticFile::new("b.css", Bytes::from("p { color: red }\n".repeat(100)));
        let mut request = request_with(header::ACCEPT_ENCODING, "br");
        let first = file.respond(&request, Caching::Revalidate);
        let etag = first.headers()[header::ETAG].clone();
        assert!(!etag.to_str().unwrap().starts_with("W/"), "strong");
        request.insert(header::IF_NONE_MATCH, etag.clone());
        let again = file.respond(&request, Caching::Revalidate);
        assert_eq!((again.status(), &again.headers()[header::ETAG]), (StatusCode::NOT_MODIFIED, &etag));
        assert_eq!(again.headers()[header::CACHE_CONTROL], "no-cache");
        request.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let other = file.respond(&request, Caching::Revalidate);
        assert_eq!(other.status(), StatusCode::OK, "the tag is that of another coding");
        assert_ne!(other.headers()[header::ETAG], etag);
        let list = request_with(header::IF_NONE_MATCH, "\"x\", *");
        assert_eq!(file.respond(&list, Caching::Revalidate).status(), StatusCode::NOT_MODIFIED);
    }

    #[tokio::test]
    async fn compressed_files_decompress_to_the_original() {
        use std::io::Read;
        let text = "every byte of it ".repeat(100);
        let file = StaticFile::new("c.js", Bytes::from(text.clone()));
        let body = async |accepts| {
            let response = file.respond(&request_with(header::ACCEPT_ENCODING, accepts), Caching::Immutable);
            axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap()
        };
        let mut gzip = String::new();
        flate2::read::GzDecoder::new(&*body("gzip").await).read_to_string(&mut gzip).unwrap();
        let mut brotli = Vec::new();
        brotli::BrotliDecompress(&mut &*body("br").await, &mut brotli).unwrap();
        assert_eq!((gzip.as_str(), brotli.as_slice()), (text.as_str(), text.as_bytes()));
        assert_eq!(body("identity").await, text);
    }
}
