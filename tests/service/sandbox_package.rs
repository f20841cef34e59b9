//! The hand-written half of the npm package `guichet-sandbox` names everything that the service has.

use guichet::operations::*;
use guichet::protocol::Operation;

#[test]
fn the_types_of_the_sandbox_name_every_operation_and_no_other() {
    macro_rules! names {
        ($($operation:ident)*) => { vec![$(<$operation as Operation>::SPEC.name),*] };
    }
    let mut names = guichet::every_operation!(names);
    names.sort_unstable();
    let file = crate::support::root().join("pkg-template/sandbox/sandbox.d.ts");
    let types = std::fs::read_to_string(file).unwrap();
    let (_, union) = types.split_once("export type Operation =").unwrap();
    let (union, _) = union.split_once(';').unwrap();
    let typed: Vec<&str> =
        union.split('|').map(|name| name.trim().trim_matches('"')).filter(|name| !name.is_empty()).collect();
    assert_eq!(typed, names);
}
