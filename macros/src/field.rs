//! A field, and the arguments of its `#[field(…)]`.

use crate::schema::documentation;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Fields, Ident, LitStr, Path, Result, Token, Type, Visibility,
    parse_quote,
};

/// One field of an operation or a resource.
pub(crate) struct Field {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) visibility: Visibility,
    /// Its documentation, and every attribute that is not for these macros.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) options: FieldOptions,
}

/// The arguments of `#[field(…)]`.
#[derive(Default)]
pub(crate) struct FieldOptions {
    pub(crate) absent: Option<Expr>,
    pub(crate) always: bool,
    pub(crate) check: Option<Path>,
    /// The default value. `default` without a value is the default of the type.
    pub(crate) default: Option<Option<Expr>>,
    pub(crate) idempotency_key: bool,
    pub(crate) into: bool,
    pub(crate) like: Option<Type>,
    pub(crate) max: Option<Expr>,
    pub(crate) min: Option<Expr>,
    pub(crate) name: Option<String>,
    pub(crate) number: bool,
    pub(crate) omitted: bool,
    pub(crate) read: Option<Path>,
    pub(crate) required: bool,
    pub(crate) schema: TokenStream,
    pub(crate) secret: bool,
    pub(crate) undocumented: bool,
}

impl Field {
    /// The fields of a struct with named fields.
    pub(crate) fn all(item: &DeriveInput, allowed: &[&str]) -> Result<Vec<Self>> {
        let Data::Struct(data) = &item.data else {
            return Err(Error::new_spanned(&item.ident, "an operation or a resource is a struct"));
        };
        let Fields::Named(fields) = &data.fields else {
            return Err(Error::new_spanned(&item.ident, "an operation or a resource has named fields"));
        };
        fields.named.iter().map(|field| Self::of(field, allowed)).collect()
    }

    fn of(field: &syn::Field, allowed: &[&str]) -> Result<Self> {
        let (ours, attributes) = field.attrs.iter().cloned().partition(|attribute| attribute.path().is_ident("field"));
        let ours: Vec<Attribute> = ours;
        let mut options = FieldOptions::default();
        for attribute in ours {
            options.read_from(&attribute, allowed)?;
        }
        let name = field.ident.clone().expect("a named field has a name");
        Ok(Self { name, ty: field.ty.clone(), visibility: field.vis.clone(), attributes, options })
    }

    /// Its name on the wire.
    pub(crate) fn wire_name(&self) -> String {
        match &self.options.name {
            Some(name) => name.clone(),
            None if self.options.idempotency_key => "Idempotency-Key".to_owned(),
            None => self.name.to_string(),
        }
    }

    /// The `T` of an `Option<T>`.
    pub(crate) fn option_inner(&self) -> Option<&Type> {
        let Type::Path(path) = &self.ty else { return None };
        let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
        let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
        match arguments.args.first() {
            Some(syn::GenericArgument::Type(inner)) => Some(inner),
            _ => None,
        }
    }

    /// Whether its type, or the one inside its `Option`, has this name.
    pub(crate) fn is_a(&self, name: &str) -> bool {
        let ty = self.option_inner().unwrap_or(&self.ty);
        matches!(ty, Type::Path(path) if path.path.is_ident(name))
    }

    /// Its default, if it has one.
    pub(crate) fn default(&self) -> Option<TokenStream> {
        let default = self.options.default.as_ref()?;
        Some(default.as_ref().map_or_else(|| quote!(::core::default::Default::default()), ToTokens::to_token_stream))
    }

    /// Its documentation.
    pub(crate) fn documentation(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().filter(|attribute| attribute.path().is_ident("doc"))
    }

    /// Its `#[schemars(…)]`. `form` is the type that describes it in place of its own; limits are of its own alone.
    pub(crate) fn schema(&self, form: Option<TokenStream>) -> TokenStream {
        let FieldOptions { always, default, like, max, min, number, schema, .. } = &self.options;
        let mut options = Vec::new();
        if self.options.idempotency_key {
            let name = self.wire_name();
            options.push(quote!(rename = #name));
        }
        let (min, max) = if form.is_some() { (&None, &None) } else { (min, max) };
        let inner = always.then(|| self.option_inner().cloned()).flatten();
        let inner = inner.filter(|_| !number);
        if let Some(other) = like.clone().or(inner) {
            let other = other.to_token_stream().to_string();
            options.push(quote!(with = #other));
        } else if let Some(with) = form {
            let is_optional = self.option_inner().is_some() && !always;
            let with = if is_optional { quote!(Option<#with>) } else { with }.to_string();
            options.push(quote!(with = #with));
        }
        match (min, max) {
            (Some(min), Some(max)) => options.push(quote!(range(min = #min, max = #max))),
            (Some(min), None) => options.push(quote!(range(min = #min))),
            (None, Some(max)) => options.push(quote!(range(max = #max))),
            (None, None) => {}
        }
        match default {
            Some(Some(default)) => options.push(quote!(extend("default" = #default))),
            Some(None) => options.push(quote!(default)),
            None => {}
        }
        if self.options.secret {
            options.push(quote!(extend("x-guichet-secret" = true)));
        }
        if !schema.is_empty() {
            options.push(quote!(extend(#schema)));
        }
        if options.is_empty() {
            return TokenStream::new();
        }
        quote!(#[schemars(#(#options),*)])
    }
}

impl FieldOptions {
    fn read_from(&mut self, attribute: &Attribute, allowed: &[&str]) -> Result<()> {
        attribute.parse_nested_meta(|meta| {
            let word = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if !allowed.contains(&word.as_str()) {
                return Err(meta.error(format!("`{word}` is no argument here. Arguments: {}", allowed.join(", "))));
            }
            match word.as_str() {
                "absent" => self.absent = Some(meta.value()?.parse()?),
                "always" => self.always = true,
                "check" => self.check = Some(meta.value()?.parse()?),
                "default" if meta.input.peek(Token![=]) => self.default = Some(Some(meta.value()?.parse()?)),
                "default" => self.default = Some(None),
                "idempotency_key" => self.idempotency_key = true,
                "into" => self.into = true,
                "like" => self.like = Some(meta.value()?.parse()?),
                "max" => self.max = Some(meta.value()?.parse()?),
                "min" => self.min = Some(meta.value()?.parse()?),
                "name" => self.name = Some(meta.value()?.parse::<LitStr>()?.value()),
                "number" => self.number = true,
                "omitted" => self.omitted = true,
                "read" => self.read = Some(meta.value()?.parse()?),
                "required" => self.required = true,
                "schema" => {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    self.schema = content.parse()?;
                }
                "secret" => self.secret = true,
                "undocumented" => self.undocumented = true,
                _ => unreachable!("`{word}` is allowed, but no field option"),
            }
            Ok(())
        })
    }
}

/// The attributes with an example, unless their documentation has one. It stands before the first heading.
pub(crate) fn with_example(
    attributes: &[Attribute],
    example: impl FnOnce() -> Result<String>,
) -> Result<Vec<Attribute>> {
    let starts_with = |start: &'static str| {
        move |attribute: &Attribute| documentation(attribute).is_some_and(|line| line.trim().starts_with(start))
    };
    let mut all = attributes.to_vec();
    if all.iter().any(starts_with("```")) {
        return Ok(all);
    }
    let heading = all.iter().position(starts_with("# ")).unwrap_or(all.len());
    let example = format!("\n```\n{}\n```\n", example()?);
    // With a space, as `///` has it.
    let lines = example.lines().map(|line| if line.is_empty() { String::new() } else { format!(" {line}") });
    let lines = lines.map(|line| parse_quote!(#[doc = #line]));
    all.splice(heading..heading, lines);
    Ok(all)
}

/// The `#[schemars(…)]` that lists the documented fields of a type; empty if the document shows none of them.
pub(crate) fn documented(fields: &[Field], undocumented: bool) -> TokenStream {
    if undocumented {
        return TokenStream::new();
    }
    let names = fields.iter().filter(|field| !field.options.undocumented).map(Field::wire_name);
    quote!(#[schemars(extend("x-guichet-documented" = [#(#names),*]))])
}
