//! The arguments of an operation, from its own description: what travels in the path stands by itself, all else has the
//! name of its field.

use crate::protocol::{Place, Spec};
use crate::terminal::connection::first_line;
use crate::terminal::failure::Failure;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::io::Read;

/// An operation, as its type describes it.
pub(super) struct Description {
    /// One sentence: what it does.
    pub about: String,
    /// All that its documentation says.
    pub long_about: String,
    pub fields: Vec<Field>,
}

/// One field of an operation.
pub(super) struct Field {
    name: String,
    help: String,
    kind: Kind,
    required: bool,
    /// Other users of the machine can read a command line: it is asked for.
    secret: bool,
    place: Place,
}

/// How a field is written on a command line.
enum Kind {
    /// JSON: an object, or an array of objects.
    Json,
    Text,
    /// Several texts: the argument is repeated.
    Texts,
    Truth,
    Whole,
}

impl Description {
    pub(super) fn of<O: JsonSchema>(spec: &Spec) -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<O>().to_value();
        let documentation = plain(schema["description"].as_str().unwrap_or_default());
        // "`GET /v1/…`: what it does. More of it."
        let (_, what) = documentation.split_once(": ").unwrap_or(("", &documentation));
        let about = as_a_line(what.split("\n\n").next().unwrap_or_default());
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let mut fields: Vec<Field> = properties
            .map(|(name, schema)| {
                let place = spec.place(name);
                Field {
                    help: help(schema),
                    kind: if place == Place::Body { Kind::of(schema) } else { Kind::Text },
                    required: place == Place::Path
                        || (required.contains(&name.as_str()) && schema.get("default").is_none()),
                    secret: schema["x-guichet-secret"] == true,
                    name: name.clone(),
                    place,
                }
            })
            .collect();
        // The path's fields in its order, then what is required.
        fields.sort_by_key(|field| {
            (field.place != Place::Path, spec.path.find(&format!("{{{}}}", field.name)), !field.required)
        });
        Self { about, long_about: documentation, fields }
    }
}

/// A sentence as a list of commands says it: with a capital, and without its end where it is the only one.
fn as_a_line(sentence: &str) -> String {
    let sentence = sentence.replace('\n', " ");
    let alone = sentence.strip_suffix('.').filter(|rest| !rest.contains(". ")).unwrap_or(&sentence);
    let mut letters = alone.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What is said of a field, the words it may be, and what it is where nothing is given. A service may know other words:
/// what the operation's own type takes is sent.
fn help(schema: &Value) -> String {
    let mut help = plain(schema["description"].as_str().unwrap_or_default()).replace('\n', " ");
    let words = words(schema);
    if !words.is_empty() {
        help.push_str(&format!(" [{}]", words.join(", ")));
    }
    match &schema["default"] {
        Value::Null => {}
        Value::String(word) => help.push_str(&format!(" [default: {word}]")),
        other => help.push_str(&format!(" [default: {other}]")),
    }
    help
}

/// Documentation without the marks of its source: links to other items, code.
fn plain(documentation: &str) -> String {
    documentation.replace("[`", "").replace("`]", "").replace('`', "").replace("# Undocumented\n", "Undocumented: ")
}

impl Kind {
    fn of(schema: &Value) -> Self {
        match kind_of(schema) {
            "boolean" => Self::Truth,
            "integer" | "number" => Self::Whole,
            "string" => Self::Text,
            "array" if kind_of(&schema["items"]) == "string" => Self::Texts,
            _ => Self::Json,
        }
    }
}

/// The JSON type of a schema, or of the first of its alternatives that is not null.
fn kind_of(schema: &Value) -> &str {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    };
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    named.or_else(|| alternatives.map(kind_of).find(|name| !["", "null"].contains(name))).unwrap_or_default()
}

/// The words of a closed choice.
fn words(schema: &Value) -> Vec<String> {
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    let own = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    let own = own.filter_map(Value::as_str).map(str::to_owned);
    own.chain(alternatives.flat_map(words)).collect()
}

impl Field {
    pub(super) fn argument(&self) -> Arg {
        let shown = self.name.to_uppercase().replace('-', "_");
        let required = self.required && !self.secret;
        let argument = Arg::new(self.name.clone()).value_name(shown).required(required);
        let (argument, hint) = match &self.kind {
            Kind::Text if self.secret => (
                argument,
                "Without it, the first line of the standard input: other users of this machine can read a command line.",
            ),
            Kind::Text | Kind::Whole => (argument, ""),
            Kind::Texts => (argument.action(ArgAction::Append), "May be repeated."),
            Kind::Truth => {
                let truth = PossibleValuesParser::new(["true", "false"]);
                let argument = argument.value_parser(truth).num_args(0..=1).require_equals(true);
                (argument.default_missing_value("true"), "")
            }
            Kind::Json if self.is_a_payment_method() => (
                argument,
                "A phone, 237670000000; or JSON, which @FILE or - reads from a file or the standard input: a card belongs there.",
            ),
            Kind::Json => (argument, "JSON; @FILE or - reads it from a file or the standard input."),
        };
        let help = format!("{} {hint}", self.help);
        let argument = argument.help(help.trim().to_owned()).allow_negative_numbers(true);
        if self.place == Place::Path { argument } else { argument.long(self.name.replace('_', "-").to_lowercase()) }
    }

    /// What was given for the field, as the service reads it; `None` where nothing was.
    pub(super) fn value(&self, matches: &ArgMatches) -> Result<Option<Value>, Failure> {
        let Some(given) = matches.get_many::<String>(&self.name) else { return self.asked() };
        let given: Vec<&String> = given.collect();
        let first = given.first().map(|text| text.as_str()).unwrap_or_default();
        Ok(Some(match &self.kind {
            Kind::Texts => given.into_iter().map(|text| Value::String(text.clone())).collect(),
            Kind::Truth => Value::Bool(first == "true"),
            // What is no number is refused by the door of the operation, in its words.
            Kind::Whole => first.parse::<u64>().map_or_else(|_| first.into(), Value::from),
            Kind::Text => first.into(),
            Kind::Json => self.json(first)?,
        }))
    }

    fn json(&self, given: &str) -> Result<Value, Failure> {
        let refuse = |why: &str| Failure::usage(format!("{}: {why}", self.name));
        let inline = !given.starts_with('@') && given != "-";
        if self.is_a_payment_method() && inline {
            if is_a_card_number(given) || given.contains("\"card\"") {
                return Err(refuse(
                    "A card does not belong on a command line, where other users of the machine can read it. Write \
                     {\"type\":\"card\",\"card\":{\"number\",\"exp_month\",\"exp_year\",\"cvc\"}} with its values into a file (@FILE) or to the \
                     standard input (-).",
                ));
            }
            if !given.starts_with('{') {
                return Ok(serde_json::json!({"type": "mobile_money", "phone": given}));
            }
        }
        let text = match given.strip_prefix('@') {
            Some(file) => {
                std::fs::read_to_string(file).map_err(|error| refuse(&format!("{file} cannot be read: {error}.")))?
            }
            None if given == "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).map_err(|_| refuse("The standard input is not text."))?;
                text
            }
            None => given.to_owned(),
        };
        serde_json::from_str(&text)
            .map_err(|_| refuse("It is JSON: write it between single quotes, or read it from @FILE."))
    }

    /// What is asked for where it was not given: it does not belong on a command line.
    fn asked(&self) -> Result<Option<Value>, Failure> {
        if !self.secret {
            return Ok(None);
        }
        let missing = || Failure::usage("Give the one-time code on the standard input, or with --otp.");
        first_line("The one-time code:").map(|line| Some(line.into())).ok_or_else(missing)
    }

    fn is_a_payment_method(&self) -> bool {
        self.name == "payment_method"
    }
}

/// Whether this is a card's number, in groups or not: longer than a phone number, or as long as one and of a beginning (3)
/// under which no country has phone numbers of 14 digits.
fn is_a_card_number(given: &str) -> bool {
    let digits: Vec<u8> = given.bytes().filter(|byte| !b" -".contains(byte)).collect();
    let digits_alone = digits.iter().all(u8::is_ascii_digit);
    digits_alone && (matches!(digits.len(), 16..=19) || (matches!(digits.len(), 14 | 15) && digits.starts_with(b"3")))
}

/// The fields that were given, for the operation to read.
pub(super) fn given(fields: &[Field], matches: &ArgMatches) -> Result<Map<String, Value>, Failure> {
    let mut given = Map::new();
    for field in fields {
        if let Some(value) = field.value(matches)? {
            given.insert(field.name.clone(), value);
        }
    }
    Ok(given)
}
