use super::written;
use crate::sandbox::rules::{EsimOrder, EsimPackage};
use crate::sandbox::tokens::InstanceKey;
use serde::Serialize;

/// One package of the list.
pub(in crate::sandbox) fn esim_package(package: &EsimPackage) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        id: &'a str,
        name: &'a str,
        data_mb: Option<u64>,
        unlimited: bool,
        validity_days: u32,
        amount: u64,
        currency: &'a str,
        supported_countries: &'a [String],
        network: &'a str,
        active: bool,
    }
    written(&Reply {
        id: package.id.as_str(),
        name: &package.name,
        data_mb: package.data_mb,
        unlimited: package.data_mb.is_none(),
        validity_days: package.validity_days,
        amount: package.amount,
        currency: package.currency.as_str(),
        supported_countries: &package.supported_countries,
        network: &package.network,
        active: package.active,
    })
}

/// An order, with its eSIMs once it is paid.
pub(in crate::sandbox) fn esim_order(order: &EsimOrder, key: &InstanceKey) -> String {
    #[derive(Serialize)]
    struct Reply<'a> {
        order_id: &'a str,
        amount: u64,
        currency: &'a str,

        object: &'static str,
        status: &'static str,
        package_id: &'a str,
        quantity: u8,
        esims: Vec<Esim>,
        payment_intent: Option<&'a str>,
        created_at: i64,
        fulfilled_at: Option<i64>,
    }
    #[derive(Serialize)]
    struct Esim {
        iccid: String,
        activation_code: String,
    }
    let esim = |number| {
        let (iccid, activation_code) = key.esim(&order.id, number);
        Esim { iccid, activation_code: activation_code.expose().to_owned() }
    };
    let fulfilment = order.fulfilment.as_ref();
    written(&Reply {
        order_id: order.id.as_str(),
        amount: order.amount,
        currency: order.currency.as_str(),
        object: "esim_order",
        status: if fulfilment.is_some() { "fulfilled" } else { "pending_payment" },
        package_id: order.package.as_str(),
        quantity: order.quantity,
        esims: if fulfilment.is_some() { (1..=order.quantity).map(esim).collect() } else { Vec::new() },
        payment_intent: fulfilment.map(|fulfilment| fulfilment.paid_by.as_str()),
        created_at: order.created_at.unix(),
        fulfilled_at: fulfilment.map(|fulfilment| fulfilment.at.unix()),
    })
}
