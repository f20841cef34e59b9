//! Every operation of the interface has a method of the client. `sandbox_every_operation` sends each over a socket.

use guichet::operations::*;
use guichet::protocol::Operation;

/// The documentation of a client's method begins with the HTTP method and the path of its operation.
#[test]
fn every_operation_has_a_method_of_the_client() {
    let native = crate::support::root().join("src/native");
    let files = std::fs::read_dir(native.join("calls")).expect("the folder exists");
    let files = files.map(|file| file.expect("a file").path()).chain([native.join("customer.rs")]);
    let calls: String = files.map(|file| std::fs::read_to_string(file).expect("it is text")).collect();
    macro_rules! check {
        ($($operation:ident)*) => {$(
            let spec = <$operation as Operation>::SPEC;
            let begin = format!("/// `{} {}`: ", spec.method.as_str(), spec.path);
            assert!(calls.contains(&begin), "{} has no method in src/native/calls/ that begins with {begin}", spec.name);
        )*};
    }
    guichet::every_operation!(check);
}
