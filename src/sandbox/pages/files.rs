//! The page's own files, from the binary.

use crate::encoding::media_type;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use include_dir::{Dir, include_dir};

static PAGE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/www/checkout");

/// A file of the pages. Not the pages themselves, which have addresses of their own.
pub(super) fn embedded(path: &str) -> Response<Body> {
    if path.ends_with(".html") { file("") } else { file(path) }
}

/// A page that is no template.
pub(super) fn page(name: &str) -> Response<Body> {
    file(name)
}

fn file(path: &str) -> Response<Body> {
    let (status, kind, body) = match PAGE.get_file(path) {
        Some(file) => (StatusCode::OK, media_type(path), Body::from(file.contents())),
        None => (StatusCode::NOT_FOUND, "text/plain; charset=utf-8", Body::from("There is no such file.")),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
