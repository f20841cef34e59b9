//! Free ports for programs that need a port as an argument.

use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range of ephemeral ports (Linux: 32768 and above), so that no other test takes the port between this call
/// and the program's start.
const FIRST: u16 = 15_000;
const COUNT: u16 = 16_000;

/// A port that is free and that this process has not returned before.
pub fn free() -> u16 {
    static NEXT: LazyLock<AtomicU16> = LazyLock::new(|| {
        // Test binaries that run side by side begin at different ports.
        AtomicU16::new((std::process::id().wrapping_mul(211) % u32::from(COUNT)) as u16)
    });
    loop {
        let port = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
