//! [`Error`]: the reason why an attribute can't be used.

use proc_macro::{Ident, Literal, Span, TokenStream, TokenTree};

use crate::template::fill;

/// A message for the compiler to print, and its place.
pub struct Error {
    message: String,
    span: Span,
    /// The function's name, once it is known.
    name: Option<Ident>,
}

impl Error {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Error { message: message.into(), span, name: None }
    }

    /// Returns the same error, for the function with this name.
    pub fn of(self, name: &Ident) -> Self {
        Error { name: Some(name.clone()), ..self }
    }

    /// Returns code that makes the compiler print the message. The code has the function without
    /// its body: so the compiler reports nothing else of it, nor a missing `main`.
    pub fn emit(self, attribute: &str) -> TokenStream {
        let text = Literal::string(&format!("#[{attribute}]: {}", self.message));
        let error = fill("::core::compile_error! { TEXT }", &[("TEXT", &TokenTree::from(text).into())]);
        let set_span = |mut token: TokenTree| {
            token.set_span(self.span);
            token
        };
        let mut code: TokenStream = error.into_iter().map(set_span).collect();
        if let Some(name) = self.name {
            code.extend(fill("fn NAME() {}", &[("NAME", &TokenTree::from(name).into())]));
        }
        code
    }
}
