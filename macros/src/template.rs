//! [`fill`]: code with names that stand for other code.

use proc_macro::{Group, TokenStream, TokenTree};

/// Returns the tokens of `template`, with each of the names replaced by its tokens.
pub fn fill(template: &str, names: &[(&str, &TokenStream)]) -> TokenStream {
    replace(template.parse().expect("a template is Rust"), names)
}

fn replace(tokens: TokenStream, names: &[(&str, &TokenStream)]) -> TokenStream {
    let replace_one = |token| match token {
        TokenTree::Ident(ident) => {
            let text = ident.to_string();
            let found = names.iter().find(|(name, _)| *name == text);
            found.map_or_else(|| TokenTree::Ident(ident).into(), |(_, tokens)| (*tokens).clone())
        }
        TokenTree::Group(group) => {
            TokenTree::Group(Group::new(group.delimiter(), replace(group.stream(), names))).into()
        }
        token => token.into(),
    };
    tokens.into_iter().map(replace_one).collect::<TokenStream>()
}
