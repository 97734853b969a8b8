//! A hash table with strings for keys, as JSON objects are in Lisp, as a map. It knows no protocol and no
//! facts.

use std::vec::IntoIter;

use emacs::{IntoLisp, Value};
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, value};

use super::de::{self, DeError, Lisp};

emacs::use_symbols! {
    hash_table => "hash-table"
    hash_table_keys => "hash-table-keys"
    gethash
    require
    subr_x => "subr-x"
}

/// Whether what `type-of` returned is that of a hash table.
pub(super) fn is_table(of_type: Value<'_>) -> bool {
    of_type == *hash_table
}

/// The entries of a hash table whose value is not nil: nil is as good as absent.
pub(super) struct Table<'k, 'e> {
    table: Lisp<'k, 'e>,
    keys: IntoIter<Key<'e>>,
    entry: Option<Lisp<'k, 'e>>,
}

enum Key<'e> {
    Field(&'static str),
    Lisp(Value<'e>),
}

impl<'k, 'e> Table<'k, 'e> {
    /// Only the entries that are `fields`: they need no list of all keys.
    pub(super) fn of_fields(table: Lisp<'k, 'e>, fields: &[&'static str]) -> Self {
        let keys: Vec<_> = fields.iter().map(|field| Key::Field(field)).collect();
        Self { table, keys: keys.into_iter(), entry: None }
    }

    /// All entries.
    pub(super) fn whole(table: Lisp<'k, 'e>) -> Result<Self, DeError> {
        let env = table.value.env;
        env.call(require, (subr_x,))?;
        let mut rest = env.call(hash_table_keys, (table.value,))?;
        let mut keys = Vec::new();
        while rest.is_not_nil() {
            keys.push(Key::Lisp(rest.car()?));
            rest = rest.cdr()?;
        }
        Ok(Self { table, keys: keys.into_iter(), entry: None })
    }
}

impl<'de> MapAccess<'de> for Table<'_, '_> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeError> {
        let env = self.table.value.env;
        for key in self.keys.by_ref() {
            let (key, name) = match key {
                Key::Field(name) => (name.into_lisp(env)?, name.to_string()),
                Key::Lisp(key) => (key, de::text(key)?),
            };
            let entry = env.call(gethash, (key, self.table.value))?;
            if entry.is_not_nil() {
                self.table.count()?;
                self.entry = Some(self.table.of(entry));
                let name: value::StringDeserializer<DeError> = name.into_deserializer();
                return seed.deserialize(name).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DeError> {
        let entry = self.entry.take().expect("serde asks for a value after its key only");
        seed.deserialize(entry)
    }
}
