//! A table: rows in the order of their creation, found by id, and by a name that is unique within their merchant.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The keys by which a table indexes a row.
pub(super) struct RowKeys<'a> {
    /// Unique in the table.
    pub(super) id: &'a str,
    pub(super) merchant: &'a str,
    /// Unique within the merchant, for example a plan's code.
    pub(super) name: Option<&'a str>,
}

pub(super) trait Row {
    /// Its keys. They must not change while the row exists.
    fn keys(&self) -> RowKeys<'_>;
}

/// Rows by their sequence numbers. The unordered maps are only used to look up a single key.
#[derive(Debug)]
pub(super) struct Table<T> {
    rows: BTreeMap<i64, Box<T>>,
    by_id: HashMap<String, i64>,
    merchants: HashMap<String, Numbers>,
    last: i64,
}

/// The sequence numbers of one merchant's rows.
#[derive(Debug, Default)]
struct Numbers {
    all: BTreeSet<i64>,
    by_name: HashMap<String, i64>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), by_id: HashMap::new(), merchants: HashMap::new(), last: 0 }
    }
}

impl<T: Row> Table<T> {
    /// Adds a row and returns its sequence number. `None` if its id or its name is taken.
    pub(super) fn add(&mut self, row: T) -> Option<i64> {
        let RowKeys { id, merchant, name } = row.keys();
        if self.by_id.contains_key(id) || name.is_some_and(|name| self.named(merchant, name).is_some()) {
            return None;
        }
        self.last += 1;
        let numbers = self.merchants.entry(merchant.to_owned()).or_default();
        numbers.all.insert(self.last);
        if let Some(name) = name {
            numbers.by_name.insert(name.to_owned(), self.last);
        }
        self.by_id.insert(id.to_owned(), self.last);
        self.rows.insert(self.last, Box::new(row));
        Some(self.last)
    }

    /// The row of this id.
    pub(super) fn get(&self, id: &str) -> Option<&T> {
        self.numbered(*self.by_id.get(id)?)
    }

    /// The row of this id, to change what is not its key.
    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.rows.get_mut(self.by_id.get(id)?).map(Box::as_mut)
    }

    /// The row of this id, if it is the merchant's.
    pub(super) fn get_of(&self, merchant: &str, id: &str) -> Option<&T> {
        self.get(id).filter(|row| row.keys().merchant == merchant)
    }

    /// A merchant's row of this name.
    pub(super) fn named(&self, merchant: &str, name: &str) -> Option<&T> {
        self.numbered(*self.merchants.get(merchant)?.by_name.get(name)?)
    }

    /// The row of this sequence number.
    pub(super) fn numbered(&self, number: i64) -> Option<&T> {
        self.rows.get(&number).map(Box::as_ref)
    }

    /// The sequence number of a merchant's row.
    pub(super) fn number(&self, merchant: &str, id: &str) -> Option<i64> {
        let number = *self.by_id.get(id)?;
        self.merchants.get(merchant)?.all.contains(&number).then_some(number)
    }

    /// A merchant's rows before this sequence number, newest first.
    pub(super) fn newest_before<'a>(&'a self, merchant: &str, number: i64) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let numbers = self.merchants.get(merchant).map(|numbers| numbers.all.range(..number).rev());
        numbers.into_iter().flatten().filter_map(|number| self.numbered(*number))
    }

    /// Removes all rows of a merchant.
    pub(super) fn remove_all_of(&mut self, merchant: &str) {
        for number in self.merchants.remove(merchant).unwrap_or_default().all {
            if let Some(row) = self.rows.remove(&number) {
                self.by_id.remove(row.keys().id);
            }
        }
    }
}
