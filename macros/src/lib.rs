//! One declaration of an operation, or of a resource, and what it expands to.
//!
//! The macros are for the crate `guichet` alone: what they expand to names its modules.

mod field;
mod operation;
mod resource;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Declares an operation: `METHOD "path" -> Output`, then what else it says of itself.
///
/// ```text
/// /// `POST /v1/subscriptions/plans`: define what customers subscribe to.
/// #[operation(POST "/v1/subscriptions/plans" -> Plan, role = Merchant, command = "plans create")]
/// pub struct CreatePlan {
///     /// The name that customers see.
///     pub name: String,
///     /// The price of each period, in the smallest unit.
///     #[field(with = Price)]
///     pub amount: Amount,
///     /// In which currency.
///     #[field(default, check = supported)]
///     pub currency: Currency,
/// }
/// ```
///
/// expands to
///
/// ```text
/// #[derive(Clone, Debug, Serialize)]            // the client's writer: `protocol::assemble` walks the fields
/// #[non_exhaustive]
/// #[cfg_attr(feature = "sandbox", derive(JsonSchema))]
/// pub struct CreatePlan {
///     pub name: String,
///     #[serde(serialize_with = "Price::write")]
///     #[cfg_attr(feature = "sandbox", schemars(with = "Price"))]
///     pub amount: Amount,
///     #[cfg_attr(feature = "sandbox", schemars(default))]
///     pub currency: Currency,
/// }
///
/// impl CreatePlan {
///     pub fn new(name: impl Into<String>, amount: Amount) -> Self { … }        // what is required
///     pub fn currency(mut self, currency: Currency) -> Self { … }              // a setter for all else
/// }
///
/// impl Operation for CreatePlan {
///     type Role = Merchant;
///     type Output = Plan;
///     const SPEC: Spec = Spec::post("create_plan", "/v1/subscriptions/plans");
/// }
///
/// impl Served for CreatePlan {                  // the service's reader, and the name of the command
///     const COMMAND: &'static str = "plans create";
///     fn read(fields: &mut Fields) -> Option<Self> {
///         let name = fields.required::<String>("name");
///         let amount = fields.required::<Price>("amount").map(Into::into);
///         let currency = fields.or::<Currency>("currency", Default::default());
///         if let Some(currency) = &currency { supported(fields, "currency", currency); }
///         Some(Self { name: name?, amount: amount?, currency: currency? })     // all errors, then none or all
///     }
/// }
///
/// const _: () = { … is_listed::<CreatePlan>() };  // it is named in `every_operation!`
/// ```
///
/// The name is the type's, in snake case. A field travels in the path if the path names it, in the query of a `GET`, in
/// the body of everything else.
///
/// | of the operation | |
/// |---|---|
/// | `role = Merchant` | who may send it: a type of `protocol::role` |
/// | `command = "plans create"` | its group and verb at the terminal |
/// | `columns = ["id", "name"]` | what the terminal shows of each entry of a list |
/// | `envelope = Session` | the envelope of its reply, if not `Standard` |
/// | `assumed` | the document does not show it |
/// | `repeatable` | a `POST` or `PUT` that does no harm when it is sent again |
/// | `new(code, Name { first, last })` | `new`'s arguments, if not the fields in their order; some may be named fields of a struct |
/// | `at_least_one(email, phone, "An e-mail or a phone is required.")` | one of these fields has to be given |
///
/// A field of type `Option<_>` may be absent; one with `default` is sent with its default; all others are required. `new`
/// takes no two texts in a row, since a caller would swap them: put them into a struct that borrows them.
///
/// | of a field, in `#[field(…)]` | |
/// |---|---|
/// | `default`, `default = 3` | what it is where nothing is said; of an `Option`, what the service takes it for |
/// | `min = 1`, `max = 10` | the limits of a whole number |
/// | `with = Price` | the type that reads, writes and describes it, where its own does not |
/// | `check = supported` | a rule of the service's: `fn(&mut Fields, param: &str, &T)` |
/// | `into` | `new` takes whatever becomes it |
/// | `idempotency_key` | it is the header of this name, and makes the operation repeatable |
/// | `secret` | `Debug` does not show it, and no command line takes it |
/// | `undocumented` | the document shows the operation without it |
/// | `schema("pattern" = "^a")` | what else its JSON schema says |
#[proc_macro_attribute]
pub fn operation(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as operation::Arguments);
    let item = parse_macro_input!(item as syn::DeriveInput);
    operation::expand(arguments, item).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Declares a resource: what a service answers with. `#[resource(undocumented)]`: the document shows none of its fields.
///
/// ```text
/// /// A session that was made.
/// #[resource]
/// pub struct CustomerSession {
///     /// Give it to the customer's browser, and to nobody else.
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
/// #[derive(Clone, Debug, Deserialize, Serialize)]     // reading is lenient; writing redacts: "session_token":"***"
/// #[non_exhaustive]
/// #[cfg_attr(feature = "sandbox", derive(JsonSchema), schemars(extend("x-guichet-documented" = ["session_token", "expires_at"])))]
/// pub struct CustomerSession {
///     pub session_token: SessionToken,
///     #[serde(default, deserialize_with = "lenient")]
///     #[cfg_attr(feature = "sandbox", schemars(with = "Moment"))]
///     pub expires_at: Option<Moment>,
/// }
///
/// #[cfg(feature = "sandbox")]
/// impl Reveal for CustomerSession {                   // the service's writer, which nothing outside of the crate can name
///     fn reveal<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         let mut fields = serializer.serialize_struct("CustomerSession", 2)?;
///         fields.serialize_field("session_token", &Revealed(&self.session_token))?;
///         fields.serialize_field("expires_at", &Revealed(&self.expires_at))?;
///         fields.end()
///     }
/// }
/// ```
///
/// A reply in which any other field that is not `required` is absent or odd is read all the same: the field has its
/// default then.
///
/// | of a field, in `#[field(…)]` | |
/// |---|---|
/// | `required` | a reply that lacks it cannot be read |
/// | `absent = true` | what it is where a reply lacks it; an odd value makes the reply unreadable |
/// | `always` | an `Option` that the sandbox always writes: its schema is that of the type inside |
/// | `like = Currency` | its schema is that of another type |
/// | `omitted` | an `Option` that is not written where there is none |
/// | `read = path` | the function that reads it |
/// | `name = "type"` | its name on the wire |
/// | `undocumented` | the document shows the resource without it |
/// | `min = 1`, `max = 10` | the limits of a whole number |
/// | `schema("pattern" = "^a")` | what else its JSON schema says |
#[proc_macro_attribute]
pub fn resource(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as resource::Arguments);
    let item = parse_macro_input!(item as syn::DeriveInput);
    resource::expand(&arguments, item).unwrap_or_else(syn::Error::into_compile_error).into()
}
