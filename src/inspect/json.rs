//! A writer for JSON. The text has no character that means something in HTML, so that it does no
//! harm where it is taken for a page.

use std::fmt::{Display, Write};

/// JSON that is being written. Commas are added between elements.
#[derive(Default)]
pub(super) struct Json(String);

impl Json {
    /// Returns the text of one object.
    pub(super) fn of_object(write: impl FnOnce(&mut Json)) -> String {
        let mut json = Json::default();
        json.object(write);
        json.0
    }

    fn separate(&mut self) {
        if !matches!(self.0.as_bytes().last(), None | Some(b'{' | b'[' | b':')) {
            self.0.push(',');
        }
    }

    /// Writes an object, whose members `write` writes.
    pub(super) fn object(&mut self, write: impl FnOnce(&mut Json)) {
        self.between('{', write, '}');
    }

    /// Writes an array, whose elements `write` writes.
    pub(super) fn array(&mut self, write: impl FnOnce(&mut Json)) {
        self.between('[', write, ']');
    }

    fn between(&mut self, open: char, write: impl FnOnce(&mut Json), close: char) {
        self.separate();
        self.0.push(open);
        write(self);
        self.0.push(close);
    }

    /// Writes a key of an object. Its value comes next.
    pub(super) fn key(&mut self, key: &str) -> &mut Json {
        self.string(key);
        self.0.push(':');
        self
    }

    /// Writes a number; `null` if it isn't finite.
    pub(super) fn number(&mut self, number: impl Into<f64>) {
        self.separate();
        let number: f64 = number.into();
        // Writing to a string doesn't fail.
        let _ = if number.is_finite() { write!(self.0, "{number}") } else { write!(self.0, "null") };
    }

    /// Writes an integer, without loss.
    pub(super) fn integer(&mut self, number: impl Display) {
        self.separate();
        let _ = write!(self.0, "{number}");
    }

    /// Writes `true` or `false`.
    pub(super) fn bool(&mut self, value: bool) {
        self.integer(value);
    }

    /// Writes what `write` writes for a value, or `null`.
    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Json, T)) {
        match value {
            Some(value) => write(self, value),
            None => self.integer("null"),
        }
    }

    /// Writes a string.
    pub(super) fn string(&mut self, text: &str) {
        self.separate();
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '<' | '>' | '&' | '\'' | '\u{2028}' | '\u{2029}' | '\0'..='\x1f' | '\x7f' => {
                    let _ = write!(self.0, "\\u{:04x}", u32::from(c));
                }
                _ => self.0.push(c),
            }
        }
        self.0.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_escapes() {
        let text = Json::of_object(|json| {
            json.key("a").array(|json| {
                json.integer(1);
                json.string("<b>\"\\\n\u{2028}é");
                json.object(|_| ());
                json.array(|_| ());
                json.number(f64::NAN);
            });
            json.key("b").option(None::<u8>, |json, n| json.integer(n));
            json.key("c").bool(true);
            json.key("d").number(0.5);
        });
        let expected = r#"{"a":[1,"\u003cb\u003e\"\\\u000a\u2028é",{},[],null],"b":null,"c":true,"d":0.5}"#;
        assert_eq!(text, expected);
    }
}
