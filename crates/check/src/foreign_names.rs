//! The names that foreign shops use, in English and in French.

use serde_json::{Value, json};

/// What a name stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Meaning {
    Price,
    PriceHeader,
    Discount,
    Percent,
    Charge,
    Quantity,
    Currency,
    Email,
    PersonName,
    Owner,
    OwnerHeader,
    /// An object that has fields of a person.
    Person,
    Reference,
    /// A word by which a page might get another payment for the order.
    Again,
    Payment,
    Address,
    HostHeader,
    /// An object that has fields of an order.
    Object,
    /// A list of such objects.
    List,
    /// A part of the name of a login's field that no report shows.
    Secret,
    /// Where shops list orders and payments. A shop may do so, without those of others.
    ListPath,
    /// Where shops listen for the notifications of other payment services.
    NotificationPath,
    SignOutPath,
    /// What lies beside a page by mistake.
    FileByMistake,
}

/// Names with a space between each two.
const TABLE: &[(Meaning, &str)] = &[
    (Meaning::Price, "amount price total unit_price unitPrice total_price totalPrice total_amount totalAmount"),
    (Meaning::Price, "amount_payable amountPayable subtotal sub_total grand_total grandTotal order_total orderTotal"),
    (Meaning::Price, "sum cost value base_price price_override custom_price montant prix amount_xaf"),
    (Meaning::PriceHeader, "X-Amount X-Price X-Total X-Order-Amount"),
    (Meaning::Discount, "discount discount_amount discountAmount reduction rebate remise credit voucher_amount"),
    (Meaning::Discount, "coupon_amount promo gift_card wallet"),
    (Meaning::Percent, "discount discount_percent discountPercent percent_off"),
    (Meaning::Charge, "tip shipping shipping_fee delivery delivery_fee fee fees tax donation"),
    (Meaning::Quantity, "quantity qty count units pieces quantite num number_of_items nb"),
    (Meaning::Currency, "currency currency_code currencyCode Currency devise monnaie"),
    (Meaning::Email, "email customer_email customerEmail user_email userEmail payer_email payerEmail mail"),
    (Meaning::PersonName, "firstname lastname first_name last_name firstName lastName"),
    (Meaning::Owner, "customer_id customerId user_id userId user username owner owner_id ownerId uid account"),
    (Meaning::Owner, "account_id login buyer buyer_id customer"),
    (Meaning::OwnerHeader, "X-User X-User-Id X-Customer X-Customer-Id X-Forwarded-User X-Remote-User Remote-User"),
    (Meaning::OwnerHeader, "X-Auth-User X-User-Email X-Customer-Email X-Forwarded-Email X-Auth-Request-Email"),
    (Meaning::OwnerHeader, "X-Auth-Request-User X-Email"),
    (Meaning::Person, "customer user data session account"),
    (Meaning::Reference, "merchant_reference merchantReference reference ref order_reference orderReference order_ref"),
    (Meaning::Reference, "orderRef payment_reference external_reference invoice order_number"),
    (Meaning::Again, "retry new again force force_new reset restart refresh renew attempt try replace"),
    (Meaning::Payment, "payment_ref paymentRef intent_id intentId intent payment_id paymentId payment_intent"),
    (Meaning::Payment, "payment_intent_id"),
    (Meaning::Address, "redirect_url redirectUrl return_url returnUrl success_url successUrl cancel_url cancelUrl"),
    (Meaning::Address, "callback_url callbackUrl redirect redirect_to return_to returnTo next base_url origin host"),
    (Meaning::HostHeader, "X-Forwarded-Host X-Forwarded-Server X-Original-Host X-Host X-HTTP-Host-Override"),
    (Meaning::HostHeader, "X-Real-Host Referer Forwarded Host"),
    (Meaning::Object, "order payment intent payment_intent cart basket data attributes product checkout params"),
    (Meaning::List, "items lines line_items lineItems products order_lines"),
    (Meaning::Secret, "pass pwd mot secret pin code token csrf otp"),
    (Meaning::ListPath, "/orders /payments /api/orders /api/payments /admin /admin/orders /admin/payments /shop"),
    (Meaning::NotificationPath, "/webhook /webhooks /guichet/webhook /api/webhook /callback /notify /notification"),
    (Meaning::NotificationPath, "/ipn /payment/callback /guichet/callback"),
    (Meaning::SignOutPath, "/logout /sign-out /signout /api/logout /api/sign-out /auth/logout /logout/"),
    (Meaning::FileByMistake, ".env .env.local .env.production .git/config config.json config.js config.php"),
    (Meaning::FileByMistake, "settings.json package.json server.js server.mjs app.py debug env api/config"),
    (Meaning::FileByMistake, "api/settings config settings info.php phpinfo.php phpinfo error.log shop.log backup.sql"),
];

/// The names of this meaning.
pub(crate) fn names(meaning: Meaning) -> impl Iterator<Item = &'static str> + Clone {
    let of_this = TABLE.iter().filter(move |(known, _)| *known == meaning);
    of_this.flat_map(|(_, names)| names.split_whitespace())
}

/// A header `Cookie` of these names with one value.
pub(crate) fn cookies<'a>(names: impl Iterator<Item = &'a str>, value: &str) -> String {
    names.map(|name| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
}

/// A request that says to be of somebody.
pub(crate) struct Claim {
    /// Where it says so.
    pub(crate) place: &'static str,
    pub(crate) body: Value,
    /// With the question mark; empty if it is not there.
    pub(crate) query: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// Claims to be this customer: in a body, and without one.
pub(crate) fn claims(name: &str) -> Vec<Claim> {
    let fields = || names(Meaning::Email).chain(names(Meaning::Owner)).chain(["id", "name"]);
    let claim = |place, body| Claim { place, body, query: String::new(), headers: Vec::new() };
    let without_body = |place| claim(place, json!({}));
    let body: Value = fields().map(|field| (field.to_owned(), Value::from(name))).collect();
    let person = json!({"email": name, "customer_email": name, "id": name, "name": name});
    let nested: Value = names(Meaning::Person).map(|field| (field.to_owned(), person.clone())).collect();
    let pairs = fields().map(|field| (field, name));
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let headers = names(Meaning::OwnerHeader).map(|header| (header, name.to_owned())).collect();
    vec![
        claim("body", body),
        claim("body", nested),
        Claim { query: format!("?{query}"), ..without_body("query") },
        Claim { headers, ..without_body("headers") },
        Claim { headers: vec![("Cookie", cookies(fields(), name))], ..without_body("cookies") },
    ]
}
