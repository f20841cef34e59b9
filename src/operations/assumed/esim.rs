//! How an eSIM order is read.

use crate::operations::EsimOrder;
use crate::protocol::{Fields, Merchant, Operation, Served, Spec};
use crate::values::EsimOrderId;
use serde::Serialize;

/// `GET /v1/esim/orders/{id}`: how an eSIM order stands, and its eSIMs once it is paid.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "sandbox", derive(schemars::JsonSchema))]
pub struct ReadEsimOrder {
    /// The order.
    pub id: EsimOrderId,
}

impl ReadEsimOrder {
    /// Of this order.
    #[must_use]
    pub fn new(id: EsimOrderId) -> Self {
        Self { id }
    }
}

impl Operation for ReadEsimOrder {
    type Role = Merchant;
    type Output = EsimOrder;
    const SPEC: Spec = Spec::get("read_esim_order", "/v1/esim/orders/{id}").assumed();
}

impl Served for ReadEsimOrder {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self::new(fields.required("id")?))
    }
}
