//! What a bookkeeper looks at, over every order of a ledger.

use super::order::Order;
use super::store::Store;

/// A store whose orders can be listed.
pub trait Books: Store {
    /// The next orders, at most a thousand, whose names come after this one, by name; an empty name begins with the first.
    fn orders_after(&self, name: &str) -> impl Future<Output = Result<Vec<Order>, Self::Error>> + Send;
}

/// Calls a function with every order, by name.
///
/// # Errors
/// Those of the store: also an order that cannot be read ends it.
pub async fn for_each_order<S: Books>(store: &S, mut call: impl FnMut(&Order)) -> Result<(), S::Error> {
    let mut name = String::new();
    loop {
        let some = store.orders_after(&name).await?;
        let Some(last) = some.last() else { return Ok(()) };
        name.clone_from(&last.name);
        some.iter().for_each(&mut call);
    }
}
