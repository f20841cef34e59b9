//! The package in Chromium, Firefox and WebKit, against a sandbox with faults, over a network that can be disconnected.
//! One file per topic.

mod calls;
mod kept;
mod loading;
mod others;
mod policy;
mod sessions;
mod trust;
