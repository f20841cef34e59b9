//! `#[operation]`.

use crate::field::{Field, documented, with_example};
use crate::schema;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{DeriveInput, Error, Ident, LitStr, Path, Result, Token, Type, braced, parenthesized, parse_quote};

/// The arguments that a field of an operation may have.
const WORDS: &[&str] =
    &["check", "default", "idempotency_key", "into", "max", "min", "number", "schema", "secret", "undocumented"];

/// The arguments of `#[operation(…)]`.
pub(crate) struct Arguments {
    method: Ident,
    path: LitStr,
    output: Type,
    role: Path,
    envelope: Option<Ident>,
    example: Option<LitStr>,
    assumed: bool,
    repeatable: bool,
    new: Option<Vec<Argument>>,
    at_least_one: Option<(Vec<Ident>, LitStr)>,
}

/// An argument of `new`: a field, or a struct of several named fields.
#[derive(Clone)]
enum Argument {
    Field(Ident),
    Struct(Ident, Vec<Ident>),
}

impl Argument {
    fn fields(&self) -> &[Ident] {
        match self {
            Self::Field(field) => std::slice::from_ref(field),
            Self::Struct(_, fields) => fields,
        }
    }
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name: Ident = input.parse()?;
        if !input.peek(syn::token::Brace) {
            return Ok(Self::Field(name));
        }
        let content;
        braced!(content in input);
        Ok(Self::Struct(name, Punctuated::<Ident, Token![,]>::parse_terminated(&content)?.into_iter().collect()))
    }
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let method: Ident = input.parse()?;
        let path: LitStr = input.parse()?;
        input.parse::<Token![->]>()?;
        let output = input.parse()?;
        let (mut role, mut envelope, mut example) = (None, None, None);
        let (mut assumed, mut repeatable, mut new, mut at_least_one) = (false, false, None, None);
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "role" => role = Some(value(input)?),
                "envelope" => envelope = Some(value(input)?),
                "assumed" => assumed = true,
                "example" => example = Some(value::<LitStr>(input)?),
                "repeatable" => repeatable = true,
                "new" => {
                    let content;
                    parenthesized!(content in input);
                    new = Some(Punctuated::<Argument, Token![,]>::parse_terminated(&content)?.into_iter().collect());
                }
                "at_least_one" => {
                    let content;
                    parenthesized!(content in input);
                    let mut names = Vec::new();
                    while !content.peek(LitStr) {
                        names.push(content.parse()?);
                        content.parse::<Token![,]>()?;
                    }
                    at_least_one = Some((names, content.parse()?));
                }
                _ => return Err(Error::new(word.span(), "an operation has no such argument")),
            }
        }
        let missing = || Error::new(method.span(), "an operation needs its role: `role = Merchant`");
        Ok(Self {
            role: role.ok_or_else(missing)?,
            method,
            path,
            output,
            envelope,
            example,
            assumed,
            repeatable,
            new,
            at_least_one,
        })
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

pub(crate) fn expand(arguments: Arguments, mut item: DeriveInput) -> Result<TokenStream> {
    let fields = Field::all(&item, WORDS)?;
    item.attrs = with_example(&item.attrs, || example(&arguments, &item.ident, &fields))?;
    let name = &item.ident;
    let declaration = declaration(&arguments, &item, &fields);
    let constructor = constructor(&arguments, &fields)?;
    let setters = fields.iter().filter(|field| !is_required(field)).map(setter);
    let debug = debug(name, &fields);
    let writer = writer(&arguments, name, &fields);
    let spec = spec(&arguments, name, &fields)?;
    let served = served(&arguments, name, &fields);
    let Arguments { role, output, .. } = &arguments;
    Ok(quote! {
        #declaration
        #debug
        impl #name {
            #constructor
            #(#setters)*
        }
        #writer
        impl crate::protocol::Operation for #name {
            type Role = #role;
            type Output = #output;
            const SPEC: crate::protocol::Spec = #spec;
        }
        #served
        const _: () = {
            const fn is_listed<O: super::Listed>() {}
            is_listed::<#name>()
        };
    })
}

/// The example of an operation without fields, of a list, or of one that takes nothing but an identifier.
fn example(arguments: &Arguments, name: &Ident, fields: &[Field]) -> Result<String> {
    let mut required = fields.iter().filter(|field| is_required(field)).map(|field| field.ty.to_token_stream());
    let (ty, request) = match (required.next(), required.next(), &arguments.example) {
        (None, ..) if fields.is_empty() => {
            return Ok(format!("use guichet::operations::{name};\nlet request = {name}::new();"));
        }
        (None, ..) => ("PageLimit".to_owned(), "new().limit(PageLimit::new(20)?)".to_owned()),
        (Some(id), None, Some(example)) => (id.to_string(), format!("new({id}::new(\"{}\")?)", example.value())),
        _ => return Err(Error::new(name.span(), "its documentation needs an example")),
    };
    Ok(format!(
        "use guichet::operations::{name};\nuse guichet::values::{ty};\nlet request = {name}::{request};\n# Ok::<(), guichet::values::Invalid>(())"
    ))
}

/// Whether the field is required in a request.
fn is_required(field: &Field) -> bool {
    field.option_inner().is_none() && field.options.default.is_none()
}

/// The struct itself, with its schema attributes.
fn declaration(arguments: &Arguments, item: &DeriveInput, fields: &[Field]) -> TokenStream {
    let (name, visibility) = (&item.ident, &item.vis);
    let attributes = &item.attrs;
    let documented = documented(fields, arguments.assumed);
    let at_least_one = arguments.at_least_one.as_ref().map(|(names, _)| {
        let absent = names.iter().map(|name| {
            let name = name.to_string();
            quote!(#name: { "type": "null" })
        });
        // Not `anyOf` at the root: some generators read it as a union of whole bodies, and lose the fields.
        quote!(#[schemars(extend("not" = { "properties": { #(#absent),* } }))])
    });
    let debug = (!fields.iter().any(|field| field.options.secret)).then(|| quote!(Debug,));
    let default = fields.iter().all(|field| field.option_inner().is_some()).then(|| quote!(Default,));
    let fields = fields.iter().map(|field| {
        let Field { name, ty, visibility, attributes, .. } = field;
        let schema = field.schema(form(arguments, field));
        quote!(#(#attributes)* #schema #visibility #name: #ty)
    });
    schema::expand(parse_quote! {
        #(#attributes)*
        #[derive(Clone, #debug #default)]
        #[non_exhaustive]
        #documented
        #at_least_one
        #visibility struct #name {
            #(#fields,)*
        }
    })
}

/// `new`, whose arguments are the required fields.
fn constructor(arguments: &Arguments, fields: &[Field]) -> Result<TokenStream> {
    let required: Vec<&Field> = fields.iter().filter(|field| is_required(field)).collect();
    let in_order = || required.iter().map(|field| Argument::Field(field.name.clone())).collect();
    let taken = arguments.new.as_ref().map_or_else(|| Ok(in_order()), |new| checked(new, &required))?;
    let field = |name: &Ident| required.iter().find(|field| field.name == *name).expect("each is a required field");
    let is_text = |argument: &Argument| matches!(argument, Argument::Field(name) if field(name).is_a("String"));
    if let Some([_, Argument::Field(second)]) = taken.windows(2).find(|pair| pair.iter().all(is_text)) {
        let message = "a caller would swap these texts: name them by a struct, `new(Name { first, last })`";
        return Err(Error::new(second.span(), message));
    }
    let is_converted = |field: &Field| field.options.into || field.is_a("String");
    let takes = taken.iter().map(|argument| match argument {
        Argument::Field(name) => {
            let (ty, is_converted) = (&field(name).ty, is_converted(field(name)));
            if is_converted { quote!(#name: impl Into<#ty>) } else { quote!(#name: #ty) }
        }
        Argument::Struct(ty, fields) => quote!(#ty { #(#fields),* }: #ty<'_>),
    });
    let values = fields.iter().map(|field| {
        let name = &field.name;
        if field.option_inner().is_some() {
            quote!(#name: None)
        } else if let Some(default) = field.default() {
            quote!(#name: #default)
        } else if is_converted(field) {
            quote!(#name: #name.into())
        } else {
            quote!(#name)
        }
    });
    let documentation = match (required.is_empty(), required.len() == fields.len()) {
        (_, true) => "The operation.",
        (true, false) => "The operation with its defaults.",
        (false, false) => "The operation with what it requires, and its defaults for the rest.",
    };
    Ok(quote! {
        #[doc = #documentation]
        #[must_use]
        pub fn new(#(#takes),*) -> Self {
            Self { #(#values),* }
        }
    })
}

/// Checks the arguments of an operation's `new`: each required field, once.
fn checked(new: &[Argument], required: &[&Field]) -> Result<Vec<Argument>> {
    let names: Vec<&Ident> = new.iter().flat_map(Argument::fields).collect();
    if let Some(other) = names.iter().find(|name| !required.iter().any(|field| field.name == ***name)) {
        return Err(Error::new(other.span(), "`new` takes the required fields"));
    }
    if let Some(left_out) = required.iter().find(|field| !names.contains(&&field.name)) {
        return Err(Error::new(left_out.name.span(), "it is required, and `new` does not take it"));
    }
    Ok(new.to_vec())
}

/// The setter of a field that is not required.
fn setter(field: &Field) -> TokenStream {
    let Field { name, ty, .. } = field;
    let documentation = field.documentation();
    let (takes, value) = match field.option_inner() {
        Some(inner) => (inner, quote!(Some(#name))),
        None => (ty, quote!(#name)),
    };
    quote! {
        #(#documentation)*
        #[must_use]
        pub fn #name(mut self, #name: #takes) -> Self {
            self.#name = #value;
            self
        }
    }
}

/// An `impl Debug` if a field is a secret.
fn debug(name: &Ident, fields: &[Field]) -> Option<TokenStream> {
    fields.iter().any(|field| field.options.secret).then(|| {
        let shown = fields.iter().map(|Field { name, options, .. }| {
            let text = name.to_string();
            let value = if options.secret { quote!(&"***") } else { quote!(&self.#name) };
            quote!(.field(#text, #value))
        });
        let text = name.to_string();
        quote! {
            impl ::core::fmt::Debug for #name {
                fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                    f.debug_struct(#text)#(#shown)*.finish()
                }
            }
        }
    })
}

/// The operation's `Spec`.
fn spec(arguments: &Arguments, name: &Ident, fields: &[Field]) -> Result<TokenStream> {
    let Arguments { method, path, envelope, assumed, repeatable, .. } = arguments;
    let constructor = match method.to_string().as_str() {
        "DELETE" => format_ident!("delete"),
        "GET" => format_ident!("get"),
        "POST" => format_ident!("post"),
        "PUT" => format_ident!("put"),
        _ => return Err(Error::new(method.span(), "DELETE, GET, POST or PUT")),
    };
    for placeholder in placeholders(&path.value()) {
        if !fields.iter().any(|field| field.name == placeholder && is_required(field)) {
            let message = format!("the path names `{placeholder}`, which is no required field");
            return Err(Error::new(path.span(), message));
        }
    }
    let operation = snake_case(&name.to_string());
    let query: Vec<String> =
        fields.iter().filter(|field| travels_in_the_query(arguments, field)).map(Field::wire_name).collect();
    let query = (!query.is_empty()).then(|| quote!(.query(&[#(#query),*])));
    let envelope = envelope.as_ref().map(|envelope| quote!(.envelope(crate::protocol::Envelope::#envelope)));
    let assumed = assumed.then(|| quote!(.assumed()));
    let repeatable = repeatable.then(|| quote!(.repeatable()));
    let key = fields.iter().any(|field| field.options.idempotency_key).then(|| quote!(.idempotency_key()));
    Ok(quote!(crate::protocol::Spec::#constructor(#operation, #path) #query #envelope #assumed #repeatable #key))
}

fn travels_in_the_query(arguments: &Arguments, field: &Field) -> bool {
    arguments.method == "GET" && !placeholders(&arguments.path.value()).any(|name| field.name == name)
}

/// The `x` of each `{x}` of a path.
fn placeholders(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

/// `CreatePlan` as `create_plan`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The client's writer: `protocol::assemble` puts each field where the operation's `Spec` says.
fn writer(arguments: &Arguments, name: &Ident, fields: &[Field]) -> TokenStream {
    let text = name.to_string();
    let count = fields.len();
    let writes = fields.iter().map(|field| {
        let (name, wire_name, field_type) = (&field.name, field.wire_name(), field_type(arguments, field));
        let written = quote!(crate::protocol::Written::<#field_type>);
        let value = match field.option_inner() {
            Some(_) => quote!(self.#name.as_ref().map(#written)),
            None => quote!(#written(&self.#name)),
        };
        quote!(serde::ser::SerializeStruct::serialize_field(&mut fields, #wire_name, &#value)?;)
    });
    let fields = if fields.is_empty() { quote!(fields) } else { quote!(mut fields) };
    quote! {
        impl serde::Serialize for #name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let #fields = serializer.serialize_struct(#text, #count)?;
                #(#writes)*
                serde::ser::SerializeStruct::end(fields)
            }
        }
    }
}

/// The `FieldType` that reads and writes a field.
fn field_type(arguments: &Arguments, field: &Field) -> TokenStream {
    form(arguments, field).unwrap_or_else(|| field.option_inner().unwrap_or(&field.ty).to_token_stream())
}

/// The form of a field that an option selects in place of its own type.
fn form(arguments: &Arguments, field: &Field) -> Option<TokenStream> {
    let options = &field.options;
    if options.number {
        Some(quote!(crate::operations::amount::AmountNumber))
    } else if options.min.is_some() || options.max.is_some() {
        let min = options.min.as_ref().map_or_else(|| quote!(0), |min| quote!({ #min }));
        let max = options.max.as_ref().map_or_else(|| quote!({ u32::MAX }), |max| quote!({ #max }));
        Some(quote!(crate::protocol::Whole<#min, #max>))
    } else if field.is_a("bool") && travels_in_the_query(arguments, field) {
        Some(quote!(crate::protocol::Switch))
    } else {
        None
    }
}

/// The service's reader.
fn served(arguments: &Arguments, name: &Ident, fields: &[Field]) -> TokenStream {
    let reads = fields.iter().map(|field| read(arguments, field));
    let checks = fields.iter().filter_map(check);
    let at_least_one = arguments.at_least_one.as_ref().map(|(names, message)| {
        let names = names.iter().map(ToString::to_string);
        quote!(fields.at_least_one(&[#(#names),*], #message)?;)
    });
    let names: Vec<&Ident> = fields.iter().map(|field| &field.name).collect();
    let fields = if names.is_empty() { quote!(_) } else { quote!(fields) };
    quote! {
        impl crate::protocol::Served for #name {
            fn read(#fields: &mut crate::protocol::Fields) -> Option<Self> {
                #(#reads)*
                #(#checks)*
                #at_least_one
                Some(Self { #(#names: #names?),* })
            }
        }
    }
}

/// Reads one field; `None` if it has an error, which is collected with those of the others.
fn read(arguments: &Arguments, field: &Field) -> TokenStream {
    let (name, text, field_type) = (&field.name, field.wire_name(), field_type(arguments, field));
    let read = match (field.option_inner(), field.default()) {
        (Some(_), _) => quote!(fields.optional::<#field_type>(#text)),
        (None, Some(default)) => quote!(fields.or::<#field_type>(#text, #default)),
        (None, None) => quote!(fields.required::<#field_type>(#text)),
    };
    quote!(let #name = #read;)
}

/// The check of one field, if it could be read.
fn check(field: &Field) -> Option<TokenStream> {
    let (check, name, text) = (field.options.check.as_ref()?, &field.name, field.wire_name());
    let pattern = if field.option_inner().is_some() { quote!(Some(Some(value))) } else { quote!(Some(value)) };
    Some(quote! {
        if let #pattern = &#name {
            #check(fields, #text, value);
        }
    })
}
