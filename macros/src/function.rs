//! [`Function`]: the parts of a function with an attribute.

use proc_macro::{Ident, Span, TokenStream, TokenTree};

use crate::error::Error;
use crate::template::fill;

pub struct Function {
    /// Its attributes and its visibility.
    before: Vec<TokenTree>,
    pub name: Ident,
    /// The tokens between its arguments and its body.
    pub returns: TokenStream,
    body: TokenTree,
}

impl Function {
    /// Parses the function with the attribute.
    ///
    /// # Errors
    /// If it isn't a plain function without arguments.
    pub fn parse(item: TokenStream) -> Result<Self, Error> {
        let mut tokens = item.into_iter();
        let before: Vec<_> = tokens.by_ref().take_while(|token| !is(token, "fn")).collect();
        let Some(TokenTree::Ident(name)) = tokens.next() else {
            return Err(Error::new(Span::call_site(), "this is for functions alone"));
        };
        let mut after: Vec<_> = tokens.collect();
        let wrong = |token: &TokenTree, message: &str| Err(Error::new(token.span(), message).of(&name));
        for token in &before {
            if is(token, "async") {
                return wrong(
                    token,
                    "the function can't be async: code that waits is a call like any other here, and \
                     `gosched::block_on` runs a future to its end",
                );
            }
            if matches!(token, TokenTree::Ident(_)) && !is(token, "pub") {
                return wrong(token, &format!("the function can't be `{token}`"));
            }
        }
        match after.first() {
            Some(TokenTree::Group(arguments)) if arguments.stream().is_empty() => drop(after.remove(0)),
            Some(token @ TokenTree::Group(_)) => {
                return wrong(token, "the function can't have arguments, as nobody is there to pass them");
            }
            Some(token) => {
                return wrong(token, "the function can't be generic, as nobody is there to choose a type");
            }
            None => unreachable!("the compiler has parsed a function"),
        }
        match after.pop() {
            Some(body @ TokenTree::Group(_)) => {
                Ok(Function { before, name, returns: after.into_iter().collect(), body })
            }
            token => wrong(&token.unwrap_or_else(|| name.clone().into()), "the function needs a body"),
        }
    }

    /// # Errors
    /// If std's attribute is there, too, or another one whose name ends in that.
    pub fn is_no_test_yet(&self) -> Result<(), Error> {
        let is_test = |token: &&TokenTree| {
            match token {
                TokenTree::Group(attribute) => attribute
                    .stream()
                    .into_iter()
                    .take_while(|token| !matches!(token, TokenTree::Group(_)))
                    .last(),
                _ => None,
            }
            .is_some_and(|name| is(&name, "test"))
        };
        match self.before.iter().find(is_test) {
            Some(test) => {
                Err(Error::new(test.span(), format!("#{test} would have this test run twice: leave it out")))
            }
            None => Ok(()),
        }
    }

    /// Calls [`fill`] with a template that also names the function's parts.
    pub fn fill(&self, template: &str, names: &[(&str, &TokenStream)]) -> TokenStream {
        let before = self.before.iter().cloned().collect();
        let name = TokenTree::from(self.name.clone()).into();
        let body = self.body.clone().into();
        let parts = [("BEFORE", &before), ("NAME", &name), ("RETURNS", &self.returns), ("BODY", &body)];
        fill(template, &[&parts, names].concat())
    }
}

fn is(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}
