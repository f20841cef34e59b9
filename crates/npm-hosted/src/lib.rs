//! The module of the hosted checkout page: what `guichet` exports with its feature `js-hosted`. It is a crate of its
//! own, because both modules of the package would be the same file otherwise, and in one profile they share what is
//! built below them.
#![cfg(target_arch = "wasm32")]

use guichet as _;
