//! A customer, who is a browser with cookies.

use crate::environment::Response;
use std::cell::RefCell;

/// A browser with its cookies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Customer {
    cookies: RefCell<Vec<(String, String)>>,
}

impl Customer {
    /// Another browser with these cookies.
    pub(crate) fn with_cookies(cookies: Vec<(String, String)>) -> Self {
        Self { cookies: RefCell::new(cookies) }
    }

    /// The names and values of the cookies.
    pub(crate) fn cookies(&self) -> Vec<(String, String)> {
        self.cookies.borrow().clone()
    }

    pub(crate) fn store(&self, response: &Response) {
        let mut cookies = self.cookies.borrow_mut();
        for set in response.headers("set-cookie") {
            let pair = set.split(';').next().unwrap_or_default();
            let Some((name, value)) = pair.split_once('=') else { continue };
            let name = name.trim();
            cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                cookies.push((name.to_owned(), value.trim().to_owned()));
            }
        }
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// The header `Cookie`.
    pub(crate) fn header(&self) -> Option<String> {
        let cookies = self.cookies.borrow();
        let pairs: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(headers: &[(&str, &str)]) -> Response {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Response { status: 200, headers, body: String::new() }
    }

    #[test]
    fn a_customer_sends_each_cookie_once_and_forgets_an_emptied_one() {
        let customer = Customer::default();
        customer.store(&response(&[("Set-Cookie", "login=1; Path=/; HttpOnly"), ("set-cookie", "csrf=a=b")]));
        customer.store(&response(&[("set-cookie", "login=2")]));
        assert_eq!(customer.header().as_deref(), Some("csrf=a=b; login=2"));
        customer.store(&response(&[("set-cookie", "login=; Max-Age=0")]));
        assert_eq!(customer.header().as_deref(), Some("csrf=a=b"));
    }
}
