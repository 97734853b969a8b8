//! A serde `Deserializer` over Lisp values. It knows no protocol and no facts.
//!
//! nil is null, an empty object, an empty array, an empty string or false, by the type that is wanted;
//! a vector or list is a sequence, or a struct in field order; a plist with keywords or a hash table with
//! strings is a map. Every string arrives: what is not UTF-8 in it becomes U+FFFD. Whatever the value,
//! reading it ends: what is nested too deep, circular, or too much for one call is an error.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::rc::Rc;

use emacs::{Env, ErrorKind, ModuleError, Value, Vector};
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use thiserror::Error;

use super::table::{Table, is_table};

emacs::use_symbols! {
    nil t
    integer => "integer"
    float => "float"
    string => "string"
    symbol => "symbol"
    cons => "cons"
    vector => "vector"
    json_false => ":json-false"
    false_keyword => ":false"
    null_keyword => ":null"
    symbol_name => "symbol-name"
    encode_coding_string => "encode-coding-string"
    utf_8_emacs => "utf-8-emacs-unix"
    vconcat
    to_float => "float"
}

/// Values may lie so deep in one another, as in JSON text for serde_json: the C stack takes no more.
const MAX_DEPTH: u8 = 128;
/// One call reads so many values: objects that share their parts may stand for more than memory holds.
const MAX_VALUES: u32 = 4_000_000;
/// A string of at most this many bytes is read in one call; for a longer one Emacs signals first.
const MAX_SHORT_BYTES: usize = 16 * 1024 - 1;

/// A Lisp value that is not of the wanted shape, or a Lisp signal while it was read.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct DeError(String);

impl de::Error for DeError {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl From<emacs::Error> for DeError {
    fn from(error: emacs::Error) -> Self {
        Self(error.to_string())
    }
}

/// Reads a `T` from `value`.
pub(crate) fn from_lisp<T: DeserializeOwned>(value: Value<'_>) -> Result<T, DeError> {
    let known = Known::default();
    T::deserialize(Lisp { value, known: &known, slot: MAX_SLOTS, depth: 0 })
}

/// The text of a Lisp string, whatever it holds.
pub(crate) fn text(value: Value<'_>) -> Result<String, DeError> {
    Ok(String::from_utf8(bytes(value)?).unwrap_or_else(|e| lossy(e.as_bytes())))
}

/// The bytes of a Lisp string, UTF-8 as far as there is such for its characters.
fn bytes(value: Value<'_>) -> Result<Vec<u8>, DeError> {
    match value.clone_string_contents() {
        Ok(bytes) => Ok(bytes),
        Err(error) if is_foreign_text(&error) => {
            let env = value.env;
            Ok(env.call(encode_coding_string, (value, utf_8_emacs))?.clone_string_contents()?)
        }
        Err(error) => Err(error.into()),
    }
}

const MAX_SLOTS: usize = 8;
const MAX_KNOWN: usize = 4;
const MAX_KEYS: usize = 32;

/// Texts that were read at one place of earlier vectors: the items of a list mostly share their file,
/// source and severity as objects, and to compare two objects is cheaper than to read a string.
#[derive(Default)]
struct Known<'e> {
    /// A bit for each depth: the last struct or sequence there was a vector.
    vectors: Cell<u128>,
    n_read: Cell<u32>,
    /// Where short strings are read into.
    buffer: RefCell<Vec<u8>>,
    slots: RefCell<[Slot<'e>; MAX_SLOTS]>,
    /// Keywords that were met, without their colon: those of a plist stand in the next one, too.
    keys: RefCell<Vec<(Value<'e>, Rc<str>)>>,
}

#[derive(Default)]
struct Slot<'e> {
    texts: Vec<(Value<'e>, Rc<str>)>,
    /// How many texts more were read than found here; a slot that is of no use is given up.
    n_missed: u32,
}

impl<'e> Known<'e> {
    /// Counts one value more; an error from the first one on that is too many.
    fn count(&self) -> Result<(), DeError> {
        let n_read = self.n_read.get() + 1;
        if n_read > MAX_VALUES {
            return Err(DeError(format!("more than {MAX_VALUES} values")));
        }
        self.n_read.set(n_read);
        Ok(())
    }

    /// The name of `value` without its colon, if it is a keyword.
    fn key(&self, value: Value<'e>) -> Result<Option<Rc<str>>, DeError> {
        let keys = &mut *self.keys.borrow_mut();
        if let Some((_, name)) = keys.iter().find(|(known, _)| *known == value) {
            return Ok(Some(Rc::clone(name)));
        }
        let Some(text) = symbol_text(value)? else { return Ok(None) };
        let Some(name) = text.strip_prefix(':') else { return Ok(None) };
        let name = Rc::<str>::from(name);
        if keys.len() < MAX_KEYS {
            keys.push((value, Rc::clone(&name)));
        }
        Ok(Some(name))
    }

    /// The text of a short Lisp string; `None` for any other value.
    fn short_text(&self, value: Value<'e>) -> Option<String> {
        let buffer = &mut *self.buffer.borrow_mut();
        buffer.resize(MAX_SHORT_BYTES + 1, 0);
        let bytes = value.copy_string_contents(buffer).ok()?;
        Some(std::str::from_utf8(bytes).map_or_else(|_| lossy(bytes), String::from))
    }

    fn text(&self, slot: usize, value: Value<'e>) -> Option<Text> {
        let slots = &mut *self.slots.borrow_mut();
        let Some(slot) = slots.get_mut(slot).filter(|slot| slot.n_missed < 16) else {
            return self.short_text(value).map(Text::New);
        };
        if let Some((_, text)) = slot.texts.iter().find(|(known, _)| *known == value) {
            slot.n_missed = 0;
            return Some(Text::Known(Rc::clone(text)));
        }
        let text = self.short_text(value)?;
        let known = (value, Rc::from(text.as_str()));
        if slot.texts.len() < MAX_KNOWN {
            slot.texts.push(known);
        } else {
            slot.texts[slot.n_missed as usize % MAX_KNOWN] = known;
        }
        slot.n_missed += 1;
        Some(Text::New(text))
    }
}

enum Text {
    New(String),
    Known(Rc<str>),
}

impl Text {
    fn contains(&self, c: char) -> bool {
        match self {
            Self::New(text) => text.contains(c),
            Self::Known(text) => text.contains(c),
        }
    }
}

/// One U+FFFD for each code point or byte that UTF-8 does not have: Emacs writes a surrogate in three
/// bytes and a code point above U+10FFFF in four or five.
fn lossy(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let error = match std::str::from_utf8(rest) {
            Ok(valid) => {
                out.push_str(valid);
                break;
            }
            Err(error) => error,
        };
        let (valid, bad) = rest.split_at(error.valid_up_to());
        out.push_str(&String::from_utf8_lossy(valid));
        out.push('\u{fffd}');
        let n_wanted = match bad[0] {
            0xed => 3,
            0xf4..=0xf7 => 4,
            0xf8..=0xfb => 5,
            _ => 1,
        };
        let n_more = bad[1..].iter().take_while(|b| (0x80..0xc0).contains(*b)).count();
        rest = &bad[if n_more + 1 >= n_wanted { n_wanted } else { 1 }..];
    }
    out
}

fn is_foreign_text(error: &emacs::Error) -> bool {
    matches!(
        error.downcast_ref::<ErrorKind>(),
        Some(ErrorKind::Module(ModuleError::NonUnicodeString { .. }))
    )
}

/// What a Lisp value is, as far as reading it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nil,
    True,
    False,
    Integer,
    Float,
    String,
    Symbol,
    Plist,
    List,
    Vector,
    Table,
    Other,
}

#[derive(Clone, Copy)]
pub(super) struct Lisp<'k, 'e> {
    pub(super) value: Value<'e>,
    known: &'k Known<'e>,
    /// Where in a vector the value stands; `MAX_SLOTS` if in none.
    slot: usize,
    /// In how many others the value lies.
    depth: u8,
}

impl<'k, 'e> Lisp<'k, 'e> {
    fn env(&self) -> &'e Env {
        self.value.env
    }

    /// The value `value`, which lies in this one.
    pub(super) fn of(self, value: Value<'e>) -> Self {
        Self { value, known: self.known, slot: MAX_SLOTS, depth: self.depth + 1 }
    }

    /// Counts one value more that lies in this one.
    pub(super) fn count(&self) -> Result<(), DeError> {
        self.known.count()
    }

    /// An error if what the value holds would lie too deep.
    fn check_depth(&self) -> Result<(), DeError> {
        if self.depth < MAX_DEPTH {
            return Ok(());
        }
        Err(DeError(format!("nested more than {MAX_DEPTH} deep")))
    }

    /// The items, if the value is a vector. Where the last struct at its depth was one, it is most often
    /// cheaper not to ask for the type first; but then what is none costs a signal.
    fn items(self) -> Result<Option<Items<'k, 'e>>, DeError> {
        self.check_depth()?;
        let (vectors, here) = (self.known.vectors.get(), 1 << self.depth);
        if vectors & here != 0
            && let Ok(items) = Items::new(self)
        {
            return Ok(Some(items));
        }
        if self.env().type_of(self.value)? == *vector {
            self.known.vectors.set(vectors | here);
            return Items::new(self).map(Some);
        }
        // What lies in this one is likely of another kind, too.
        self.known.vectors.set(vectors & (here - 1));
        Ok(None)
    }

    /// The entries, if the value is a plist.
    fn plist(self) -> Result<Option<Plist<'k, 'e>>, DeError> {
        match self.value.car::<Value<'e>>() {
            Ok(first) if first.is_not_nil() && self.known.key(first)?.is_some() => {
                Ok(Some(Plist::new(self)))
            }
            _ => Ok(None),
        }
    }

    /// What is wanted here is an integer up to `most`: most often it is one. An integral float is an
    /// integer, and what is larger is as good as `most`.
    fn integer<'de, V: Visitor<'de>>(self, most: u32, visitor: V) -> Result<V::Value, DeError> {
        if let Ok(number) = self.value.into_rust::<i64>() {
            return visitor.visit_i64(number.min(most.into()));
        }
        match self.kind()? {
            Kind::Integer | Kind::Float => {
                let number = self.float()?;
                if number.fract() == 0.0 || number.is_infinite() {
                    visitor.visit_i64(number.min(most.into()) as i64)
                } else {
                    visitor.visit_f64(number)
                }
            }
            _ => de::Deserializer::deserialize_any(self, visitor),
        }
    }

    /// The number, which may be an integer of any size.
    fn float(&self) -> Result<f64, DeError> {
        Ok(self.env().call(to_float, (self.value,))?.into_rust()?)
    }

    fn kind(&self) -> Result<Kind, DeError> {
        self.check_depth()?;
        let env = self.env();
        if !self.value.is_not_nil() {
            return Ok(Kind::Nil);
        }
        let of_type = env.type_of(self.value)?;
        let is = |name: &'static emacs::OnceGlobalRef| of_type == *name;
        Ok(if is(string) {
            Kind::String
        } else if is(integer) {
            Kind::Integer
        } else if is(vector) {
            Kind::Vector
        } else if is(cons) {
            let first: Value<'e> = self.value.car()?;
            if first.is_not_nil() && self.known.key(first)?.is_some() {
                Kind::Plist
            } else {
                Kind::List
            }
        } else if is(float) {
            Kind::Float
        } else if is(symbol) {
            if self.value == *t {
                Kind::True
            } else if self.value == *null_keyword {
                Kind::Nil
            } else if self.value == *json_false || self.value == *false_keyword {
                Kind::False
            } else {
                Kind::Symbol
            }
        } else if is_table(of_type) {
            Kind::Table
        } else {
            Kind::Other
        })
    }
}

/// The name of `value`, if it is a symbol.
fn symbol_text(value: Value<'_>) -> Result<Option<String>, DeError> {
    let env = value.env;
    if env.type_of(value)? != *symbol {
        return Ok(None);
    }
    Ok(Some(text(env.call(symbol_name, (value,))?)?))
}

impl<'de, 'k, 'e> de::Deserializer<'de> for Lisp<'k, 'e> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.kind()? {
            Kind::Nil => visitor.visit_unit(),
            Kind::True => visitor.visit_bool(true),
            Kind::False => visitor.visit_bool(false),
            Kind::Integer => match self.value.into_rust::<i64>() {
                Ok(number) => visitor.visit_i64(number),
                Err(_) => visitor.visit_f64(self.float()?.clamp(f64::MIN, f64::MAX)),
            },
            // JSON has neither what is beyond all numbers nor what is none.
            Kind::Float => match self.float()? {
                number if number.is_nan() => visitor.visit_str("NaN"),
                number => visitor.visit_f64(number.clamp(f64::MIN, f64::MAX)),
            },
            Kind::String => visitor.visit_string(text(self.value)?),
            Kind::Symbol => visitor.visit_string(symbol_text(self.value)?.unwrap_or_default()),
            Kind::Plist => visitor.visit_map(Plist::new(self)),
            Kind::List => visitor.visit_seq(List::new(self)),
            Kind::Vector => visitor.visit_seq(Items::new(self)?),
            Kind::Table => visitor.visit_map(Table::whole(self)?),
            Kind::Other => Err(de::Error::custom("a Lisp value of a type that JSON does not have")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if !self.value.is_not_nil() || self.value == *null_keyword {
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.kind()? {
            Kind::Nil | Kind::False => visitor.visit_bool(false),
            _ => visitor.visit_bool(true),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if let Some(items) = self.items()? {
            return visitor.visit_seq(items);
        }
        match self.kind()? {
            Kind::Nil => visitor.visit_seq(List::new(self)),
            // A list is walked only if it cannot be had as a vector, one call for all its items.
            Kind::List | Kind::Plist => match self.env().call(vconcat, (self.value,)) {
                Ok(items) => visitor.visit_seq(Items::new(self.of(items))?),
                Err(_) => visitor.visit_seq(List::new(self)),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if let Some(items) = self.items()? {
            return visitor.visit_seq(items);
        }
        match self.kind()? {
            Kind::Nil => visitor.visit_map(Plist::new(self)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        if let Some(items) = self.items()? {
            return visitor.visit_seq(items);
        }
        if let Some(plist) = self.plist()? {
            return visitor.visit_map(plist);
        }
        match self.kind()? {
            Kind::Nil => visitor.visit_map(Plist::new(self)),
            Kind::Table => visitor.visit_map(Table::of_fields(self, fields)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.known.text(self.slot, self.value) {
            Some(Text::New(text)) => visitor.visit_string(text),
            Some(Text::Known(text)) => visitor.visit_str(&text),
            None if !self.value.is_not_nil() || self.value == *null_keyword => {
                visitor.visit_string(String::new())
            }
            None => self.deserialize_any(visitor),
        }
    }

    /// A string whose bytes matter, as a file's name: what is not UTF-8 in it comes as bytes.
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match self.known.text(self.slot, self.value) {
            Some(text) if text.contains(char::REPLACEMENT_CHARACTER) => {
                visitor.visit_byte_buf(bytes(self.value)?)
            }
            Some(Text::New(text)) => visitor.visit_string(text),
            Some(Text::Known(text)) => visitor.visit_str(&text),
            None if self.kind()? == Kind::String => visitor.visit_byte_buf(bytes(self.value)?),
            None => self.deserialize_string(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_string(visitor)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.integer(u8::MAX.into(), visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.integer(u32::MAX, visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.integer(u32::MAX, visitor)
    }

    /// A type that only wraps another one reads as that one.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self)
    }

    /// What nobody wants is not walked.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u16 u128 f32 f64 char bytes unit unit_struct
        tuple tuple_struct enum identifier
    }
}

/// The items of a list; a tail that is no list ends it.
struct List<'k, 'e> {
    rest: Lisp<'k, 'e>,
    /// A cell met before, and after how many more another one is kept: a circle comes to it again.
    met: Value<'e>,
    n_left: u32,
    lap: u32,
}

impl<'k, 'e> List<'k, 'e> {
    fn new(rest: Lisp<'k, 'e>) -> Self {
        Self { rest, met: rest.value, n_left: 1, lap: 1 }
    }

    fn next(&mut self) -> Result<Option<Lisp<'k, 'e>>, DeError> {
        let rest = self.rest.value;
        if !rest.is_not_nil() {
            return Ok(None);
        }
        let Ok(item) = rest.car() else { return Ok(None) };
        self.rest.known.count()?;
        let item = self.rest.of(item);
        self.rest.value = rest.cdr()?;
        if self.rest.value == self.met {
            return Err(DeError("a circular list".into()));
        }
        self.n_left -= 1;
        if self.n_left == 0 {
            self.lap = self.lap.saturating_mul(2);
            (self.met, self.n_left) = (self.rest.value, self.lap);
        }
        Ok(Some(item))
    }
}

impl<'de, 'k, 'e> SeqAccess<'de> for List<'k, 'e> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeError> {
        self.next()?.map(|item| seed.deserialize(item)).transpose()
    }
}

struct Items<'k, 'e> {
    vector: Vector<'e>,
    lisp: Lisp<'k, 'e>,
    item_idx: usize,
}

impl<'k, 'e> Items<'k, 'e> {
    fn new(lisp: Lisp<'k, 'e>) -> Result<Self, DeError> {
        Ok(Self { vector: lisp.value.into_rust()?, lisp, item_idx: 0 })
    }
}

impl<'de, 'k, 'e> SeqAccess<'de> for Items<'k, 'e> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeError> {
        let slot = self.item_idx;
        if slot >= self.vector.len() {
            return Ok(None);
        }
        self.lisp.known.count()?;
        let value = self.vector.get(slot)?;
        self.item_idx += 1;
        seed.deserialize(Lisp { slot, ..self.lisp.of(value) }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.vector.len() - self.item_idx)
    }
}

/// The entries of a plist; of a key that stands twice the first counts, as for `plist-get`.
struct Plist<'k, 'e> {
    rest: List<'k, 'e>,
    entry: Option<Lisp<'k, 'e>>,
    seen: Vec<Rc<str>>,
}

impl<'k, 'e> Plist<'k, 'e> {
    fn new(rest: Lisp<'k, 'e>) -> Self {
        Self { rest: List::new(rest), entry: None, seen: Vec::new() }
    }

    fn next_name(&mut self) -> Result<Option<Rc<str>>, DeError> {
        loop {
            let Some(key) = self.rest.next()? else { return Ok(None) };
            self.entry = self.rest.next()?;
            let name = match key.known.key(key.value)? {
                Some(name) => name,
                None => symbol_text(key.value)?
                    .ok_or_else(|| DeError("a plist key is no symbol".into()))?
                    .into(),
            };
            if !self.seen.contains(&name) {
                self.seen.push(Rc::clone(&name));
                return Ok(Some(name));
            }
        }
    }
}

impl<'de, 'k, 'e> MapAccess<'de> for Plist<'k, 'e> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeError> {
        let Some(name) = self.next_name()? else { return Ok(None) };
        let key: de::value::StrDeserializer<'_, DeError> = (*name).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DeError> {
        match self.entry.take() {
            Some(value) => seed.deserialize(value),
            None => Err(DeError("a plist ends with a key".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lossy;

    #[test]
    fn c11_each_foreign_code_point_is_one_mark() {
        for (bytes, text) in [
            (&b"a\xe9b"[..], "a\u{fffd}b"),
            (b"a\xed\xa0\xbdb", "a\u{fffd}b"),
            (b"a\xf8\x88\x80\x80\x80b", "a\u{fffd}b"),
            (b"a\xf4\x90\x80\x80b", "a\u{fffd}b"),
            (b"\xc3\xa9\xe9", "é\u{fffd}"),
        ] {
            assert_eq!(lossy(bytes), text);
        }
    }
}
