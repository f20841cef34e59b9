//! The arguments of an operation's command, made from its JSON schema: fields of the path are positional arguments, all
//! others are options named after the field.

use crate::connection::first_line;
use crate::failure::Failure;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use guichet::protocol::{FieldLocation, Operation};
use guichet::values::normalize_digits;
use guichet_sandbox::json_errors;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::io::Read;

/// The parts of an operation's JSON schema that its command uses.
pub(super) struct Description {
    /// The summary in the list of commands.
    pub about: String,
    /// The whole documentation.
    pub long_about: String,
    pub fields: Vec<Field>,
}

/// One field of an operation.
pub(super) struct Field {
    name: String,
    help: String,
    form: Form,
    required: bool,
    /// A secret is read from standard input, because other users of the machine can read a command line.
    secret: bool,
    location: FieldLocation,
}

/// The form of an argument.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// `true` or `false`; the name of the option alone means `true`.
    Bool,
    /// A whole number.
    Integer,
    /// An object, or an array of objects, as JSON.
    Json,
    /// A payment method as JSON, or a phone number for mobile money.
    PaymentMethod,
    /// Several strings: the option is repeated.
    StringList,
    /// A string.
    Text,
}

impl Description {
    pub(super) fn new<O: Operation + JsonSchema>() -> Self {
        let spec = &O::SPEC;
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<O>().to_value();
        let documentation = without_markup(schema["description"].as_str().unwrap_or_default());
        // The documentation is "`GET /v1/…`: summary. Details.".
        let (_, what) = documentation.split_once(": ").unwrap_or(("", &documentation));
        let about = command_summary(what.split("\n\n").next().unwrap_or_default());
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let mut fields: Vec<Field> = properties
            .map(|(name, schema)| {
                let location = spec.location(name);
                Field {
                    help: help(schema),
                    form: if location == FieldLocation::Body { Form::of(name, schema) } else { Form::Text },
                    required: location == FieldLocation::Path
                        || (required.contains(&name.as_str()) && schema.get("default").is_none()),
                    secret: schema["x-guichet-secret"] == true,
                    name: name.clone(),
                    location,
                }
            })
            .collect();
        // The fields of the path in its order, then the required ones.
        fields.sort_by_key(|field| {
            (field.location != FieldLocation::Path, spec.path.find(&format!("{{{}}}", field.name)), !field.required)
        });
        Self { about, long_about: documentation, fields }
    }
}

impl Form {
    /// The form of a field of the body, by its JSON schema.
    fn of(name: &str, schema: &Value) -> Self {
        let types = &schema["type"];
        let is_a = |word: &str| types == word || types.as_array().is_some_and(|types| types.contains(&word.into()));
        if name == "payment_method" {
            Self::PaymentMethod
        } else if is_a("boolean") {
            Self::Bool
        } else if is_a("integer") {
            Self::Integer
        } else if is_a("string") {
            Self::Text
        } else if is_a("array") && schema["items"]["type"] == "string" {
            Self::StringList
        } else {
            Self::Json
        }
    }
}

/// A summary in the style of clap: with a capital, and without the full stop if it is a single sentence.
fn command_summary(sentence: &str) -> String {
    let sentence = sentence.replace('\n', " ");
    let text = sentence.strip_suffix('.').filter(|rest| !rest.contains(". ")).unwrap_or(&sentence);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The help of a field: its description, its known values and its default. Other values are sent as well if the
/// operation's type accepts them, because a service may know more.
fn help(schema: &Value) -> String {
    let mut help = without_markup(schema["description"].as_str().unwrap_or_default()).replace('\n', " ");
    let choices = choices(schema);
    if !choices.is_empty() {
        help.push_str(&format!(" [{}]", choices.join(", ")));
    }
    match &schema["default"] {
        Value::Null => {}
        Value::String(word) => help.push_str(&format!(" [default: {word}]")),
        other => help.push_str(&format!(" [default: {other}]")),
    }
    help
}

/// Documentation without Markdown's marks for links and code.
fn without_markup(documentation: &str) -> String {
    documentation.replace("[`", "").replace("`]", "").replace('`', "").replace("# Undocumented\n", "Undocumented: ")
}

/// The values of an enumeration.
fn choices(schema: &Value) -> Vec<String> {
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    let own = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    let own = own.filter_map(Value::as_str).map(str::to_owned);
    own.chain(alternatives.flat_map(choices)).collect()
}

impl Field {
    pub(super) fn argument(&self) -> Arg {
        let shown = self.name.to_uppercase().replace('-', "_");
        let required = self.required && !self.secret;
        let argument = Arg::new(self.name.clone()).value_name(shown).required(required);
        let (argument, hint) = match self.form {
            Form::Text if self.secret => (
                argument,
                "Default: the first line of the standard input, because other users of this machine can read a command line.",
            ),
            Form::Text | Form::Integer => (argument, ""),
            Form::StringList => (argument.action(ArgAction::Append), "May be repeated."),
            Form::Bool => {
                let parser = PossibleValuesParser::new(["true", "false"]);
                let argument = argument.value_parser(parser).num_args(0..=1).require_equals(true);
                (argument.default_missing_value("true"), "")
            }
            Form::PaymentMethod => (
                argument,
                "A phone number, for example 237670000000; or JSON. @FILE or - reads JSON from a file or the standard input, as a card requires.",
            ),
            Form::Json => (argument, "JSON; @FILE or - reads it from a file or the standard input."),
        };
        let help = format!("{} {hint}", self.help);
        let argument = argument.help(help.trim().to_owned()).allow_negative_numbers(true);
        if self.location == FieldLocation::Path {
            argument
        } else {
            argument.long(self.name.replace('_', "-").to_lowercase())
        }
    }

    /// The field's value as JSON, as the service reads it. `None` if the argument is missing.
    pub(super) fn value(&self, matches: &ArgMatches) -> Result<Option<Value>, Failure> {
        let Some(given) = matches.get_many::<String>(&self.name) else { return self.read_secret() };
        let given: Vec<&String> = given.collect();
        let first = given.first().map(|text| text.as_str()).unwrap_or_default();
        Ok(Some(match self.form {
            Form::StringList => given.into_iter().map(|text| Value::String(text.clone())).collect(),
            Form::Bool => Value::Bool(first == "true"),
            // The operation's own reader refuses a text that is not a number.
            Form::Integer => first.parse::<u64>().map_or_else(|_| first.into(), Value::from),
            Form::Text => first.into(),
            Form::Json | Form::PaymentMethod => self.json(first)?,
        }))
    }

    fn json(&self, given: &str) -> Result<Value, Failure> {
        let refuse = |why: &str| Failure::usage(format!("{}: {why}", self.name));
        if self.form == Form::PaymentMethod && !given.starts_with('@') && given != "-" {
            if shows_a_card(given) {
                return Err(refuse(
                    "A card does not belong on a command line, where other users of the machine can read it. Write \
                     {\"type\":\"card\",\"card\":{\"number\",\"exp_month\",\"exp_year\",\"cvc\"}} with its values into a file (@FILE) \
                     or to the standard input (-).",
                ));
            }
            if !given.starts_with('{') {
                return Ok(json!({"type": "mobile_money", "phone": given}));
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
        let value = serde_json::from_str(&text).map_err(|_| {
            refuse("This is not JSON. Write JSON between single quotes, or read it from a file with @FILE.")
        })?;
        // `Value` silently drops a repeated key and rounds a number that is not exact.
        let errors = json_errors(&format!("{{\"{}\":{text}}}", self.name));
        if errors.is_empty() {
            return Ok(value);
        }
        Err(Failure::usage(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
    }

    /// Reads a secret from standard input. `None` for a field that is not secret.
    fn read_secret(&self) -> Result<Option<Value>, Failure> {
        if !self.secret {
            return Ok(None);
        }
        let missing = || Failure::usage("Give the one-time code on the standard input, or with --otp.");
        first_line("The one-time code:").map(|line| Some(line.into())).ok_or_else(missing)
    }
}

/// Whether a payment method on the command line is a card: as JSON, or by its number, however it is separated. 16 to 19
/// digits are longer than a phone number, and no phone number of 14 or 15 digits begins with 3.
fn shows_a_card(given: &str) -> bool {
    let digits = normalize_digits(given);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (matches!(digits.len(), 16..=19) || (matches!(digits.len(), 14 | 15) && digits.starts_with('3')));
    is_number || given.contains("\"card\"")
}

/// The values of all fields whose arguments were given.
pub(super) fn read_arguments(fields: &[Field], matches: &ArgMatches) -> Result<Map<String, Value>, Failure> {
    let read = |field: &Field| Some(field.value(matches).transpose()?.map(|value| (field.name.clone(), value)));
    fields.iter().filter_map(read).collect()
}
