//! eSIM packages, and the orders that payments fulfil.

use super::examples::{Examples, page, valid};
use super::idempotency::idempotent_request;
use super::{Described, Done, Handle, MAX_ROUNDS, Merchant, Outcomes, Service};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::replies;
use crate::rules::{EsimOrder, Fulfilment, Intent};
use crate::store::Write;
use crate::tokens;
use crate::unavailable::Unavailable;
use guichet::operations::{CreateEsimOrder, ListEsimPackages, ReadEsimOrder};
use guichet::protocol::ErrorCode;
use guichet::values::{EsimOrderId, IdempotencyKey, PageLimit};
use std::collections::HashMap;

impl Handle<ListEsimPackages> for Service {
    async fn handle(&self, _: Caller, operation: ListEsimPackages) -> Result<Done, Problem> {
        let packages = self.esim_packages.all();
        let begin = match &operation.starting_after {
            None => 0,
            Some(id) => {
                let position = packages.iter().position(|package| package.id == *id);
                position.ok_or_else(|| Problem::missing("eSIM package to start after"))? + 1
            }
        };
        let limit = operation.limit.unwrap_or_default();
        let packages = packages[begin..].iter().take(usize::from(limit.entries()) + 1).collect();
        Ok(Done::list(packages, limit, |package| package.id.to_string(), replies::esim_package))
    }
}

impl Described for ListEsimPackages {
    fn example(examples: &Examples) -> (Self, Done) {
        let packages: Vec<_> = examples.packages.all().iter().map(replies::esim_package).collect();
        (ListEsimPackages::new().limit(PageLimit::default()), page(&packages))
    }
}

impl Handle<CreateEsimOrder> for Service {
    async fn handle(&self, caller: Caller, operation: CreateEsimOrder) -> Result<Done, Problem> {
        let merchant = caller.merchant()?;
        let request = idempotent_request(merchant, &operation, operation.idempotency_key.as_ref())?;
        let create = |request| async {
            let order = self.new_esim_order(merchant, &operation)?;
            let id = order.id.clone();
            Ok(self.store.add_esim_order(order, request).await?.then_some(id))
        };
        let (id, before) = self.create_once(request, create).await?;
        let order = self.esim_order_of(merchant, &id).await?;
        Ok(Done::created_or_replayed(replies::esim_order(&order, &self.instance_key), before))
    }
}

impl Described for CreateEsimOrder {
    const OUTCOMES: Outcomes = Outcomes::CREATED_ONCE.or(&[
        ErrorCode::ResourceMissing,
        ErrorCode::QuantityOutOfRange,
        ErrorCode::IdempotencyKeyReused,
    ]);

    fn example(examples: &Examples) -> (Self, Done) {
        let order = examples.esim_order();
        let key = valid(IdempotencyKey::new("basket-17"));
        let request = CreateEsimOrder::new(order.package.clone()).idempotency_key(key);
        (request, Done::created(replies::esim_order(&order, &examples.key)))
    }
}

impl Handle<ReadEsimOrder> for Service {
    async fn handle(&self, caller: Caller, operation: ReadEsimOrder) -> Result<Done, Problem> {
        let order = self.esim_order_of(caller.merchant()?, &operation.id).await?;
        Ok(Done::ok(replies::esim_order(&order, &self.instance_key)))
    }
}

impl Described for ReadEsimOrder {
    fn example(examples: &Examples) -> (Self, Done) {
        let paid = Fulfilment { paid_by: examples.intent_id(), at: examples.now };
        let order = EsimOrder { fulfilment: Some(paid), ..examples.esim_order() };
        let request = ReadEsimOrder::new(order.id.clone());
        (request, Done::ok(replies::esim_order(&order, &examples.key)))
    }
}

impl Service {
    fn new_esim_order(&self, merchant: &Merchant, operation: &CreateEsimOrder) -> Result<EsimOrder, Problem> {
        let package = self.esim_packages.by_id(&operation.package_id);
        let package = package.ok_or_else(|| Problem::missing("eSIM package"))?;
        if !package.active {
            let message = "This eSIM package is no longer sold. List the packages, and take one that is active.";
            return Err(Problem::field("package_id", ErrorCode::ParameterInvalid, message));
        }
        let quantity = operation.quantity.number();
        Ok(EsimOrder {
            id: EsimOrderId::new(tokens::id("eso_")).map_err(|error| Problem::internal(&error))?,
            merchant: merchant.id().to_owned(),
            package: package.id.clone(),
            quantity,
            amount: package.amount.saturating_mul(quantity.into()),
            currency: package.currency.clone(),
            created_at: merchant.now(),
            fulfilment: None,
        })
    }

    /// The current state of a merchant's newest orders, newest first.
    pub(super) async fn esim_orders(&self, merchant: &Merchant, limit: i64) -> Result<Vec<EsimOrder>, Unavailable> {
        for _ in 0..MAX_ROUNDS {
            // Read before the orders: if another request fulfils an order between the two reads, this one sees it as
            // fulfilled.
            let now = merchant.now();
            let mut paying: HashMap<String, Vec<Intent>> = HashMap::new();
            let intents = self.store.intents_of_open_esim_orders(merchant.id(), limit).await?;
            for intent in self.current_intents(intents, now).await? {
                if let Some(order) = intent.terms.esim_order() {
                    paying.entry(order).or_default().push(intent);
                }
            }
            let orders = self.store.esim_orders(merchant.id(), limit).await?;
            let open = orders.iter().filter(|order| order.fulfilment.is_none());
            let paid = open.filter_map(|order| {
                let fulfilment = order.fulfilled_by(paying.get(order.id.as_str())?)?;
                Some((order.id.clone(), fulfilment))
            });
            let paid: Vec<_> = paid.collect();
            if paid.is_empty() {
                return Ok(orders);
            }
            self.store.write(Write::Fulfil(paid)).await?;
        }
        Err(Unavailable::contended())
    }

    /// The current state of a merchant's order.
    async fn esim_order_of(&self, merchant: &Merchant, id: &EsimOrderId) -> Result<EsimOrder, Problem> {
        let order = self.store.esim_order(merchant.id(), id).await?;
        Ok(self.fulfilled(merchant, order.ok_or_else(|| Problem::missing("eSIM order"))?).await?)
    }

    /// The current state of an order. If it was paid meanwhile, the payment that fulfils it is stored before the state
    /// is returned, so that a second payment never changes it.
    async fn fulfilled(&self, merchant: &Merchant, mut order: EsimOrder) -> Result<EsimOrder, Unavailable> {
        for _ in 0..MAX_ROUNDS {
            if order.fulfilment.is_some() {
                return Ok(order);
            }
            let intents = self.store.intents_of_esim_order(merchant.id(), &order.id).await?;
            let intents = self.current_intents(intents, merchant.now()).await?;
            let Some(fulfilment) = order.fulfilled_by(&intents) else { return Ok(order) };
            // If another request has stored a fulfilment first, that one is kept. So the order is read again in both
            // cases.
            self.store.write(Write::Fulfil(vec![(order.id.clone(), fulfilment)])).await?;
            match self.store.esim_order(merchant.id(), &order.id).await? {
                Some(read) => order = read,
                // A reset has deleted it meanwhile.
                None => return Ok(order),
            }
        }
        Err(Unavailable::contended())
    }
}
