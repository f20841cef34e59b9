use super::{Invalid, text_value};

/// Checks that an identifier is not empty. It is opaque otherwise: only the service knows whether it exists.
fn present(text: &str) -> Result<(), Invalid> {
    if text.is_empty() { Err(Invalid::because("An identifier may not be empty.")) } else { Ok(()) }
}

text_value! {
    /// The identifier of a payment intent.
    IntentId is "pi_3kTR9sB" not "", present;

    /// The service's public reference of a transaction.
    PaymentRef is "gch_3kTR9sB" not "", present;

    /// The identifier of a customer.
    CustomerId is "cus_3kTR9sB" not "", present;

    /// The identifier of an eSIM data package.
    EsimPackageId is "esp_3kTR9sB" not "", present;

    /// The identifier of an eSIM order.
    EsimOrderId is "eso_3kTR9sB" not "", present;

    /// The identifier of a plan.
    PlanId is "plan_3kTR9sB" not "", present;

    /// A plan by its identifier or its code.
    ///
    /// ```
    /// use guichet::values::{PlanCode, PlanKey};
    /// let key = PlanKey::from(PlanCode::new("gold").unwrap());
    /// assert_eq!(key.as_str(), "gold");
    /// ```
    PlanKey, present;

    /// The identifier of a subscription.
    SubscriptionId is "sub_3kTR9sB" not "", present;

    /// The merchant's own, unique slug of a plan: 1 to 64 letters, digits, `-`, `_` and `.`, the first a letter or a
    /// digit (a decision).
    PlanCode is "gold-monthly" not "gold monthly", |text| {
        let shaped = (1..=64).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if shaped {
            Ok(())
        } else {
            Err(Invalid::because("A plan's code is a slug: 1 to 64 letters, digits, -, _ and ., and begins with a letter or a digit: gold-monthly."))
        }
    }, described { "pattern": r"^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$" };

    /// The identifier of a payment method in the list: `svc_mobile_money`.
    ///
    /// ```
    /// use guichet::values::MethodId;
    /// assert_eq!(MethodId::new("svc_mobile_money").unwrap().code().as_str(), "mobile_money");
    /// ```
    MethodId, present;

    /// The code of a mobile money operator in the list of payment methods (a decision).
    OperatorCode is "mtn_cm" not "", present;

    /// The merchant's name of one request. The service executes a request once per key, however often it is sent (a
    /// decision). 1 to 255 visible ASCII characters.
    IdempotencyKey is "order-17" not "order 17", |text| {
        if (1..=255).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(())
        } else {
            Err(Invalid::because("An Idempotency-Key is 1 to 255 visible ASCII characters, unique to what it makes: order-17."))
        }
    }, described { "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" };

    /// The merchant's own, unique name of a transaction, which makes a create safe to repeat. 1 to 255 characters.
    MerchantReference is "ORDER-17" not "", |text| {
        if (1..=255).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
            Ok(())
        } else {
            Err(Invalid::because("A merchant_reference is 1 to 255 characters without control characters, unique to the transaction: ORDER-17."))
        }
    }, described { "pattern": r"^[^\u0000-\u001f\u007f-\u009f]{1,255}$" };

    /// The code that a fee is requested by: `mobile_money`, `card`. The list's identifier differs: `svc_mobile_money`.
    MethodCode is "mobile_money" not "", |text| {
        if text.is_empty() { Err(Invalid::because("A payment method code may not be empty: mobile_money or card.")) } else { Ok(()) }
    }
}

impl MethodId {
    /// The fee code of a method of the list: its identifier without `svc_` (a decision of ours).
    #[must_use]
    pub fn code(&self) -> MethodCode {
        MethodCode(self.0.strip_prefix("svc_").unwrap_or(&self.0).to_owned())
    }
}

impl From<PlanId> for PlanKey {
    fn from(id: PlanId) -> Self {
        Self(id.0)
    }
}

impl From<PlanCode> for PlanKey {
    fn from(code: PlanCode) -> Self {
        Self(code.0)
    }
}
