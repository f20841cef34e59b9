//! The documents: every link leads somewhere, pages stay short, and the lists of pages follow from the pages' own first
//! lines.

mod json;

use crate::check::anchor;
use crate::support::generated::is_up_to_date;
use crate::support::root;
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

/// The pages of each kind of reader, in the order in which the lists have them.
const PAGES: [(&str, &[&str]); 6] = [
    (
        "A page",
        &[
            "page.md",
            "react.md",
            "vue.md",
            "svelte.md",
            "angular.md",
            "rust-page.md",
            "frames.md",
            "loading.md",
            "errors.md",
        ],
    ),
    (
        "A server",
        &[
            "any-language.md",
            "shop.md",
            "rust.md",
            "without-script.md",
            "two-origins.md",
            "several-servers.md",
            "containers.md",
        ],
    ),
    ("Tests", &["testing.md", "sandbox.md", "check-a-shop.md", "check.md", "check-rules.md"]),
    (
        "In use",
        &[
            "payment-company.md",
            "going-live.md",
            "running.md",
            "troubleshooting.md",
            "faq.md",
            "versions.md",
            "releasing.md",
        ],
    ),
    ("The interface", &["operations.md", "command.md", "hosted.md", "decisions.md"]),
    ("En français", &["shop.fr.md", "going-live.fr.md", "errors.fr.md"]),
];

/// The pages that stand beside what they are about.
const ELSEWHERE: [&str; 9] = [
    "examples/express/README.md",
    "examples/php/README.md",
    "examples/django/README.md",
    "examples/react/README.md",
    "examples/next/README.md",
    "examples/rust-page/README.md",
    "pkg-template/README.md",
    "pkg-template/sandbox/README.md",
    "pkg-template/server/README.md",
];

/// Pages that are written from the code, or that are long because they are a reference.
const LONG: [&str; 7] = [
    "CHANGELOG.md",
    "docs/check-rules.md",
    "docs/decisions.md",
    "docs/errors.md",
    "docs/index.md",
    "docs/operations.md",
    "llms.txt",
];

/// An address of the repository, as documents that are read elsewhere name it.
const REPOSITORY: &str = "https://github.com/guichet-pay/guichet/";

#[test]
fn every_link_of_a_document_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        for target in links(&text) {
            let at_repository = target.strip_prefix(REPOSITORY).and_then(|rest| rest.split_once("/main/"));
            let target = match at_repository {
                Some((_, path)) => path.to_owned(),
                None if target.contains("://") || target.starts_with("mailto:") => continue,
                // A package's README is read where the repository's files are not.
                None if document.starts_with("pkg-template/") && !target.starts_with('#') => {
                    broken.push(format!("{document}: {target} is relative"));
                    continue;
                }
                None if target.starts_with('#') => format!("{document}{target}"),
                None => Path::new(&document).with_file_name("").join(&target).display().to_string(),
            };
            if !leads_somewhere(&target) {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// No event tells that a customer has stopped a redirect, so a button that waits for one stays grey for ever.
#[test]
fn no_example_disables_the_button_of_a_checkout_under_way() {
    let code = tracked(&["*.md", "*.ts", "*.tsx", "*.jsx", "*.vue", "*.svelte", "*.html"]);
    let stuck = code
        .iter()
        .filter(|path| read(path).lines().any(|line| line.contains("disabled") && line.contains("isPending")));
    assert_eq!(stuck.collect::<Vec<_>>(), [""; 0]);
}

/// A page that grows is split, or says less.
#[test]
fn documents_are_short() {
    let mut whole = 0;
    let mut long = Vec::new();
    for document in documents() {
        let lines = read(&document).lines().count();
        let limit = match &*document {
            "README.md" | "README.fr.md" => 180,
            path if path.starts_with("pkg-template/") => 120,
            path if LONG.contains(&path) => usize::MAX,
            _ => 250,
        };
        if lines > limit {
            long.push(format!("{document}: {lines} of {limit} lines"));
        }
        // What is written by hand, in English.
        if !document.ends_with(".fr.md") && (!LONG.contains(&&*document) || document == "docs/decisions.md") {
            whole += lines;
        }
    }
    assert!(long.is_empty() && whole <= 4_090, "{whole} of 4090 lines; {long:?}");
}

/// What a list says of a page is the first sentence of the page.
#[test]
fn the_lists_of_pages_are_up_to_date() {
    let mut index =
        "# All pages\n\nGenerated by `cargo xtask generate` from the first lines of the pages.\n".to_owned();
    let mut listed = HashSet::from(["index.md".to_owned()]);
    let mut docs = String::new();
    for (readers, pages) in PAGES {
        index += &format!("\n## {readers}\n\n");
        for page in pages {
            let (title, sentence) = first_lines(&read(&format!("docs/{page}")));
            index += &format!("- [{title}]({page}): {sentence}\n");
            docs += &format!("- [{title}]({REPOSITORY}blob/main/docs/{page}): {sentence}\n");
            listed.insert((*page).to_owned());
        }
    }
    index += "\n## Beside what they are about\n\n";
    for page in ELSEWHERE {
        let (title, sentence) = first_lines(&read(page));
        index += &format!("- [{title}](../{page}): {sentence}\n");
        docs += &format!("- [{title}]({REPOSITORY}blob/main/{page}): {sentence}\n");
    }
    let written = documents().into_iter().filter_map(|path| path.strip_prefix("docs/").map(str::to_owned));
    let unlisted: Vec<String> = written.filter(|page| !listed.contains(page)).collect();
    assert_eq!(unlisted, [""; 0], "`PAGES` does not list these");
    is_up_to_date("docs/index.md", &index);
    let llms = read("llms.txt");
    let (steps, _) = llms.split_once("\n## Docs\n").expect("llms.txt has the section");
    is_up_to_date("llms.txt", &format!("{steps}\n## Docs\n\n{docs}"));
}

/// A command of a document runs the program that the repository builds, with options that it has.
#[test]
fn commands_of_documents_have_options_that_exist() {
    let mut unknown = Vec::new();
    let mut count = 0;
    for document in documents().into_iter().filter(|document| document != "CHANGELOG.md") {
        let text = read(&document).replace("\\\n", " ");
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        for command in blocks.flat_map(str::lines).filter_map(|line| line.split("  #").next()) {
            let Some(arguments) = arguments(command) else { continue };
            let named = arguments.iter().take_while(|word| !word.starts_with('-'));
            let help = Command::new(env!("CARGO_BIN_EXE_guichet")).args(named).arg("--help").output().expect("it runs");
            let help = String::from_utf8(help.stdout).expect("help in UTF-8");
            count += 1;
            let options = arguments.iter().filter(|word| word.starts_with("--"));
            // After the name is a value, an optional value or the line's end.
            let is_missing =
                |option: &&&str| [" ", "[", "\n"].iter().all(|end| !help.contains(&format!("{option}{end}")));
            unknown.extend(options.filter(is_missing).map(|option| format!("{document}: {option} of {command}")));
        }
    }
    assert!(unknown.is_empty() && count > 10, "{count} commands, {unknown:#?}");
}

/// The arguments of `guichet` in a command. `guichet-sandbox` of npm has the same, but for its demo.
fn arguments(command: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = command.split_whitespace().map(|word| word.trim_matches('\'')).collect();
    let is_program = |word: &&str| *word == "guichet" || word.contains("guichet-sandbox");
    let program = words.iter().position(|word| is_program(word) && !words.contains(&"install"))?;
    let arguments = words.into_iter().skip(program + 1).take_while(|word| !["&", "&&", ";", "|"].contains(word));
    let arguments: Vec<&str> = arguments.collect();
    let is_sandbox = command.contains("guichet-sandbox") && arguments.first().is_none_or(|word| word.starts_with('-'));
    let is_demo = arguments.first() == Some(&"demo");
    (!is_demo).then(|| if is_sandbox { [&["sandbox"][..], &arguments].concat() } else { arguments })
}

/// The Markdown files of the repository, by their paths.
fn documents() -> Vec<String> {
    tracked(&["*.md", "llms.txt"])
}

/// The files of the repository with these names.
fn tracked(names: &[&str]) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .args(names)
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let paths = String::from_utf8(listed.stdout).expect("names in UTF-8");
    paths.split_terminator('\0').filter(|path| root().join(path).exists()).map(str::to_owned).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines of a document that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A document without its code.
fn without_code(text: &str) -> String {
    let prose = prose(text).collect::<Vec<_>>().join("\n");
    // Every second part between backticks is code.
    prose.split('`').step_by(2).collect()
}

/// The targets of a document's links.
fn links(text: &str) -> Vec<String> {
    let prose = without_code(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let pictures = prose.split("<img src=\"").skip(1).filter_map(|rest| rest.split('"').next());
    targets.chain(pictures).map(str::to_owned).collect()
}

/// Whether a path of the repository exists, with the heading that its fragment names.
fn leads_somewhere(target: &str) -> bool {
    let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
    let path = root().join(path);
    if fragment.is_empty() || path.is_dir() {
        return path.exists();
    }
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    prose(&text).any(|line| line.starts_with('#') && anchor(line) == fragment)
}

/// The title of a page, and the first sentence after it, without links.
fn first_lines(text: &str) -> (String, String) {
    let mut parts = text.split("\n\n").skip_while(|part| !part.starts_with("# "));
    let title = parts.next().expect("a page has a title").trim_start_matches("# ").to_owned();
    let paragraph = parts.next().expect("a page says what it is").replace('\n', " ");
    let plain: String = paragraph.split('[').map(without_target).collect();
    let sentence = plain.split_once(". ").map_or(&*plain, |(sentence, _)| sentence);
    (title, format!("{}.", sentence.trim_end_matches('.')))
}

/// `text](target) and more` without the target.
fn without_target(part: &str) -> String {
    match part.split_once("](") {
        Some((text, rest)) => [text, rest.split_once(')').map_or("", |(_, rest)| rest)].concat(),
        None => part.to_owned(),
    }
}

#[test]
fn a_link_is_found_and_code_is_not() {
    let text = "See [a](b.md#c) and\n[d](../e).\n```md\n[no](f)\n```\n`[no](g)` [h](#i)";
    assert_eq!(links(text), ["b.md#c", "../e", "#i"]);
    assert!(leads_somewhere("docs/shop.md#the-three-routes") && !leads_somewhere("docs/shop.md#nowhere"));
    assert!(!leads_somewhere("docs/nowhere.md"));
}
