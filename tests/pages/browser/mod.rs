//! What the browser's half promises its customers and its developers, looked at from outside: in Chromium, in Firefox and in
//! WebKit, against a real sandbox with its faults, over a network that can be cut. One file a theme.

mod calls;
mod kept;
mod loading;
mod network;
mod policy;
mod sessions;
mod trust;
