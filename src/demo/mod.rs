//! The shop of `guichet demo`, as a merchant might have written it: its own origin, its own database, the secret key on
//! its server, and [`native`](crate::native) for everything about paying.
//!
//! ```no_run
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! use guichet::demo::{Shop, ShopConfig};
//! let key = guichet::SecretKey::from_env("GUICHET_SECRET_KEY")?;
//! let shop = Shop::start(ShopConfig::new("http://127.0.0.1:4243", key)).await?;
//! println!("Open {}", shop.url());
//! shop.stop().await;
//! # Ok(()) }
//! ```

mod api;
mod catalogue;
mod guard;
mod logins;
mod orders;
mod pages;
mod seller;
mod server;
mod settler;
mod subscriptions;

pub use catalogue::SHOP_NAME;
pub use server::{Shop, ShopConfig, StartError};
