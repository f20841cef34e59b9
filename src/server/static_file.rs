//! One file as browsers are sent it: compressed once, with an entity tag, and not sent again to who has it.

use crate::encoding::{hex, media_type};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// How long a browser may keep a file without asking.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caching {
    /// For ever: its address changes with what it holds.
    Immutable,
    /// It may keep it, and asks each time whether it is still good.
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

/// A file, and its compressed forms once they were asked for.
#[derive(Debug)]
pub(crate) struct StaticFile {
    media_type: &'static str,
    bytes: Bytes,
    digest: String,
    brotli: OnceLock<Option<Bytes>>,
    gzip: OnceLock<Option<Bytes>>,
}

/// How a response's body is compressed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Coding {
    Brotli,
    Gzip,
    Identity,
}

/// Below this many bytes a response's head weighs more than compression saves.
const SMALLEST_COMPRESSED: usize = 128;

/// Files of this process by name and content, so that several servers in it, and a package that is written anew without a
/// change, compress nothing twice.
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
type Known = HashMap<(&'static str, String), Arc<StaticFile>>;
/// More than the files of every page. Past it, old versions are forgotten.
const MOST_KNOWN: usize = 256;

impl StaticFile {
    /// A file of this name, whose ending says what it is.
    pub(crate) fn new(name: &str, bytes: Bytes) -> Arc<Self> {
        let media_type = media_type(name);
        let digest = hex(&Sha256::digest(&bytes));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        let file = known.entry((media_type, digest)).or_insert_with_key(|(_, digest)| {
            let digest = digest.clone();
            Arc::new(Self { media_type, bytes, digest, brotli: OnceLock::new(), gzip: OnceLock::new() })
        });
        Arc::clone(file)
    }

    /// What it holds.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The SHA-256 of what it holds, in hexadecimal.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// The response to a GET with these headers. The first for a coding compresses, which takes a core for a while: call it
    /// where that holds nobody up.
    pub(crate) fn respond(&self, request: &HeaderMap, caching: Caching) -> Response<Body> {
        let (coding, bytes) = self.in_best_coding(request);
        let mut response = Response::new(Body::empty());
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, caching.header());
        if self.may_compress() {
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        let etag = self.etag(coding);
        let is_kept = has_match(request, &etag);
        if let Ok(etag) = HeaderValue::try_from(etag) {
            headers.insert(header::ETAG, etag);
        }
        if is_kept {
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

    /// Each form has a tag of its own: a strong one stands for the bytes that are sent.
    fn etag(&self, coding: Coding) -> String {
        let digest = &self.digest[..32];
        coding.name().map_or_else(|| format!("\"{digest}\""), |name| format!("\"{digest}-{name}\""))
    }

    fn in_best_coding(&self, request: &HeaderMap) -> (Coding, Bytes) {
        if self.may_compress() {
            for coding in accepted(request) {
                let compressed = match coding {
                    Coding::Brotli => self.brotli.get_or_init(|| self.smaller(brotli(&self.bytes))),
                    Coding::Gzip => self.gzip.get_or_init(|| self.smaller(gzip(&self.bytes))),
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
        const ALREADY_COMPRESSED: [&str; 1] = ["application/octet-stream"];
        self.bytes.len() >= SMALLEST_COMPRESSED && !ALREADY_COMPRESSED.contains(&self.media_type)
    }

    fn smaller(&self, compressed: io::Result<Vec<u8>>) -> Option<Bytes> {
        compressed.ok().filter(|compressed| compressed.len() < self.bytes.len()).map(Bytes::from)
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

/// Which of the codings a client takes, the best first: by its own weights, and else the smallest first.
fn accepted(request: &HeaderMap) -> Vec<Coding> {
    let values = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let items: Vec<(&str, f32)> = values.flat_map(|value| value.split(',')).map(weighed).collect();
    let weight = |name: &str| {
        let named = items.iter().find(|(item, _)| item.eq_ignore_ascii_case(name));
        named.or_else(|| items.iter().find(|(item, _)| *item == "*")).map_or(0.0, |(_, weight)| *weight)
    };
    let mut codings = [(Coding::Brotli, weight("br")), (Coding::Gzip, weight("gzip"))];
    // A stable sort: brotli stays first where both weigh the same.
    codings.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    codings.into_iter().filter(|(_, weight)| *weight > 0.0).map(|(coding, _)| coding).collect()
}

/// `br;q=0.5` as a name and its weight.
fn weighed(item: &str) -> (&str, f32) {
    let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
    let weight = parameters.trim().strip_prefix("q=").map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
    (name.trim(), weight)
}

/// Whether the client has this very form of the file.
fn has_match(request: &HeaderMap, etag: &str) -> bool {
    let values = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
}

fn brotli(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let size_hint = bytes.len();
    let best = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, size_hint, ..Default::default() };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut compressed, &best)?;
    Ok(compressed)
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn the_coding_is_the_best_that_the_client_takes() {
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
            let response = file.respond(&asking(header::ACCEPT_ENCODING, accepts), Caching::Immutable);
            let found = response.headers().get(header::CONTENT_ENCODING).map(|coding| coding.to_str().unwrap());
            assert_eq!(found, coding, "{accepts:?}");
            assert_eq!(response.headers()[header::VARY], "accept-encoding", "a cache tells them apart");
        }
    }

    #[test]
    fn a_form_that_the_client_has_is_not_sent_again_and_another_form_is() {
        let file = StaticFile::new("b.css", Bytes::from("p { color: red }\n".repeat(100)));
        let mut request = asking(header::ACCEPT_ENCODING, "br");
        let first = file.respond(&request, Caching::Revalidate);
        let etag = first.headers()[header::ETAG].clone();
        assert!(!etag.to_str().unwrap().starts_with("W/"), "strong");
        request.insert(header::IF_NONE_MATCH, etag.clone());
        let again = file.respond(&request, Caching::Revalidate);
        assert_eq!((again.status(), &again.headers()[header::ETAG]), (StatusCode::NOT_MODIFIED, &etag));
        assert_eq!(again.headers()[header::CACHE_CONTROL], "no-cache");
        request.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let other = file.respond(&request, Caching::Revalidate);
        assert_eq!(other.status(), StatusCode::OK, "the tag stands for the bytes of another coding");
        assert_ne!(other.headers()[header::ETAG], etag);
        let list = asking(header::IF_NONE_MATCH, "\"x\", *");
        assert_eq!(file.respond(&list, Caching::Revalidate).status(), StatusCode::NOT_MODIFIED);
    }

    #[tokio::test]
    async fn what_is_compressed_is_the_file() {
        use std::io::Read;
        let text = "every byte of it ".repeat(100);
        let file = StaticFile::new("c.js", Bytes::from(text.clone()));
        let body = async |accepts| {
            let response = file.respond(&asking(header::ACCEPT_ENCODING, accepts), Caching::Immutable);
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
