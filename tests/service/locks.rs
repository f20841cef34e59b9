//! One of the locks on the secret key: the package that pages load does not contain the paths of merchant-only
//! operations.
//!
//! The other two locks are compile-time: no credential of the browser fulfils `Merchant` (a `compile_fail` doctest of
//! `protocol::Fulfils`), and the feature `native` and the sandbox's `serve` refuse wasm32.

use guichet::operations::*;
use guichet::protocol::{Operation, Role};
use std::path::{Path, PathBuf};

#[test]
fn no_merchant_only_path_is_in_the_wasm_that_pages_load() {
    for file in ["guichet_core_bg.wasm", "guichet_hosted_bg.wasm"] {
        let wasm = std::fs::read(package().join("core").join(file)).unwrap();
        for path in merchant_only_paths() {
            assert!(!holds(&wasm, path), "{file} holds {path}, which only a merchant's server may send");
        }
    }
}

/// Positive control: the scan finds the paths that the browser sends.
#[test]
fn the_scan_finds_the_paths_that_the_browser_sends() {
    let wasm = std::fs::read(package().join("core/guichet_core_bg.wasm")).unwrap();
    for path in [ValidateSession::SPEC.path, RevokeSession::SPEC.path, ListPaymentMethods::SPEC.path] {
        assert!(holds(&wasm, path), "the wasm does not hold {path}");
    }
    let hosted = std::fs::read(package().join("core/guichet_hosted_bg.wasm")).unwrap();
    for path in [AttachPaymentMethod::SPEC.path, AnswerPaymentIntent::SPEC.path, ListPaymentMethods::SPEC.path] {
        assert!(holds(&hosted, path), "the hosted page's wasm does not hold {path}");
    }
    assert!(!holds(&wasm, AttachPaymentMethod::SPEC.path), "a shop's page loads the operation that charges");
}

#[test]
fn no_module_of_the_package_names_a_merchant_only_path() {
    let mut modules = Vec::new();
    collect(&package(), &mut modules);
    assert!(modules.len() >= 8, "the package is incomplete: {modules:?}");
    for module in modules {
        let text = std::fs::read(&module).unwrap();
        for path in merchant_only_paths() {
            assert!(!holds(&text, path), "{} names {path}", module.display());
        }
    }
}

/// The paths of merchant-only operations, except for those that begin the path of an operation that a page may call.
fn merchant_only_paths() -> Vec<&'static str> {
    let mut merchants = Vec::new();
    let mut pages = Vec::new();
    macro_rules! sort {
        ($($operation:ident)*) => {$(
            let path = <$operation as Operation>::SPEC.path;
            if <$operation as Operation>::Role::NAME == "merchant" { merchants.push(path) } else { pages.push(path) }
        )*};
    }
    guichet::every_operation!(sort);
    merchants.retain(|path| !pages.iter().any(|page| page.starts_with(path)));
    // No page calls a path below these, even if a customer may.
    merchants.extend(["/v1/customers", "/v1/esim/orders", "/v1/subscriptions"]);
    assert!(merchants.contains(&CreateSession::SPEC.path));
    merchants
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

fn package() -> PathBuf {
    let folder = crate::support::root().join("target/npm/package");
    assert!(folder.is_dir(), "{} is missing. Run `cargo xtask pack --quick`.", folder.display());
    folder
}

fn collect(folder: &Path, modules: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, modules);
        } else if path.extension().is_some_and(|extension| extension == "js") {
            modules.push(path);
        }
    }
}
