use crate::protocol::{Credential, Error, Kind, Spec};
use bytes::Bytes;
use reqwest::header::HeaderValue;
use std::str::from_utf8;
use zeroize::Zeroizing;

const SCHEME: &str = "Bearer ";

/// A credential as a request carries it: the header `Authorization`, made once, of which no log shows the text.
#[derive(Clone)]
pub(super) struct Bearer(Option<HeaderValue>);

impl Bearer {
    /// The header of a credential, for an operation.
    ///
    /// # Errors
    /// Kind `input` if no header can carry the credential.
    pub(super) fn of(credential: &(dyn Credential + Sync), spec: &Spec) -> Result<Self, Error> {
        let header = match credential.bearer() {
            Some(text) => Self::new(text),
            None => Some(Self(None)),
        };
        header.ok_or_else(|| {
            Error::new(Kind::Input, "The credential holds characters that no header can carry.").of(spec.name)
        })
    }

    /// `Authorization: Bearer …`; none if no header can carry the text.
    pub(super) fn new(text: &str) -> Option<Self> {
        sensitive_header(Zeroizing::new([SCHEME, text].concat())).map(|header| Self(Some(header)))
    }

    pub(super) fn header(&self) -> Option<&HeaderValue> {
        self.0.as_ref()
    }

    /// The credential's text, which no error and no log may contain; empty without a credential.
    pub(super) fn text(&self) -> &str {
        let header = self.0.as_ref().and_then(|header| from_utf8(header.as_bytes()).ok());
        header.and_then(|header| header.strip_prefix(SCHEME)).unwrap_or_default()
    }

    /// Whether a text contains the credential.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let own = self.text();
        !own.is_empty() && text.contains(own)
    }

    /// A text without the credential.
    pub(super) fn redact(&self, text: String) -> String {
        if self.is_in(&text) { text.replace(self.text(), "***") } else { text }
    }
}

/// A header that owns the text itself and no copy, so that the text is wiped when the last clone of the header is
/// dropped.
fn sensitive_header(text: impl AsRef<[u8]> + Send + 'static) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_maybe_shared(Bytes::from_owner(text)).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_headers_copy_of_a_credential_is_the_only_one_and_goes_with_the_last_clone() {
        /// Zeroes the text when it is dropped, as `Zeroizing` does.
        struct Owner {
            text: Zeroizing<String>,
            _alive: Arc<()>,
        }
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                self.text.as_bytes()
            }
        }
        let (alive, text) = (Arc::new(()), Zeroizing::new("Bearer sk_test_1".to_owned()));
        let address = text.as_ptr();
        let header = sensitive_header(Owner { text, _alive: Arc::clone(&alive) }).expect("a header");
        let clone = header.clone();
        for header in [&header, &clone] {
            assert!(header.is_sensitive() && header == "Bearer sk_test_1");
            assert_eq!(header.as_bytes().as_ptr(), address, "it is a copy, which is never wiped");
        }
        drop(header);
        assert_eq!(Arc::strong_count(&alive), 2);
        drop(clone);
        assert_eq!(Arc::strong_count(&alive), 1, "the text outlives its header");
        assert!(Bearer::new("sk_test_1\n").is_none());
    }
}
