//! Whether the shop is there, and calls the service of the check.

use super::checked_shop::CheckedShop;
use super::customer::Customer;
use super::exchange::Exchange;
use crate::environment::SendError;
use crate::options::Login;
use crate::outcome::RuleError;

/// Why a check cannot begin.
enum NotReady {
    /// The shop may be being started.
    Yet(String),
    /// Waiting cannot help.
    Never(String),
}

impl CheckedShop {
    /// Waits until the shop answers and has called the service. The error says what it did instead, and what to do.
    pub(crate) async fn is_ready(&self) -> Result<(), String> {
        let mut seen = String::new();
        let is_ready = async || match self.try_once().await {
            Ok(()) => Some(Ok(())),
            Err(NotReady::Never(why)) => Some(Err(why)),
            Err(NotReady::Yet(why)) => {
                seen = why;
                // It may be started again, and forget its logins.
                self.customers.borrow_mut().clear();
                None
            }
        };
        let result = self.wait_for(self.options.wait, is_ready).await;
        let shop = self.address();
        result.unwrap_or_else(|| Err(format!("{seen} Start the shop at {shop} with the address and the key above.")))
    }

    async fn try_once(&self) -> Result<(), NotReady> {
        let page = self.open_page(&Customer::default()).await;
        page.response.map_err(|broken| {
            let why = format!("The shop did not answer: {broken}.");
            if matches!(broken, SendError::Certificate(_)) { NotReady::Never(why) } else { NotReady::Yet(why) }
        })?;
        for (number, Login { method, path, .. }) in self.options.logins.iter().enumerate() {
            let browser = self.visitor().await;
            let exchange = self.send_login(&browser, number).await;
            if !(200..400).contains(&exchange.status()) {
                let why = format!("The request of --login was refused: {method} {path}: {}.", exchange.response_text());
                // A shop that is being started has no other answer.
                let is_refused = (400..500).contains(&exchange.status());
                return Err(if is_refused { NotReady::Never(why) } else { NotReady::Yet(why) });
            }
        }
        let customer = self.customer(0).await.map_err(|stop| match stop {
            RuleError::NotChecked(why) | RuleError::Lost(why) | RuleError::Failed { why, .. } => NotReady::Yet(why),
        })?;
        let session = self.request_session(&customer).await;
        if self.is_called_with_key()? {
            return Ok(());
        }
        // No customer is signed in, or the customer has no session: only an order calls the service. It is one that no
        // rule needs to be new: the first one that was given, or one of the pattern.
        let exchange = self.send_order(&customer, &self.any_order().unwrap_or_default()).await;
        // If nobody is signed in, it has no reason to call the service.
        let is_signed_out = exchange.is_sign_in_required() && self.options.logins.is_empty();
        if self.is_called_with_key()? || is_signed_out {
            return Ok(());
        }
        let is_missing = |exchange: &Exchange| [404, 405].contains(&exchange.status()) && !exchange.is_error_in_shape();
        if is_missing(&session) && is_missing(&exchange) {
            let [origin, routes] = [&self.options.shop.origin, &self.options.shop.routes];
            return Err(NotReady::Never(format!(
                "The shop has no routes at {origin}{routes}: {}: {}. Give the address of the shop, with the path of \
                 its three routes if it is not /guichet.",
                session.sent,
                session.response_text()
            )));
        }
        let (sent, came) = (&exchange.sent, exchange.response_text());
        Err(NotReady::Yet(format!("The shop answered without a call to the service. {sent}: {came}.")))
    }

    /// Whether the shop has called the service with its key. The error says that it uses another one.
    fn is_called_with_key(&self) -> Result<bool, NotReady> {
        let calls = self.service.calls_since(0);
        if calls.iter().any(|call| call.with_key) {
            return Ok(true);
        }
        match calls.iter().find(|call| call.is_session() || call.is_creation()) {
            Some(_) => Err(NotReady::Never(
                "Your shop uses another key than this check. Start the shop with the key above, or set \
                 GUICHET_SECRET_KEY to the shop's test key before the check."
                    .into(),
            )),
            None => Ok(false),
        }
    }
}
