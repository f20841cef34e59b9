//! Counts the open connections of each peer address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of open connections by peer address. Loopback is not counted: every program on this machine shares it.
#[derive(Debug)]
pub(super) struct PerAddress {
    limit: usize,
    open: Mutex<HashMap<IpAddr, Open>>,
}

#[derive(Debug, Default)]
struct Open {
    connections: usize,
    /// Whether a warning about this address was logged. One line per address is enough.
    reported: bool,
}

/// One counted connection. Dropping it decrements the count.
#[derive(Debug)]
pub(super) struct Slot {
    address: IpAddr,
    of: Arc<PerAddress>,
}

impl PerAddress {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, open: Mutex::default() })
    }

    /// Counts one more connection of this address.
    ///
    /// # Errors
    /// If the address has reached its limit.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Result<Option<Slot>, TooMany> {
        let address = address.to_canonical();
        if address.is_loopback() {
            return Ok(None);
        }
        let address = network(address);
        let mut open = self.lock();
        let entry = open.entry(address).or_default();
        if entry.connections >= self.limit {
            if !std::mem::replace(&mut entry.reported, true) {
                tracing::warn!(
                    %address,
                    limit = self.limit,
                    "closed a connection because its address has too many open; --connections-per-address sets the limit"
                );
            }
            return Err(TooMany);
        }
        entry.connections += 1;
        Ok(Some(Slot { address, of: Arc::clone(self) }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address has reached its limit of open connections.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct TooMany;

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.of.lock();
        if let Some(entry) = open.get_mut(&self.address) {
            entry.connections -= 1;
            if entry.connections == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// The network that counts as one client. An IPv6 host usually has a whole /64 network and may use any address in it.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_limit_of_one_address_does_not_affect_others() {
        let per_address = PerAddress::new(2);
        let first = per_address.take(address("192.0.2.1")).unwrap();
        let _second = per_address.take(address("192.0.2.1")).unwrap();
        assert_eq!(per_address.take(address("192.0.2.1")).unwrap_err(), TooMany);
        assert_eq!(per_address.take(address("::ffff:192.0.2.1")).unwrap_err(), TooMany, "the same host");
        assert!(per_address.take(address("192.0.2.2")).is_ok());
        drop(first);
        assert!(per_address.take(address("192.0.2.1")).is_ok());
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_count_together() {
        let per_address = PerAddress::new(1);
        let _slot = per_address.take(address("2001:db8::1")).unwrap();
        assert_eq!(per_address.take(address("2001:db8::2")).unwrap_err(), TooMany);
        assert!(per_address.take(address("2001:db8:0:1::1")).is_ok());
    }

    #[test]
    fn loopback_is_not_counted_and_a_closed_address_is_forgotten() {
        let per_address = PerAddress::new(1);
        for loopback in ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"] {
            assert!(matches!(per_address.take(address(loopback)), Ok(None)), "{loopback}");
        }
        drop(per_address.take(address("192.0.2.1")).unwrap());
        assert!(per_address.lock().is_empty());
    }
}
