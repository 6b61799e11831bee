//! [`Error`]: why an attribute can't do its work.

use proc_macro::{Ident, Literal, Span, TokenStream, TokenTree};

use crate::template::fill;

/// What the compiler is to say, and where.
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

    /// The same, of the function that has this name.
    pub fn of(self, name: &Ident) -> Self {
        Error { name: Some(name.clone()), ..self }
    }

    /// Code that has the compiler say it. The function is there, without its body: nothing else is
    /// said of it, nor of a `main` that is missing.
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
