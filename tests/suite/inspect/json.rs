//! A reader of JSON, which panics where the text isn't JSON.

use std::ops::Index;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn of(text: &str) -> Json {
        let mut rest = text;
        let json = value(&mut rest);
        assert_eq!(rest, "", "behind the end");
        json
    }

    pub fn number(&self) -> f64 {
        let Json::Number(number) = self else { panic!("{self:?} is no number") };
        *number
    }

    pub fn text(&self) -> &str {
        let Json::Text(text) = self else { panic!("{self:?} is no text") };
        text
    }

    pub fn items(&self) -> &[Json] {
        let Json::Array(items) = self else { panic!("{self:?} is no array") };
        items
    }
}

impl Index<&str> for Json {
    type Output = Json;

    fn index(&self, key: &str) -> &Json {
        let Json::Object(members) = self else { panic!("{self:?} is no object") };
        let found = members.iter().find(|(other, _)| other == key);
        &found.unwrap_or_else(|| panic!("no {key} in {self:?}")).1
    }
}

fn eat(rest: &mut &str, text: &str) -> bool {
    let after = rest.strip_prefix(text);
    *rest = after.unwrap_or(rest);
    after.is_some()
}

fn value(rest: &mut &str) -> Json {
    if eat(rest, "null") {
        Json::Null
    } else if eat(rest, "true") {
        Json::Bool(true)
    } else if eat(rest, "false") {
        Json::Bool(false)
    } else if rest.starts_with('"') {
        Json::Text(string(rest))
    } else if eat(rest, "[") {
        let mut items = Vec::new();
        while !eat(rest, "]") {
            assert!(items.is_empty() || eat(rest, ","), "{rest}");
            items.push(value(rest));
        }
        Json::Array(items)
    } else if eat(rest, "{") {
        let mut members = Vec::new();
        while !eat(rest, "}") {
            assert!(members.is_empty() || eat(rest, ","), "{rest}");
            let key = string(rest);
            assert!(eat(rest, ":"), "{rest}");
            members.push((key, value(rest)));
        }
        Json::Object(members)
    } else {
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '.' | 'e')).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        *rest = after;
        Json::Number(number.parse().unwrap_or_else(|_| panic!("{number}{after}")))
    }
}

fn string(rest: &mut &str) -> String {
    assert!(eat(rest, "\""), "{rest}");
    let mut text = String::new();
    loop {
        let c = rest.chars().next().expect("an end of the string");
        *rest = &rest[c.len_utf8()..];
        match c {
            '"' => return text,
            '\\' if eat(rest, "u") => {
                let code = u32::from_str_radix(&rest[..4], 16).expect("four digits");
                *rest = &rest[4..];
                text.push(char::from_u32(code).expect("no half of a pair"));
            }
            '\\' => {
                assert!(rest.starts_with(['"', '\\']), "{rest}");
                text.push_str(&rest[..1]);
                *rest = &rest[1..];
            }
            c => {
                assert!(!c.is_control(), "{c:?}");
                text.push(c);
            }
        }
    }
}
