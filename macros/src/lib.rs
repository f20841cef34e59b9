//! The attributes that declare an operation or a resource, and what they expand to.
//!
//! They work only in the crate `guichet`, because the expanded code names its modules. It has no features; Rust 1.95 or
//! newer.

mod field;
mod operation;
mod resource;
mod schema;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Declares an operation: `METHOD "path" -> Output`, then further arguments.
///
/// ```text
/// /// `POST /v1/subscriptions/plans`: create a plan that customers can subscribe to.
/// #[operation(POST "/v1/subscriptions/plans" -> Plan, role = Merchant)]
/// pub struct CreatePlan {
///     /// The name that customers see.
///     pub name: String,
///     /// The price of each period, in the smallest unit.
///     #[field(number)]
///     pub amount: Amount,
///     /// The currency of the price.
///     #[field(default, check = supported)]
///     pub currency: Currency,
/// }
/// ```
///
/// expands to
///
/// ```text
/// #[schema]
/// #[derive(Clone, Debug)]
/// #[non_exhaustive]
/// pub struct CreatePlan {
///     pub name: String,
///     #[schemars(with = "AmountNumber")]
///     pub amount: Amount,
///     #[schemars(default)]
///     pub currency: Currency,
/// }
///
/// impl Serialize for CreatePlan {               // the client's writer: `protocol::assemble` walks the fields
///     fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         let mut fields = serializer.serialize_struct("CreatePlan", 3)?;
///         fields.serialize_field("name", &Written::<String>(&self.name))?;
///         fields.serialize_field("amount", &Written::<AmountNumber>(&self.amount))?;
///         fields.serialize_field("currency", &Written::<Currency>(&self.currency))?;
///         fields.end()
///     }
/// }
///
/// impl CreatePlan {
///     pub fn new(name: impl Into<String>, amount: Amount) -> Self { … }        // the required fields
///     pub fn currency(mut self, currency: Currency) -> Self { … }              // a setter for each other field
/// }
///
/// impl Operation for CreatePlan {
///     type Role = Merchant;
///     type Output = Plan;
///     const SPEC: Spec = Spec::post("create_plan", "/v1/subscriptions/plans");
/// }
///
/// impl Served for CreatePlan {                  // the service's reader
///     fn read(fields: &mut Fields) -> Option<Self> {
///         let name = fields.required::<String>("name");
///         let amount = fields.required::<AmountNumber>("amount");
///         let currency = fields.or::<Currency>("currency", Default::default());
///         if let Some(currency) = &currency { supported(fields, "currency", currency); }
///         Some(Self { name: name?, amount: amount?, currency: currency? })   // by now every field's error is collected
///     }
/// }
///
/// const _: () = { … is_listed::<CreatePlan>() };  // it is named in `every_operation!`
/// ```
///
/// Every field has a `FieldType` (`src/protocol/field_type.rs`): its own type, or the one that an option selects. This
/// trait reads and writes the field, so a form that cannot be derived is one `impl`.
///
/// The operation's name is the type's name in snake case. A field is in the path if the path names it, otherwise in the
/// query of a `GET` and in the body of other methods.
///
/// | argument of `#[operation]` | |
/// |---|---|
/// | `role = Merchant` | the role that may send it: a type of `protocol::role` |
/// | `envelope = Session` | the envelope of its reply, if not `Standard` |
/// | `example = "pi_1"` | the identifier in its example, if it takes nothing else. A list and an operation without fields get their example too; the documentation of all others has one |
/// | `assumed` | the interface document does not show it |
/// | `repeatable` | a `POST` or `PUT` that is safe to repeat |
/// | `new(code, Name { first, last })` | `new`'s arguments, if not the fields in their order; some may be named fields of a struct |
/// | `at_least_one(email, phone, "An e-mail or a phone is required.")` | one of these fields is required, or else this error |
///
/// A field of type `Option<_>` may be absent; one with `default` is sent with its default; all others are required.
/// `new` with two `String`s in a row does not compile, since a caller would swap them: put them into a struct that
/// borrows them.
///
/// | of a field, in `#[field(…)]` | |
/// |---|---|
/// | `default`, `default = 3` | the value if the field is absent; of an `Option`, the value that the service assumes |
/// | `min = 1`, `max = 10` | the limits of a whole number |
/// | `number` | an `Amount` that is written as a JSON number, not as a string |
/// | `check = supported` | a check of the service: `fn(&mut Fields, param: &str, &T)` |
/// | `into` | `new` takes `impl Into` of its type, as it always does for a `String` |
/// | `idempotency_key` | the field is the header `Idempotency-Key`; with it the operation is repeatable |
/// | `secret` | `Debug` does not show it, and the terminal reads it from standard input |
/// | `undocumented` | the interface document does not show the field |
/// | `schema("pattern" = "^a")` | more keywords of its JSON schema |
#[proc_macro_attribute]
pub fn operation(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as operation::Arguments);
    let item = parse_macro_input!(item as syn::DeriveInput);
    operation::expand(arguments, item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a resource: an object in a reply. `#[resource(undocumented)]`: the interface document shows none of its
/// fields. `#[resource(example = "{…}")]`: the JSON in its example, unless its documentation has one.
///
/// ```text
/// /// A new session.
/// #[resource]
/// pub struct CreatedSession {
///     /// The token. Give it to the customer's browser only.
///     #[field(required)]
///     pub session_token: SessionToken,
///     /// When it ends.
///     #[field(always)]
///     pub expires_at: Option<Moment>,
/// }
/// ```
///
/// expands to
///
/// ```text
/// #[schema]
/// #[derive(Clone, Debug, Deserialize, Serialize)]     // reading is lenient; writing redacts: "session_token":"***"
/// #[non_exhaustive]
/// #[schemars(extend("x-guichet-documented" = ["session_token", "expires_at"]))]
/// pub struct CreatedSession {
///     pub session_token: SessionToken,
///     #[serde(default, deserialize_with = "lenient")]
///     #[schemars(with = "Moment")]
///     pub expires_at: Option<Moment>,
/// }
///
/// // With the feature `service`:
///
/// pub struct CreatedSessionParts {                   // the same fields, of which a service builds one
///     pub session_token: SessionToken,
///     pub expires_at: Option<Moment>,
/// }
///
/// impl From<CreatedSessionParts> for CreatedSession { … }
///
/// impl Reveal for CreatedSession {                   // the service's writer, which nothing outside of the crate can name
///     fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         let mut fields = serializer.serialize_struct("CreatedSession", 2)?;
///         fields.serialize_field("session_token", &Revealed(&self.session_token))?;
///         fields.serialize_field("expires_at", &Revealed(&self.expires_at))?;
///         fields.end()
///     }
/// }
/// ```
///
/// If a field that is not `required` is absent or cannot be read, it has its default, and the reply is still read.
///
/// | of a field, in `#[field(…)]` | |
/// |---|---|
/// | `required` | without it, the reply cannot be read |
/// | `absent = true` | the value if it is absent; a value of another type makes the reply unreadable |
/// | `always` | an `Option` that the sandbox always writes: its schema is that of the type inside |
/// | `like = Currency` | its JSON schema is that of another type |
/// | `number` | an `Amount` that is written as a JSON number, not as a string |
/// | `omitted` | an `Option` that is not written if it is `None` |
/// | `read = path` | the function that reads it |
/// | `name = "type"` | its name in JSON |
/// | `undocumented` | the interface document does not show the field |
/// | `min = 1`, `max = 10` | the limits of a whole number |
/// | `schema("pattern" = "^a")` | more keywords of its JSON schema |
#[proc_macro_attribute]
pub fn resource(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as resource::Arguments);
    let item = parse_macro_input!(item as syn::DeriveInput);
    resource::expand(&arguments, item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Derives the JSON schema of a type, for the feature `service` alone, as `#[operation]` and `#[resource]` do. The
/// `#[schemars(…)]` of the type, its variants and its fields count for that feature.
#[proc_macro_attribute]
pub fn schema(_: TokenStream, item: TokenStream) -> TokenStream {
    schema::expand(parse_macro_input!(item as syn::DeriveInput)).into()
}
