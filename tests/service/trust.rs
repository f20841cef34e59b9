//! Generates the index of tests, `docs/trust.md`, from `docs/rules.toml` and the OpenAPI description: every rule and field of the
//! interface, its source, and the tests that prove it. Also generates `docs/openapi.json`, the description as a file, and,
//! from the declarations, the table of `docs/operations.md` and their names in the sandbox's types.

use crate::support::generated::is_up_to_date;
use crate::support::openapi::resolve;
use crate::support::root;
use guichet::operations::*;
use guichet::protocol::{Operation, Role, Served, Source};
use guichet_sandbox::openapi;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[test]
fn the_table_of_trust_is_up_to_date() {
    is_up_to_date("docs/trust.md", &table(&rules(), &openapi()));
}

#[test]
fn the_openapi_file_is_up_to_date() {
    let mut described = openapi();
    // The sandbox serves it relative to its own address; a file has none.
    described["servers"] =
        json!([{ "url": "http://127.0.0.1:4243", "description": "The sandbox, as `guichet sandbox` listens" }]);
    let text = serde_json::to_string_pretty(&described).unwrap() + "\n";
    is_up_to_date("docs/openapi.json", &text);
}

/// Columns that the declaration does not define (a note on the role, the client's method, the page's method) are kept.
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
fn row<O: Served>(table: &str) -> String {
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
    format!("{start} `{verb} {path}` | {role} | {source} | `{}` | {method} | {} |", O::COMMAND, cell(7))
}

#[test]
fn every_test_that_the_table_names_exists() {
    let there = functions();
    let named = rules().part.into_iter().flat_map(|part| part.rules).flat_map(|(_, _, tests)| tests);
    let missing: Vec<String> =
        named.chain(FIELD_TESTS.map(str::to_owned)).filter(|name| !there.contains(name)).collect();
    assert_eq!(missing, Vec::<String>::new(), "docs/rules.toml names tests that do not exist");
}

#[test]
fn every_rule_is_from_the_document_or_from_a_decision() {
    for (source, rule, _) in rules().part.iter().flat_map(|part| &part.rules) {
        let section = source.strip_prefix("decision ").and_then(|section| section.parse::<u8>().ok());
        let known = source == "documented" || section.is_some_and(|section| (1..=16).contains(&section));
        assert!(known, "{rule} is from {source}");
    }
}

/// The tests that prove every field: of requests as written, of requests as read, and of responses.
const FIELD_TESTS: [&str; 5] = [
    "every_operation_is_written_as_documented",
    "required_fields_of_the_description_are_those_of_the_reader",
    "every_described_field_is_read",
    "every_response_is_checked_against_its_description",
    "generated_requests_get_only_described_responses",
];

#[derive(Deserialize)]
struct Rules {
    part: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    /// A rule: its source, its text, its tests.
    rules: Vec<(String, String, Vec<String>)>,
}

fn rules() -> Rules {
    toml::from_str(&std::fs::read_to_string(root().join("docs/rules.toml")).unwrap()).unwrap()
}

fn table(rules: &Rules, described: &Value) -> String {
    let all: Vec<_> = rules.part.iter().flat_map(|part| &part.rules).collect();
    let documented = all.iter().filter(|(source, ..)| source == "documented").count();
    let proven = all.iter().filter(|(_, _, tests)| !tests.is_empty()).count();
    let mut text = format!(
        "<!-- Generated by `cargo xtask generate` from rules.toml and the OpenAPI description. -->\n\n\
         # The index of tests\n\n\
         The rules of the interface: those that its document shows (`documented`), and those that the sandbox has decided \
         where the document shows nothing (`decision`, with the section of [decisions.md](decisions.md)). A real service may have \
         decided otherwise. Each rule has the tests that prove it.\n\n\
         {} rules: {documented} documented, {} decided; {proven} proven, {} not proven.\n\n# Rules\n",
        all.len(),
        all.len() - documented,
        all.len() - proven,
    );
    for part in &rules.part {
        let _ = writeln!(text, "\n## {}\n\n| rule | from | proven by |\n|---|---|---|", part.name);
        for (source, rule, tests) in &part.rules {
            let tests: Vec<String> = tests.iter().map(|test| format!("`{test}`")).collect();
            let tests = if tests.is_empty() { "**not proven**".to_owned() } else { tests.join(" ") };
            let _ = writeln!(text, "| {} | {source} | {tests} |", cell(rule));
        }
    }
    let tests = FIELD_TESTS.map(|test| format!("`{test}`")).join(", ");
    let _ = writeln!(text, "\n# What each operation takes and answers\n\nProven for every field: {tests}.");
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let (name, method) = (operation["operationId"].as_str().unwrap(), method.to_uppercase());
            let _ = writeln!(
                text,
                "\n## `{method} {path}`\n\n{} `{name}`, role {}, {}. Answers {}.",
                operation["summary"].as_str().unwrap(),
                operation["x-guichet-role"].as_str().unwrap(),
                operation["x-guichet-source"].as_str().unwrap(),
                answers(operation, described),
            );
            let parameters = operation["parameters"].as_array().unwrap();
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            if parameters.is_empty() && body.is_null() {
                continue;
            }
            text += "\n| field | in | | what is taken | from |\n|---|---|---|---|---|\n";
            for one in parameters {
                let (place, need) = (one["in"].as_str().unwrap(), need(one["required"] == true));
                let source = one["x-guichet-source"].as_str().unwrap();
                let name = one["name"].as_str().unwrap();
                let _ = writeln!(text, "| `{name}` | {place} | {need} | {} | {source} |", shape(&one["schema"]));
            }
            fields(&mut text, body, "", &|name, field, required| {
                let source = field["x-guichet-source"].as_str().unwrap();
                format!("| `{name}` | body | {} | {} | {source} |", need(required), shape(field))
            });
        }
    }
    text += "\n# Resources\n";
    for (name, schema) in described["components"]["schemas"].as_object().unwrap() {
        // Every `…Response` is the envelope, which is a rule of its own.
        if schema["properties"].is_null() || name.ends_with("Response") {
            continue;
        }
        let _ = writeln!(text, "\n## {name}\n\n| field | what is answered | from |\n|---|---|---|");
        fields(&mut text, schema, "", &|name, field, _| {
            format!("| `{name}` | {} | {} |", shape(field), field["x-guichet-source"].as_str().unwrap())
        });
    }
    text
}

/// The statuses of an operation, and its error codes.
fn answers(operation: &Value, described: &Value) -> String {
    let answers = operation["responses"].as_object().unwrap().iter().map(|(status, answer)| {
        let answer = resolve(answer, described);
        let codes =
            &answer["content"]["application/json"]["schema"]["properties"]["error"]["properties"]["code"]["enum"];
        let codes: Vec<&str> = codes.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if codes.is_empty() { status.clone() } else { format!("{status} ({})", codes.join(", ")) }
    });
    answers.collect::<Vec<_>>().join(" · ")
}

/// A row for each field of an object, and for those inside it.
fn fields(text: &mut String, schema: &Value, under: &str, row: &dyn Fn(&str, &Value, bool) -> String) {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let full = format!("{under}{name}");
        if !field["x-guichet-source"].is_null() {
            let _ = writeln!(text, "{}", row(&full, field, required.contains(&name.as_str())));
        }
        fields(text, field, &format!("{full}."), row);
        fields(text, &field["items"], &format!("{full}[]."), row);
        for one in ["anyOf", "oneOf"].iter().flat_map(|key| field[key].as_array().into_iter().flatten()) {
            fields(text, one, &format!("{full}."), row);
        }
    }
}

fn need(required: bool) -> &'static str {
    if required { "required" } else { "optional" }
}

/// A schema in a few words.
fn shape(schema: &Value) -> String {
    let mut words = Vec::new();
    match &schema["type"] {
        Value::String(kind) => words.push(kind.clone()),
        Value::Array(kinds) => words.push(kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")),
        _ => {}
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        words.push(name.to_owned());
    }
    for one in ["anyOf", "oneOf"] {
        let several: Vec<String> = schema[one].as_array().into_iter().flatten().map(shape).collect();
        if !several.is_empty() {
            words.push(several.join(" or "));
        }
    }
    if !schema["items"].is_null() {
        words.push(format!("of {}", shape(&schema["items"])));
    }
    let list = |words: &Value| {
        words.as_array().map(|words| words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
    };
    words.extend(list(&schema["enum"]).map(|words| format!("one of {words}")));
    let named = [
        ("const", "always"),
        ("pattern", "like"),
        ("minimum", "from"),
        ("maximum", "to"),
        ("maxLength", "at most"),
        ("default", "default"),
    ];
    for (key, word) in named {
        match &schema[key] {
            Value::Null => {}
            // A pattern is too long for the table. The description has it.
            Value::String(text) if text.starts_with("[^") => words.push("that is not blank".to_owned()),
            Value::String(text) if text.len() > 80 => words.push("of a shape of its own".to_owned()),
            Value::String(text) => words.push(format!("{word} `{text}`")),
            other => words.push(format!("{word} {other}")),
        }
    }
    cell(&words.join(" "))
}

/// Escapes a text for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The names of all functions of the sources and the tests.
fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = ["src", "crates", "examples/shop", "tests"].map(|folder| root().join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let after_fn = text.split("fn ").skip(1);
                names.extend(
                    after_fn.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()),
                );
            }
        }
    }
    names
}
