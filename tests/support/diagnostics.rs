//! Output that explains a failed test. libtest prints it if the test fails and hides it otherwise.

use super::service::Tenant;
use std::cell::RefCell;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, Weak};
use std::time::Duration;

thread_local! {
    static TENANTS: RefCell<Vec<Weak<Tenant>>> = const { RefCell::new(Vec::new()) };
}

/// If this test panics, prints the requests that the sandbox received for this merchant. Also adds the sandbox's log to
/// the test's output.
pub fn print_requests_on_panic(tenant: &Arc<Tenant>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            default(info);
            print_requests();
        }));
        let log = tracing_subscriber::fmt().with_test_writer().with_ansi(false).with_max_level(tracing::Level::INFO);
        let _ = log.try_init();
    });
    TENANTS.with_borrow_mut(|tenants| tenants.push(Arc::downgrade(tenant)));
}

fn print_requests() {
    const SHOWN: usize = 100;
    let tenants = TENANTS.try_with(|tenants| tenants.borrow().clone()).unwrap_or_default();
    for tenant in tenants.iter().filter_map(Weak::upgrade) {
        let (printed, url) = (tenant.clone(), tenant.base_url().to_owned());
        // A panic may come within a runtime, which cannot wait in this thread.
        let requests = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            let listed = async { tokio::time::timeout(Duration::from_secs(5), printed.listed_requests()).await };
            runtime.block_on(listed).ok()?.ok()
        });
        let Ok(Some(requests)) = requests.join() else { continue };
        eprintln!("\nrequests to {}, the last {SHOWN} of {}:", url, requests.len());
        for request in requests.iter().skip(requests.len().saturating_sub(SHOWN)) {
            let status = request.status.map_or_else(|| "no response".to_owned(), |status| status.to_string());
            let fault = request.fault.as_ref().map(|fault| format!(", fault {fault}")).unwrap_or_default();
            eprintln!("  {} {} {status}, {}{fault}", request.method, request.path, request.credential);
        }
    }
}

/// The path of a file in `target/tmp/failed/` that is named after the current test.
pub fn file(extension: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failed");
    let _ = std::fs::create_dir_all(&folder);
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("test").replace("::", "-");
    folder.join(format!("{name}.{extension}"))
}

/// Reproducible random numbers: the seed is printed, and `GUICHET_SEED` sets it.
pub struct SeededRandom(u64);

impl SeededRandom {
    pub fn new() -> Self {
        let from_env = std::env::var("GUICHET_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = from_env.unwrap_or_else(|| RandomState::new().hash_one(0_u8));
        println!("random numbers: GUICHET_SEED={seed} repeats them");
        Self(seed)
    }

    /// The random number with this index.
    pub fn number(&self, index: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0, index).hash(&mut hasher);
        hasher.finish()
    }
}
