//! What the routes ask of a ledger.

use super::{Ledger, Store, new_nonce, rules};
use crate::native::{Buyer, Purchase, Refused, Shop, Transport};
use crate::operations::CreatePaymentIntent;
use crate::shop::ledger::{Click, Done, Event, Read};
use crate::shop::marked;
use serde_json::{Map, Value};

impl<T: Store> Ledger<T> {
    /// Decides a click of a customer, and carries it out.
    pub(in crate::native) async fn click(
        &self,
        shop: &impl Shop,
        buyer: Buyer,
        purchase: Purchase,
    ) -> Result<Done, Refused> {
        let shared = self.shared.store.shared().await.map_err(Refused::broken)?;
        let nonce_of_click = new_nonce().map_err(Refused::broken)?;
        let quote = match purchase {
            Purchase::Quoted { payable, .. } => Some(payable),
            _ => None,
        };
        let (name, purchase) = match purchase {
            Purchase::Costs(purchase) | Purchase::Quoted { purchase, .. } => {
                let name = purchase.merchant_reference.to_string();
                // What is stored has no nonce; with it the address must not become too long.
                marked((*purchase).clone(), &nonce_of_click).map_err(Refused::broken)?;
                (name, rules::Purchase::Costs(members(&purchase)?))
            }
            Purchase::OrderEnded(name) => (name.to_string(), rules::Purchase::OrderEnded),
        };
        let mark = self.mark(&shared, &buyer.owner, &name);
        let owner = buyer.owner.clone();
        let click = Click { owner: buyer.owner, visit: buyer.visit, purchase, nonce: nonce_of_click, mark, quote };
        self.rules(&self.receiver(shop)).handle(&name, &owner, Event::Click(click)).await.map_err(Refused::broken)
    }

    /// Reads the payment of this buyer that a page names, and brings the shop what its order has become.
    pub(in crate::native) async fn read(
        &self,
        shop: &impl Shop,
        buyer: &Buyer,
        names: &[String],
    ) -> Result<Option<Read>, Refused> {
        self.rules(&self.receiver(shop)).read_named(buyer, names).await.map_err(Refused::broken)
    }

    /// An address that was stored; none if its key is another.
    pub(in crate::native) fn open(&self, sealed: &str) -> Option<String> {
        self.shared.requests.sealer.open(sealed)
    }
}

/// The members of a creation, but for the reference.
fn members(purchase: &CreatePaymentIntent) -> Result<Value, Refused> {
    let body = Transport::request(purchase)?.body.unwrap_or_default();
    let mut members: Map<String, Value> = serde_json::from_str(&body).map_err(Refused::broken)?;
    members.remove("merchant_reference");
    Ok(Value::Object(members))
}
