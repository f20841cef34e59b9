//! The calls of the control API, each declared once: from here come the routes, the readers of the bodies, the OpenAPI
//! description and the specifications that the commands send.

use crate::faults::LONGEST_DELAY;
use crate::rules::{HandsetDecision, Operator, OperatorStatus};
use guichet::protocol::{ErrorCode, Spec};
use guichet::values::NOT_BLANK;
use serde_json::{Value, json};

/// The most characters of a merchant's name.
pub const LONGEST_NAME: usize = 100;

/// The most seconds by which one call moves a clock: a hundred years.
const MAX_ADVANCE: u32 = 100 * 366 * 86_400;

/// The declaration of a call.
pub(crate) struct Declared {
    /// Its method and its path. Its errors at the terminal begin with the name of its command.
    pub(crate) spec: Spec,
    /// Its name in the OpenAPI description.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    /// Whether it is about one merchant, whom the body or the query may name.
    pub(crate) has_merchant: bool,
    /// The schemas of its body's fields, without `merchant`. They limit what the reader takes.
    pub(crate) fields: fn() -> Value,
    pub(crate) required: &'static [&'static str],
    /// An example of its body.
    pub(crate) example: fn() -> Value,
    /// The name of the schema of its reply.
    pub(crate) reply: &'static str,
    /// An example of its reply.
    pub(crate) replied: fn() -> Value,
    /// The error codes of its own rules.
    pub(crate) codes: &'static [ErrorCode],
}

impl Declared {
    /// A call about one merchant, without fields and without errors of its own.
    const fn new(spec: Spec, name: &'static str, summary: &'static str, reply: &'static str) -> Self {
        Self {
            spec,
            name,
            summary,
            description: "",
            has_merchant: true,
            fields: || json!({}),
            required: &[],
            example: || json!({}),
            reply,
            replied: || json!({}),
            codes: &[],
        }
    }
}

/// An example of a payment.
const PURCHASE: &str = r#"{
    "id": "pi_1aPzGzHvBpDlS6aVKdzUwW", "merchant_reference": "ORDER-17", "payment_ref": "gch_6h6rAoXcBZyqAo9gZTkBzi",
    "amount": "5000", "currency": "XAF", "customer": "Awa Ngono", "email": "awa@example.com", "phone": null,
    "status": "succeeded", "attempts": 1, "declined": null,
    "duplicates": 0, "operator": "mtn_cm", "created_at": 1795257000, "differs": true, "due": null,
    "reported": { "at": 1795257000, "operation": "create_payment_intent", "status": "requires_action", "duplicates": 0 }
}"#;

fn purchase() -> Value {
    serde_json::from_str(PURCHASE).unwrap_or_default()
}

/// Declares the calls: of each its summary, its name, its method and path, the schema of its reply, its command, and
/// what else it has.
macro_rules! calls {
    ($(
        #[doc = $summary:literal]
        $call:ident: $name:literal $method:ident $path:literal -> $reply:literal, command $command:literal { $($member:ident: $value:expr,)* }
    )*) => {
        /// A call of the control API.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[non_exhaustive]
        pub enum Call {
            $(#[doc = $summary] $call,)*
        }

        impl Call {
            /// Every call. The methods of a path are in the order in which `Allow` lists them.
            pub(crate) const ALL: &[Self] = &[$(Self::$call),*];

            pub(crate) const fn declared(self) -> &'static Declared {
                match self {
                    $(Self::$call => const {
                        &Declared { $($member: $value,)* ..Declared::new(Spec::$method($command, $path), $name, $summary, $reply) }
                    },)*
                }
            }

            /// Its method and its path, under the name of the command that sends it.
            #[must_use]
            pub const fn spec(self) -> &'static Spec {
                &self.declared().spec
            }
        }
    };
}

calls! {
    /// Creates a merchant.
    CreateMerchant: "create_merchant" post "/sandbox/merchants" -> "NewMerchant", command "merchants" {
        description: "Each test gets its own: a key, a clock, faults, customers and payments. The secret key is shown this once.",
        has_merchant: false,
        fields: || json!({ "name": {
            "type": ["string", "null"], "pattern": NOT_BLANK, "maxLength": LONGEST_NAME, "default": "Sandbox shop",
            "description": "Its name, which the hosted checkout page shows.",
        } }),
        example: || json!({ "name": "Boutique Awa" }),
        replied: || json!({ "merchant": "mch_1b0JtiwGBMbGCuuaxI9fAT", "secret_key": "sk_test_0000000000000000000000000000000000000000000" }),
    }
    /// Reads a merchant's clock.
    ReadClock: "read_clock" get "/sandbox/clock" -> "MerchantClock", command "clock" {
        replied: || json!({ "now": 1_795_257_000 }),
    }
    /// Moves a merchant's clock forward.
    AdvanceClock: "advance_clock" post "/sandbox/clock" -> "MerchantClock", command "clock" {
        description: "Work that becomes due, such as the charge of a subscription, is done before the response, each at its own time.",
        fields: || json!({ "advance_seconds": {
            "type": "integer", "minimum": 0, "maximum": MAX_ADVANCE, "description": "How far. The clock never goes back.",
        } }),
        required: &["advance_seconds"],
        example: || json!({ "advance_seconds": 2_678_400 }),
        replied: || json!({ "now": 1_797_935_400 }),
        codes: &[ErrorCode::ParameterInvalid],
    }
    /// Lists the faults that wait for a call.
    ListFaults: "list_faults" get "/sandbox/faults" -> "WaitingFaults", command "faults" {
        replied: || json!({ "faults": [{ "operation": "create_payment_intent", "kind": "lost_response", "count": 2 }] }),
    }
    /// Makes the next calls of an operation fail.
    AddFault: "add_fault" post "/sandbox/faults" -> "WaitingFaults", command "faults" {
        description: "`delay`, `lost_response`, `malformed` and `truncate` execute the call, but the response is late, lost or broken. \
                      `drop` and `status` do not execute it. The reply lists all waiting faults.",
        fields: || json!({
            "operation": { "$ref": "#/components/schemas/OperationName" },
            "kind": { "$ref": "#/components/schemas/FaultKind" },
            "count": {
                "type": ["integer", "null"], "minimum": 1, "maximum": 10_000, "default": 1, "description": "The number of calls.",
            },
            "milliseconds": {
                "type": ["integer", "null"], "minimum": 0, "maximum": LONGEST_DELAY,
                "description": "Required for `delay`: its length.",
            },
            "status": {
                "type": ["integer", "null"], "minimum": 400, "maximum": 599,
                "description": "For `status`: the HTTP status; 503 if it is omitted.",
            },
            "retry_after": {
                "type": ["integer", "null"], "minimum": 0, "maximum": 86_400,
                "description": "For `status`: the header `Retry-After`, in seconds.",
            },
        }),
        required: &["operation", "kind"],
        example: || json!({ "operation": "create_payment_intent", "kind": "lost_response", "count": 2 }),
        replied: || json!({ "faults": [{ "operation": "create_payment_intent", "kind": "lost_response", "count": 2 }] }),
        codes: &[ErrorCode::ParameterInvalid, ErrorCode::ParameterMissing, ErrorCode::TooManyFaults],
    }
    /// Removes a merchant's waiting faults.
    ClearFaults: "clear_faults" delete "/sandbox/faults" -> "WaitingFaults", command "faults" {
        replied: || json!({ "faults": [] }),
    }
    /// Changes how a mobile money operator works for a merchant.
    SetOperator: "set_operator" post "/sandbox/operators" -> "Operators", command "operators" {
        description: "While it is `delayed`, every attempt ends 60 seconds later. While it is `closed`, a payment by it is refused with \
                      422 `payment_method_unavailable`. The reply lists all operators.",
        fields: || json!({
            "code": { "type": "string", "enum": Operator::codes(), "description": "The operator." },
            "status": {
                "type": "string", "enum": OperatorStatus::ALL.map(OperatorStatus::as_str), "description": "How it works from now on.",
            },
        }),
        required: &["code", "status"],
        example: || json!({ "code": "mtn_cm", "status": "delayed" }),
        replied: || json!({ "operators": [
            { "code": "mtn_cm", "name": "MTN Mobile Money", "status": "delayed" },
            { "code": "orange_cm", "name": "Orange Money", "status": "operational" },
        ] }),
        codes: &[ErrorCode::ParameterInvalid, ErrorCode::ParameterMissing],
    }
    /// Lists the newest 1,000 requests of a merchant and its customers, oldest first.
    ListRequests: "list_requests" get "/sandbox/requests" -> "ReceivedRequests", command "requests" {
        description: "No credential, query or card is kept, and of a body its reference alone. The first merchant's list also has the requests without a known merchant.",
        replied: || json!({ "requests": [{
            "at": 1_795_257_000, "operation": "create_payment_intent", "method": "POST", "path": "/v1/payment-intents", "intent": null,
            "credential": "secret_key", "request_id": "req_6h6rAoXcBZyqAo9gZTkBzi", "status": 201, "fault": null,
            "error": null, "reference": "ORDER-17"
        }] }),
    }
    /// Lists the newest events of a merchant's payments, subscriptions and eSIM orders, in order.
    ListEvents: "list_events" get "/sandbox/events" -> "SandboxEvents", command "events" {
        replied: || json!({ "events": [{
            "id": "evt_1aPzGzHvBpDlS6aVKdzUwW_0", "type": "payment_intent.created", "created_at": 1_795_257_000,
            "data": { "id": "pi_1aPzGzHvBpDlS6aVKdzUwW", "merchant_reference": "ORDER-17" }
        }] }),
    }
    /// Lists the payments of a merchant, newest first, each with what was last reported to its shop.
    ListPurchases: "list_purchases" get "/sandbox/purchases" -> "Purchases", command "purchases" {
        description: "`differs` is true if the shop does not know the payment's status or all of its duplicate \
                      payments. Secrets are removed. What was reported to the shop is known of the newest 1,000 requests. Once `guichet \
                      shop` has delivered an event of the order, it is what the application has received.",
        fields: || json!({
            "search": {
                "type": ["string", "null"], "pattern": NOT_BLANK, "maxLength": 200,
                "description": "A part of a reference, an id, an e-mail, a name, or a phone: the customer's, or one that paid.",
            },
            "starting_after": {
                "type": ["string", "null"], "pattern": NOT_BLANK, "maxLength": 200,
                "description": "The `next_cursor` of the page before.",
            },
            "limit": {
                "type": ["integer", "null"], "minimum": 1, "maximum": 100, "default": 50,
                "description": "The most payments of a page.",
            },
        }),
        replied: || json!({
            "now": 1_795_257_000, "purchases": [purchase()], "next_cursor": null, "refused": [],
            "operators": [{ "code": "mtn_cm", "name": "MTN Mobile Money", "status": "operational" }],
        }),
        codes: &[ErrorCode::ParameterInvalid],
    }
    /// Reads a payment as one thread in time: what happened to the money, and what was reported to the shop.
    ReadThread: "read_thread" get "/sandbox/thread" -> "Thread", command "thread" {
        description: "`fields` is the body of the creation: each field is in the service's document, or our choice. \
                      Secrets are removed.",
        fields: || json!({
            "payment": {
                "type": ["string", "null"], "pattern": NOT_BLANK, "maxLength": 200, "default": "latest",
                "description": "The payment's reference or id, or `latest`: the newest one.",
            },
            "limit": {
                "type": ["integer", "null"], "minimum": 1, "maximum": 2_000, "default": 200,
                "description": "The most entries, of which the newest are read.",
            },
        }),
        replied: || json!({
            "now": 1_795_257_000, "purchase": purchase(), "handset": null, "earlier": 0,
            "fields": [{ "field": "amount", "value": "5000", "source": "documented" }],
            "entries": [{ "at": 1_795_257_000, "kind": "created", "status": "requires_action" }],
        }),
        codes: &[ErrorCode::ParameterInvalid],
    }
    /// Waits until something of a merchant has changed, at most 20 seconds.
    AwaitChanges: "await_changes" get "/sandbox/changes" -> "Changes", command "changes" {
        description: "What time alone changes is not counted: `due` of a payment says when it changes.",
        fields: || json!({ "after": {
            "type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX,
            "description": "The number that an earlier call has returned. Without it the call does not wait.",
        } }),
        replied: || json!({ "changes": 17 }),
        codes: &[ErrorCode::ParameterInvalid],
    }
    /// Decides a payment on the customer's phone, if it waits there.
    DecideOnHandset: "decide_on_handset" post "/sandbox/handset" -> "DecidedPurchase", command "handset" {
        description: "A phone that ends in 0000020 waits. `approve` pays, `refuse` declines, `ignore` lets the \
                      operator report a timeout, and `approve_late` lets it approve 60 seconds after that. After a timeout only \
                      `approve` is possible: a late approval.",
        fields: || json!({
            "payment": {
                "type": "string", "pattern": NOT_BLANK, "maxLength": 200,
                "description": "The payment's reference or id, or `latest`.",
            },
            "decision": {
                "type": "string", "enum": HandsetDecision::words(), "description": "What the phone decides.",
            },
            "attempt": {
                "type": ["integer", "null"], "minimum": 1, "maximum": 3,
                "description": "The number of the attempt; default: the newest that can be decided.",
            },
        }),
        required: &["payment", "decision"],
        example: || json!({ "payment": "ORDER-17", "decision": "approve" }),
        replied: || json!({ "purchase": purchase() }),
        codes: &[ErrorCode::ParameterInvalid, ErrorCode::ParameterMissing, ErrorCode::IntentNotConfirmable],
    }
    /// Makes an address of the inspector, which opens it once.
    OpenInspector: "open_inspector" post "/sandbox/inspector" -> "InspectorAddress", command "inspector" {
        has_merchant: false,
        replied: || json!({ "inspector_url": "http://127.0.0.1:4243/inspector#token=ins_1" }),
    }
    /// Deletes everything of a merchant but its name and its key.
    ResetMerchant: "reset_merchant" post "/sandbox/reset" -> "ResetMerchant", command "reset" {
        description: "Its clock then shows the service's time.",
        replied: || json!({ "merchant": "mch_1b0JtiwGBMbGCuuaxI9fAT", "now": 1_795_257_000 }),
    }
    /// Reads this description. It needs no token.
    ReadDescription: "read_description" get "/sandbox/openapi.json" -> "Description", command "openapi" {
        has_merchant: false,
        replied: || json!({ "openapi": "3.1.0" }),
    }
}
