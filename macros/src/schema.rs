//! `#[schema]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Expr, ExprLit, Lit, Meta, parse_quote};

/// The item, whose `#[schemars(…)]` count for a service alone.
pub(crate) fn expand(mut item: DeriveInput) -> TokenStream {
    if let Some(text) = description(&item.attrs) {
        item.attrs.push(parse_quote!(#[schemars(description = #text)]));
    }
    for attribute in attributes(&mut item).into_iter().flatten() {
        if attribute.path().is_ident("schemars") {
            *attribute = for_a_service(&attribute.meta);
        }
    }
    let derive = for_a_service(&parse_quote!(derive(schemars::JsonSchema)));
    quote!(#derive #item)
}

fn for_a_service(attribute: &Meta) -> Attribute {
    parse_quote!(#[cfg_attr(feature = "service", #attribute)])
}

/// The attributes of the type, of its variants and of its fields.
fn attributes(item: &mut DeriveInput) -> Vec<&mut Vec<Attribute>> {
    let mut all = vec![&mut item.attrs];
    match &mut item.data {
        Data::Struct(data) => all.extend(data.fields.iter_mut().map(|field| &mut field.attrs)),
        Data::Enum(data) => {
            for variant in &mut data.variants {
                all.push(&mut variant.attrs);
                all.extend(variant.fields.iter_mut().map(|field| &mut field.attrs));
            }
        }
        Data::Union(_) => {}
    }
    all
}

/// The description of a type whose documentation has an example: without the example, which is Rust. `None` for other
/// types: schemars writes theirs.
fn description(attributes: &[Attribute]) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut has_example, mut is_in_example) = (false, false);
    for line in attributes.iter().filter_map(documentation) {
        let line = line.trim();
        let is_second_blank = line.is_empty() && lines.last().is_none_or(String::is_empty);
        if line.starts_with("```") {
            has_example = true;
            is_in_example = !is_in_example;
        } else if !is_in_example && !is_second_blank {
            lines.push(line.to_owned());
        }
    }
    has_example.then(|| lines.join("\n").trim().to_owned())
}

/// The text of a line of documentation.
pub(crate) fn documentation(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}
