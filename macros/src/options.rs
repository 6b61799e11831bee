//! [`Options`]: the contents of an attribute's parentheses.

use proc_macro::{Ident, TokenStream, TokenTree};

use crate::error::Error;

/// `name = value`, and more of these after commas.
pub struct Options(Vec<Value>);

pub struct Value {
    name: Ident,
    pub tokens: TokenStream,
}

impl Options {
    /// # Errors
    /// If they aren't written like this.
    pub fn parse(tokens: TokenStream) -> Result<Self, Error> {
        let mut options = Vec::new();
        let mut tokens = tokens.into_iter();
        while let Some(token) = tokens.next() {
            let TokenTree::Ident(name) = token else {
                return Err(Error::new(token.span(), "an option is `name = value`"));
            };
            if !tokens.next().is_some_and(|token| is(&token, '=')) {
                return Err(Error::new(name.span(), format!("the option wants a value: `{name} = ..`")));
            }
            let value: TokenStream = tokens.by_ref().take_while(|token| !is(token, ',')).collect();
            if value.is_empty() {
                return Err(Error::new(name.span(), format!("the option wants a value: `{name} = ..`")));
            }
            options.push(Value { name, tokens: value });
        }
        Ok(Options(options))
    }

    /// Returns the options with these names.
    ///
    /// # Errors
    /// If there is another one, or one twice.
    pub fn named<const N: usize>(self, names: [&str; N]) -> Result<[Option<Value>; N], Error> {
        let mut found = [const { None }; N];
        for value in self.0 {
            let name = value.name.to_string();
            let Some(i) = names.iter().position(|known| *known == name) else {
                let known = names.map(|name| format!("`{name}`")).join(" and ");
                let message = format!("there is no option `{name}`, only {known}");
                return Err(Error::new(value.name.span(), message));
            };
            if found[i].is_some() {
                return Err(Error::new(value.name.span(), format!("`{name}` is there twice")));
            }
            found[i] = Some(value);
        }
        Ok(found)
    }
}

impl Value {
    /// Returns a time, in milliseconds.
    ///
    /// # Errors
    /// If the value isn't a time.
    pub fn millis(&self) -> Result<u64, Error> {
        let text = self.tokens.to_string();
        let time = text.strip_prefix('"').and_then(|text| millis(text.strip_suffix('"')?));
        time.ok_or_else(|| self.wrong("\"500ms\", \"10s\" or \"2m\""))
    }

    /// # Errors
    /// If it is neither `true` nor `false`.
    pub fn bool(&self) -> Result<bool, Error> {
        self.tokens.to_string().parse().map_err(|_| self.wrong("`true` or `false`"))
    }

    /// Makes the error for a wrong value.
    fn wrong(&self, expected: &str) -> Error {
        let span = self.tokens.clone().into_iter().next().map_or(self.name.span(), |token| token.span());
        Error::new(span, format!("`{}` is {expected}", self.name))
    }
}

/// Returns the milliseconds of a text like `10s`.
fn millis(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

fn is(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}
