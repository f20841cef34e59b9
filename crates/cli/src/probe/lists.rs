//! Decisions 5 and 8: the pages of a list, and eSIM.

use super::prober::Prober;
use guichet::operations::{CreateEsimOrder, ListCustomers, ListEsimPackages, ListPaymentIntents, ReadEsimOrder};
use guichet::protocol::{Method, Operation};
use guichet::values::{EsimOrderId, EsimPackageId, EsimQuantity, IdempotencyKey, IntentId, Invalid, PageLimit};

pub(super) async fn rows(probe: &mut Prober) {
    let customers = probe.send(ListCustomers::new()).await;
    let entries = customers.data().as_array().cloned().unwrap_or_default();
    let made = entries.iter().any(|customer| customer["email"] == "probe@example.com");
    probe.row("3", "creating an intent creates its customer", made, &customers);
    for result in [pages(probe).await, esim(probe).await] {
        if let Err(invalid) = result {
            tracing::warn!(%invalid, "a reply lacks a field that the next request needs");
            probe.row("5", "entries of a list have ids", false, &Default::default());
        }
    }
}

async fn pages(probe: &mut Prober) -> Result<(), Invalid> {
    let one = ListPaymentIntents::new().limit(PageLimit::new(1)?);
    let first = probe.send(one.clone()).await;
    let entries = first.data().as_array().map_or(0, Vec::len);
    probe.row("assumed", "list_payment_intents; a limit of 1 is one entry", first.is_success() && entries == 1, &first);
    let pagination = &first.body["pagination"];
    let cursor = pagination["next_cursor"].as_str().unwrap_or_default().to_owned();
    let complete = pagination["has_more"] == true && pagination["limit"] == 1 && !cursor.is_empty();
    probe.row("5", "pagination has has_more, next_cursor and limit", complete, &first);
    probe.row("5", "the Link header has the next page", first.header("link").contains("rel=\"next\""), &first);
    let too_many = probe.send_to(Method::Get, format!("{}?limit=101", ListPaymentIntents::SPEC.path)).await;
    probe.row("5", "a limit of 101: 422", too_many.status == 422, &too_many);
    let second = probe.send(one.starting_after(IntentId::new(cursor)?)).await;
    let moved = second.data()[0]["id"].is_string() && second.data()[0]["id"] != first.data()[0]["id"];
    probe.row("5", "starting_after returns the next page", second.is_success() && moved, &second);
    Ok(())
}

async fn esim(probe: &mut Prober) -> Result<(), Invalid> {
    let packages = probe.send(ListEsimPackages::new()).await;
    let package = packages.data()[0].clone();
    let fields = ["id", "name", "data_mb", "validity_days", "amount", "currency", "supported_countries", "active"];
    let whole = fields.iter().all(|name| package.get(*name).is_some());
    probe.row("8", "an eSIM package has its data, validity and price", packages.is_success() && whole, &packages);
    let id = package["id"].as_str().unwrap_or_default().to_owned();
    let six = format!(r#"{{"package_id":"{id}","quantity":6}}"#);
    let six = probe.send_body::<CreateEsimOrder>(six, &[]).await;
    probe.row("8", "six eSIMs in one order, which the document forbids: 422", six.status == 422, &six);
    let unknown = probe.send(CreateEsimOrder::new(EsimPackageId::new("esp_guichet_probe_nobody")?)).await;
    probe.refused("8", "an unknown package: 404 resource_missing", "404 resource_missing", &unknown);

    let create = CreateEsimOrder::new(EsimPackageId::new(id)?).idempotency_key(IdempotencyKey::new(probe.run.clone())?);
    let order = probe.send(create.clone().quantity(EsimQuantity::new(2)?)).await;
    let again = probe.send(create.clone().quantity(EsimQuantity::new(2)?)).await;
    let other = probe.send(create).await;
    let doubled = package["amount"].as_f64().zip(order.data()["amount"].as_f64());
    let doubled = order.is_success() && doubled.is_some_and(|(one, two)| (2.0 * one - two).abs() < 0.005);
    probe.row("8", "the amount of an order is the package's amount times the quantity", doubled, &order);
    let same = again.is_success() && again.text("order_id") == order.text("order_id");
    probe.row("2", "the same Idempotency-Key is the same order", same, &again);
    probe.refused("2", "… and refuses another body: 422", "422 idempotency_key_reused", &other);
    let read = probe.send(ReadEsimOrder::new(EsimOrderId::new(order.text("order_id"))?)).await;
    let is_pending = read.has_status("pending_payment");
    probe.row("assumed", "read_esim_order; a new order is pending_payment", is_pending, &read);
    Ok(())
}
