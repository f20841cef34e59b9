//! `#[resource]`.

use crate::field::{Field, documented, with_example};
use crate::schema;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{DeriveInput, Error, Ident, LitStr, Result, Token, Type, parse_quote};

/// The arguments that a field of a resource may have.
const WORDS: &[&str] = &[
    "absent",
    "always",
    "like",
    "max",
    "min",
    "name",
    "number",
    "omitted",
    "read",
    "required",
    "schema",
    "undocumented",
];

/// The arguments of `#[resource(…)]`.
#[derive(Default)]
pub(crate) struct Arguments {
    undocumented: bool,
    example: Option<LitStr>,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut arguments = Self::default();
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "undocumented" => arguments.undocumented = true,
                "example" => {
                    input.parse::<Token![=]>()?;
                    arguments.example = Some(input.parse()?);
                }
                _ => {
                    return Err(Error::new(word.span(), "a resource has no argument but `undocumented` and `example`"));
                }
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(arguments)
    }
}

pub(crate) fn expand(arguments: &Arguments, item: DeriveInput) -> Result<TokenStream> {
    let fields = Field::all(&item, WORDS)?;
    let (name, visibility) = (&item.ident, &item.vis);
    let attributes = &with_example(&item.attrs, || example(arguments, name))?;
    let documented = documented(&fields, arguments.undocumented);
    let described = fields.iter().map(|field| declaration(name, field));
    let absent = fields.iter().filter_map(absent);
    let (required, others): (Vec<_>, Vec<_>) = fields.iter().partition(|field| field.options.required);
    let required_names: Vec<_> = required.iter().map(|field| &field.name).collect();
    let required_types = required.iter().map(|field| &field.ty);
    let others = others.iter().map(|Field { name, options, .. }| match &options.absent {
        Some(absent) => quote!(#name: #absent),
        None => quote!(#name: Default::default()),
    });
    let declaration = schema::expand(parse_quote! {
        #(#attributes)*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
        #[non_exhaustive]
        #documented
        #visibility struct #name {
            #(#described,)*
        }
    });
    let parts = parts(&item, &fields);
    let reveal = reveal(name, &fields);
    Ok(quote! {
        #declaration
        impl #name {
            #(#absent)*
            /// A resource with its required fields and no others.
            #[cfg(feature = "shop")]
            #[doc(hidden)]
            #[must_use]
            pub fn with_required(#(#required_names: #required_types),*) -> Self {
                Self { #(#required_names,)* #(#others),* }
            }
        }
        service_only! {
            #parts
            #reveal
        }
    })
}

/// The example of a resource: how its JSON is read.
fn example(arguments: &Arguments, name: &Ident) -> Result<String> {
    let missing = || Error::new(name.span(), "its documentation needs an example: `example = \"{…}\"`");
    let json = arguments.example.as_ref().ok_or_else(missing)?.value();
    Ok(format!(
        "let reply = br#\"{{\"data\": {json}}}\"#;\nlet read: guichet::operations::{name} = guichet::protocol::decode(reply)?;\n\
         println!(\"{{read:?}}\");\n# Ok::<(), serde_json::Error>(())"
    ))
}

/// A field with the attributes that read, write and describe it.
fn declaration(resource: &Ident, field: &Field) -> TokenStream {
    let Field { name, ty, visibility, attributes, options } = field;
    let mut serde = Vec::new();
    if let Some(name) = &options.name {
        serde.push(quote!(rename = #name));
    }
    if options.omitted {
        serde.push(quote!(skip_serializing_if = "Option::is_none"));
    }
    if let Some(read) = &options.read {
        let read = quote!(#read).to_string();
        serde.push(quote!(default, deserialize_with = #read));
    } else if options.absent.is_some() {
        let absent = format!("{resource}::{}", absent_name(name));
        serde.push(quote!(default = #absent, deserialize_with = "crate::protocol::strict"));
    } else if !options.required {
        serde.push(quote!(default, deserialize_with = "crate::protocol::lenient"));
    } else if matches!(ty, Type::Path(path) if path.path.is_ident("bool")) {
        serde.push(quote!(deserialize_with = "crate::protocol::strict"));
    }
    if options.number {
        serde.push(quote!(serialize_with = "crate::values::as_number"));
    }
    let serde = (!serde.is_empty()).then(|| quote!(#[serde(#(#serde),*)]));
    let schema = field.schema(options.number.then(|| quote!(crate::values::Number)));
    quote!(#(#attributes)* #serde #schema #visibility #name: #ty)
}

/// The function that returns a field's value if a reply lacks the field.
fn absent(field: &Field) -> Option<TokenStream> {
    let (absent, ty, name) = (field.options.absent.as_ref()?, &field.ty, absent_name(&field.name));
    Some(quote! {
        fn #name() -> #ty {
            #absent
        }
    })
}

fn absent_name(field: &Ident) -> Ident {
    format_ident!("absent_{field}")
}

/// A struct with the same fields, of which a service builds the resource.
fn parts(item: &DeriveInput, fields: &[Field]) -> TokenStream {
    let (name, visibility, parts) = (&item.ident, &item.vis, format_ident!("{}Parts", item.ident));
    let documentation = format!("All fields of a [`{name}`], of which a service builds one.");
    let names: Vec<&Ident> = fields.iter().map(|field| &field.name).collect();
    let declarations = fields.iter().map(|field| {
        let (documentation, Field { name, ty, visibility, .. }) = (field.documentation(), field);
        quote!(#(#documentation)* #visibility #name: #ty)
    });
    quote! {
        #[doc = #documentation]
        #[derive(Clone, Debug)]
        #visibility struct #parts {
            #(#declarations,)*
        }

        impl From<#parts> for #name {
            fn from(#parts { #(#names),* }: #parts) -> Self {
                Self { #(#names),* }
            }
        }
    }
}

/// The service's writer.
fn reveal(name: &Ident, fields: &[Field]) -> TokenStream {
    let text = name.to_string();
    let count = fields.len();
    let writes = fields.iter().map(|field| {
        let (name, wire_name) = (&field.name, field.wire_name());
        let value = if field.options.number {
            quote!(crate::values::Number(self.#name.into()))
        } else {
            quote!(crate::protocol::Revealed(&self.#name))
        };
        let write = quote!(fields.serialize_field(#wire_name, &#value)?;);
        if field.options.omitted { quote!(if self.#name.is_some() { #write }) } else { write }
    });
    quote! {
        impl crate::protocol::Reveal for #name {
            fn reveal<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeStruct as _;
                let mut fields = serializer.serialize_struct(#text, #count)?;
                #(#writes)*
                fields.end()
            }
        }
    }
}
