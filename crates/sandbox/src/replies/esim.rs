use super::{Reply, written};
use crate::rules::{EsimOrder, EsimPackage};
use crate::tokens::InstanceKey;
use guichet::operations::{
    Esim, EsimOrder as EsimOrderReply, EsimOrderParts, EsimPackage as EsimPackageReply, EsimPackageParts, EsimParts,
};
use guichet::values::{Amount, EsimOrderStatus};

/// A package.
pub(crate) fn esim_package(package: &EsimPackage) -> Reply {
    let EsimPackage {
        id, name, data_mb, validity_days, amount, currency, supported_countries, network, active, ..
    } = package.clone();
    written(&EsimPackageReply::from(EsimPackageParts {
        id,
        name,
        data_mb,
        unlimited: data_mb.is_none(),
        validity_days: Some(validity_days),
        amount: Some(Amount::units(amount)),
        currency: Some(currency.to_string()),
        supported_countries,
        network: Some(network),
        active,
    }))
}

/// An order. If it is paid, with its eSIMs.
pub(crate) fn esim_order(order: &EsimOrder, key: &InstanceKey) -> Reply {
    let esim = |number| {
        let (iccid, activation_code) = key.esim(&order.id, number);
        Esim::from(EsimParts { iccid, activation_code })
    };
    let fulfilment = order.fulfilment.as_ref();
    written(&EsimOrderReply::from(EsimOrderParts {
        order_id: order.id.clone(),
        amount: Amount::units(order.amount),
        currency: order.currency.to_string(),
        object: Some("esim_order".to_owned()),
        status: Some(if fulfilment.is_some() { EsimOrderStatus::Fulfilled } else { EsimOrderStatus::PendingPayment }),
        package_id: Some(order.package.clone()),
        quantity: Some(order.quantity.into()),
        esims: if fulfilment.is_some() { (1..=order.quantity).map(esim).collect() } else { Vec::new() },
        payment_intent: fulfilment.map(|fulfilment| fulfilment.paid_by.clone()),
        created_at: Some(order.created_at.unix()),
        fulfilled_at: fulfilment.map(|fulfilment| fulfilment.at.unix()),
    }))
}
