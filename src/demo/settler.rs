//! Reads unsettled payments from the service, without any page. A customer may pay and close the tab. An operator may approve an
//! attempt late, so the shop goes on reading a payment for a day after its final status.

use super::orders::Claimed;
use super::seller::Seller;
use crate::native::{AskAgain, Client, Refused, settle};
use futures_util::future::join_all;
use std::time::Duration;

/// Settles payments, round after round, for as long as the shop is open.
pub(super) async fn keep_settling(client: Client, seller: Seller, every: Duration) {
    loop {
        // A failure is logged as a `Refused`.
        if round(&client, &seller, every).await.unwrap_or(0) == 0 {
            tokio::time::sleep(every).await;
        }
    }
}

/// Reads the payments that are due, at most eight, all at the same time. Returns how many it has read.
async fn round(client: &Client, seller: &Seller, every: Duration) -> Result<usize, Refused> {
    let claimed = seller.orders.claim().await.map_err(Refused::broken)?;
    let reads = join_all(claimed.iter().map(|payment| read(client, seller, payment, every))).await;
    Ok(reads.into_iter().filter(Result::is_ok).count())
}

/// Reads a payment. If it cannot, the claim stays, and the payment is read again in a minute.
async fn read(client: &Client, seller: &Seller, payment: &Claimed, every: Duration) -> Result<(), Refused> {
    let ask_again = match settle(client, seller, &payment.sold).await {
        // The service has no such payment (a sandbox whose database was deleted), or another one under this reference. It
        // counts as final, so that reading it ends.
        Err(refused) if ["resource_missing", "payment_mismatch"].contains(&refused.code()) => {
            seller.orders.mark_final(&payment.sold).await.map_err(Refused::broken)?;
            AskAgain::ForADay
        }
        settled => settled?.ask_again,
    };
    seller.orders.release(payment, ask_again, every).await.map_err(Refused::broken)
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Language;
    use super::super::logins::Logins;
    use super::super::orders::{Orders, lines_of};
    use super::super::server::open;
    use super::*;
    use crate::native::{Buyer, SecretKey, Shop, Sold};
    use crate::operations::Instrument;
    use crate::sandbox::Sandbox;
    use crate::values::{Amount, Currency, Email, IntentId, MerchantReference, PaymentRef, Phone};
    use serde_json::json;

    #[tokio::test]
    async fn another_customers_payment_is_settled_within_two_rounds_beside_a_thousand_open_ones() {
        let sandbox = Sandbox::start().await.unwrap();
        let key = SecretKey::new(sandbox.secret_key().expose()).unwrap();
        let client = Client::builder(sandbox.base_url(), key).build().unwrap();
        let pool = open("memory:").await.unwrap();
        let seller = Seller { logins: Logins::new(pool.clone()), orders: Orders::new(pool.clone()) };
        let sold = |number: u32, customer: &str| Sold {
            payment_ref: PaymentRef::new(format!("gch_{number}")).unwrap(),
            intent: IntentId::new(format!("pi_{number}")).unwrap(),
            merchant_reference: MerchantReference::new(format!("ORDER-{number}")).unwrap(),
            amount: Amount::units(45_000),
            currency: Currency::xaf(),
            owner: Buyer::customer(customer).owner,
            email: Some(Email::new(format!("{customer}@example.com")).unwrap()),
        };
        let open_payments = async |numbers: std::ops::Range<u32>| {
            for number in numbers {
                seller.remember(&sold(number, "awa")).await.unwrap();
            }
        };
        sqlx::query(
            "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999) \
             INSERT INTO orders (id, customer, lines, return_url) SELECT n, 'awa', '[]', n FROM numbers",
        )
        .execute(&pool)
        .await
        .unwrap();
        open_payments(0..500).await;
        let lines = lines_of(&[("trainers".to_owned(), 1)].into(), Language::En).unwrap();
        let order = seller.orders.place("paul", &lines, "http://127.0.0.1:8000/return").await.unwrap();
        let paul = Buyer::customer("paul");
        let purchase = seller.purchase(&paul, json!({"id": order.id})).await.unwrap();
        let intent = client.create_payment_intent(&purchase).await.unwrap();
        let phone = Phone::new("237670000000").unwrap();
        client.attach_payment_method(&intent.id, Instrument::MobileMoney { phone }).await.unwrap();
        let of_paul = Sold {
            payment_ref: intent.payment_ref.unwrap(),
            intent: intent.id,
            merchant_reference: purchase.merchant_reference,
            ..sold(0, "paul")
        };
        seller.remember(&of_paul).await.unwrap();
        open_payments(500..1000).await;

        for _ in 0..2 {
            round(&client, &seller, Duration::from_secs(5)).await.unwrap();
        }
        let order = seller.orders.find(&order.id, "paul").await.unwrap().unwrap();
        assert_eq!(order.to_json()["status"], "paid");
        let next = MerchantReference::new("ORDER-1000").unwrap();
        let open = seller.open_payments(&Buyer::customer("awa").owner, &next).await.unwrap();
        assert_eq!(open, 985, "fifteen others were read, which the service does not have");
        sandbox.stop().await;
    }
}
