//! Files that follow from the declarations of the operations: `docs/openapi.json`, the OpenAPI description as a file,
//! the table of `docs/operations.md`, and the operations' names in the sandbox's types.

use crate::support::generated::is_up_to_date;
use crate::support::root;
use guichet::operations::*;
use guichet::protocol::{Operation, Role, Source};
use guichet_sandbox::openapi;
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn the_openapi_file_is_up_to_date() {
    let mut described = openapi();
    // The sandbox serves it relative to its own address; a file has none.
    described["servers"] =
        json!([{ "url": "http://127.0.0.1:4243", "description": "The sandbox, as `guichet sandbox` listens" }]);
    let text = serde_json::to_string_pretty(&described).unwrap() + "\n";
    is_up_to_date("docs/openapi.json", &text);
}

/// Columns that the declaration does not define (a note on the role, the command, the client's method, the page's method)
/// are kept.
#[test]
fn the_table_of_operations_is_up_to_date() {
    const FILE: &str = "docs/operations.md";
    let page = std::fs::read_to_string(root().join(FILE)).unwrap();
    let (before, rest) = page.split_once("| operation | endpoint |").unwrap();
    let (table, after) = rest.split_once("\n\n").unwrap();
    let mut lines = table.lines();
    let mut current = format!("| operation | endpoint |{}\n{}", lines.next().unwrap(), lines.next().unwrap());
    macro_rules! rows {
        ($($operation:ident)*) => { $(current += &format!("\n{}", row::<$operation>(table));)* };
    }
    guichet::every_operation!(rows);
    is_up_to_date(FILE, &format!("{before}{current}\n\n{after}"));
}

#[test]
fn the_operations_of_the_sandboxs_types_are_up_to_date() {
    const FILE: &str = "pkg-template/sandbox/sandbox.d.ts";
    let types = std::fs::read_to_string(root().join(FILE)).unwrap();
    let (before, rest) = types.split_once("export type Operation =").unwrap();
    let (_, after) = rest.split_once(';').unwrap();
    macro_rules! names {
        ($($operation:ident)*) => { BTreeSet::from([$(<$operation as Operation>::SPEC.name),*]) };
    }
    let union: String = guichet::every_operation!(names).iter().map(|name| format!("\n  | \"{name}\"")).collect();
    is_up_to_date(FILE, &format!("{before}export type Operation ={union};{after}"));
}

/// The row of an operation in that table.
fn row<O: Operation>(table: &str) -> String {
    let spec = O::SPEC;
    let start = format!("| `{}` |", spec.name);
    let row = table.lines().find(|line| line.starts_with(&start)).unwrap_or_default();
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
    let role = match <O::Role as Role>::NAME {
        "merchant" => "secret key",
        "session" => "session token",
        "anyone" => "any",
        other => other,
    };
    let role = if cell(3).starts_with(role) { cell(3) } else { role };
    let source = if spec.source == Source::Documented { "yes" } else { "our choice" };
    let method = if cell(6).is_empty() { format!("`{}`", spec.name) } else { cell(6).to_owned() };
    let (verb, path) = (spec.method.as_str(), spec.path);
    format!("{start} `{verb} {path}` | {role} | {source} | {} | {method} | {} |", cell(5), cell(7))
}
