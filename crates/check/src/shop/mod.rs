//! The shop that is checked: its customers, its answers, its payments and its books.

mod books;
mod browser;
mod checked_shop;
mod customer;
mod exchange;
mod payment;
mod ready;
mod sign_in;
mod steps;

pub(crate) use books::{Books, Expected, Kept, Settled, orders_missing};
pub(crate) use browser::RequestBuilder;
pub(crate) use checked_shop::CheckedShop;
pub(crate) use customer::Customer;
pub(crate) use exchange::Exchange;
pub(crate) use payment::Payment;
pub(crate) use sign_in::{NO_SESSION, email_in};
pub(crate) use steps::ToldPaid;
