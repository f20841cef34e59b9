//! French texts have a no-break space before `: ; ! ?` and inside quotation marks, so that no line begins with a colon.

use crate::documents::words;
use std::fs;
use std::path::PathBuf;

const NO_BREAK: [char; 2] = ['\u{a0}', '\u{202f}'];

/// The places in a French text where a no-break space is missing.
fn mistakes(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: Option<usize>| index.and_then(|index| chars.get(index)).copied();
    let is_wrong = |index: usize| match chars[index] {
        ':' | ';' | '!' | '?' | '»' => !at(index.checked_sub(1)).is_some_and(|before| NO_BREAK.contains(&before)),
        '«' => !at(Some(index + 1)).is_some_and(|after| NO_BREAK.contains(&after)),
        _ => false,
    };
    (0..chars.len()).filter(|index| is_wrong(*index)).map(|index| format!("{:?} in {text:?}", chars[index])).collect()
}

#[test]
fn french_texts_have_a_no_break_space_before_punctuation() {
    for (file, begin, end) in [("words/fr.json", "{", "\n}"), ("www/shop/texts.js", "\n  fr: {", "\n  },")] {
        let text = read(file);
        let (_, french) = text.split_once(begin).unwrap_or_else(|| panic!("{file} has no {begin:?}"));
        let (french, _) = french.split_once(end).unwrap();
        // Every second part between quotation marks is a string, because no string here contains one.
        let sentences: Vec<&str> = french.split('"').skip(1).step_by(2).collect();
        assert!(sentences.len() >= 8, "{file}: {} sentences", sentences.len());
        let wrong: Vec<String> = sentences.into_iter().flat_map(mistakes).collect();
        assert!(wrong.is_empty(), "{file}: {wrong:#?}");
    }
}

#[test]
fn french_documents_have_a_no_break_space_before_punctuation() {
    for document in ["README.fr.md", "docs/shop.fr.md", "docs/going-live.fr.md"] {
        let wrong = mistakes(&words(&read(document)));
        assert!(wrong.is_empty(), "{document}: {wrong:#?}");
    }
}

#[test]
fn french_in_the_pages_has_a_no_break_space_before_punctuation() {
    let mut found = 0;
    for page in files("html") {
        let text = fs::read_to_string(&page).unwrap().replace("&nbsp;", "\u{a0}");
        // In two languages: "English · Français", or an element of its own.
        let after_dot = text.split(" · ").skip(1).filter_map(|rest| rest.split(['<', '"']).next());
        let of_its_own = text.split("lang=\"fr\"").skip(1).filter_map(|rest| rest.split(['>', '<']).nth(1));
        for french in after_dot.chain(of_its_own).filter(|french| !french.trim().is_empty()) {
            found += 1;
            assert!(mistakes(french).is_empty(), "{}: {:?}", page.display(), mistakes(french));
        }
    }
    assert!(found >= 10, "{found} texts");
}

#[test]
fn the_french_front_page_has_a_no_break_space_before_punctuation() {
    let page = read("www/checkout/sandbox.fr.html").replace("&nbsp;", "\u{a0}");
    let (_, body) = page.split_once("<body>").unwrap();
    // Every part after a tag is text, but not that of the code.
    let texts: Vec<&str> = body
        .split('<')
        .filter(|part| !part.starts_with("code>"))
        .filter_map(|part| part.split_once('>'))
        .map(|(_, text)| text.trim_ascii())
        .filter(|text| !text.is_empty())
        .collect();
    assert!(texts.len() > 20, "{texts:?}");
    let wrong: Vec<String> = texts.into_iter().flat_map(mistakes).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_page_adds_a_colon_between_words() {
    for script in files("js") {
        let text = fs::read_to_string(&script).unwrap();
        assert!(
            !text.contains("}: ${"),
            "{}: put the colon into the texts, which differ by language",
            script.display()
        );
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(crate::support::root().join(file)).unwrap()
}

/// The files of the pages with this extension.
fn files(ending: &str) -> Vec<PathBuf> {
    let www = crate::support::root().join("www");
    let folders = ["checkout", "shop"].map(|folder| www.join(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.into_iter().filter(|file| file.extension().is_some_and(|found| found == ending)).collect()
}
