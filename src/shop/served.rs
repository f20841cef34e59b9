//! The service's half of a profile: what a request asks that a profile describes, and the service's own words.

use super::profile::{Profile, RouteCredential};
use std::collections::BTreeMap;

/// What is asked about a payment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// How it is.
    Read,
    /// Whatever has a reference.
    Find,
    /// Its cancellation.
    Cancel,
}

impl Profile {
    /// What a request with this credential asks, if it is one of this profile's own, and the names that it has: the
    /// service's half.
    #[must_use]
    pub fn asked(&self, method: &str, target: &str, bearer: &str) -> Option<(Wanted, BTreeMap<&str, String>)> {
        let credential = if bearer.contains("_secret_") { RouteCredential::ClientSecret } else { RouteCredential::Key };
        let routes = [
            (Wanted::Read, Some(&self.read)),
            (Wanted::Find, self.find_by_reference.as_ref()),
            (Wanted::Cancel, self.cancel.as_ref()),
        ];
        routes.into_iter().find_map(|(wanted, route)| {
            let route = route.filter(|route| route.method.as_str() == method && route.credential == credential)?;
            Some((wanted, names_in(&route.path, target)?))
        })
    }

    /// Whether a payment is canceled as the document of this project says.
    #[must_use]
    pub fn cancels_as_documented(&self) -> bool {
        self.cancel.as_ref().is_some_and(|route| !route.may_list)
    }

    /// Whether a word of the service's own stands for one of ours.
    #[must_use]
    pub fn knows(&self, word: &str) -> bool {
        self.statuses.contains_key(word)
    }

    /// The service's own word for one of ours.
    #[must_use]
    pub fn word_for(&self, ours: &str) -> Option<&str> {
        self.statuses.iter().find(|(_, one)| one.as_str() == ours).map(|(theirs, _)| theirs.as_str())
    }
}

/// The values in a target in the places of a path.
fn names_in<'a>(path: &'a str, target: &str) -> Option<BTreeMap<&'a str, String>> {
    let (mut names, mut path, mut target) = (BTreeMap::new(), path, target);
    while let Some((before, (place, after))) =
        path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        target = target.strip_prefix(before)?;
        // A value ends where the text begins that follows it.
        let value = match after.split_once('{') {
            Some((text, _)) => target.get(..target.find(text)?)?,
            None => target.strip_suffix(after)?,
        };
        if value.contains(['/', '?', '&']) {
            return None;
        }
        names.insert(place, percent_encoding::percent_decode_str(value).decode_utf8().ok()?.into_owned());
        (path, target) = (after, &target[value.len()..]);
    }
    (path == target).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_ends_where_the_text_after_it_begins() {
        for (path, target, names) in [
            ("/p/{id}.json", "/p/pi_1.json", json!({"id": "pi_1"})),
            ("/p/{id}.json", "/p/a.json.json", json!({"id": "a.json"})),
            ("/p/{id}.json", "/p/pi_1", json!(null)),
            ("/p/{id}:cancel", "/p/pi_1:cancel", json!({"id": "pi_1"})),
            ("/p/{id}", "/p/pi_1", json!({"id": "pi_1"})),
            ("/p/{id}", "/p/pi_1/cancel", json!(null)),
            ("/p/{id}", "/p/pi_1?a=1", json!(null)),
            ("/p/{id}/cancel", "/p/pi%2F1/cancel", json!({"id": "pi/1"})),
            ("/p?a={id}&b={payment_ref}", "/p?a=pi_1&b=R%201", json!({"id": "pi_1", "payment_ref": "R 1"})),
            ("/p?a={id}&b={payment_ref}", "/p?a=pi_1&c=2&b=R", json!(null)),
            ("/p/{id}-{payment_ref}.json", "/p/pi_1-R.json", json!({"id": "pi_1", "payment_ref": "R"})),
        ] {
            assert_eq!(json!(names_in(path, target)), names, "{path} {target}");
        }
    }
}
