//! The Emacs face: Lisp values in, plists and finished frames out. It decides nothing and knows no
//! neighbour of Emacs; errors are conditions under `eca-context-error`.

mod channel;
mod de;
mod items;
mod lsp;
mod named;
#[cfg(unix)]
mod serve;
mod table;

use std::panic;

use emacs::{Env, IntoLisp, Result, Value, defun};
use serde_json::Value as Json;

use crate::core::diagnostics::choose;
use crate::core::facts::Facts;
use crate::core::plan::Options;
use crate::files::FileLines;
use crate::wire;

emacs::plugin_is_GPL_compatible!();

emacs::define_errors! {
    eca_context_error "eca-context failed" (error)
    eca_context_bad_value "eca-context was given a Lisp value it cannot read" (eca_context_error)
}

/// Panics arrive as Lisp errors with their text, so nothing is printed.
#[emacs::module(
    name = "eca-context-module",
    defun_prefix = "eca-context-module",
    mod_in_name = false
)]
fn init(_: &Env) -> Result<()> {
    panic::set_hook(Box::new(|_| ()));
    Ok(())
}

/// Return the version of the module, a string.
#[defun]
fn version() -> Result<&'static str> {
    Ok(env!("CARGO_PKG_VERSION"))
}

/// Return what to gather for METHOD with PARAMS under OPTIONS, as a plist.
///
/// The plist has `:features' (list of strings), `:limit', and where the request
/// says so `:uri', `:line', `:character', `:symbol', `:occurrence'; or only
/// `:error', a plist with `:code' and `:message'.
/// PARAMS and OPTIONS are plists with keywords.
#[defun]
fn plan<'e>(
    env: &'e Env,
    method: Value<'e>,
    params: Value<'e>,
    options: Value<'e>,
) -> Result<Value<'e>> {
    let (method, options) = request(env, method, options)?;
    let plan = match de::from_lisp::<Json>(params) {
        Ok(params) => wire::plan_value(&method, params, options),
        Err(error) => wire::no_plan(&error),
    };
    let plan = serde_json::to_value(plan).map_err(|e| emacs::Error::msg(e.to_string()))?;
    to_lisp(env, &plan)
}

/// Return the frame that answers request ID for METHOD, a unibyte string.
///
/// PARAMS and OPTIONS are plists with keywords, FACTS what was gathered.  ID is
/// an integer, a float or a string.  The frame holds header and body; params or
/// facts that cannot be read are said in the answer, never an error here.
#[defun]
fn answer<'e>(
    env: &'e Env,
    id: Value<'e>,
    method: Value<'e>,
    params: Value<'e>,
    options: Value<'e>,
    facts: Value<'e>,
) -> Result<Value<'e>> {
    let id = id_text(env, id)?;
    let (method, options) = request(env, method, options)?;
    let body = match (de::from_lisp::<Json>(params), de::from_lisp::<Facts>(facts)) {
        (Ok(params), Ok(mut facts)) => {
            let lines = FileLines::new(
                std::mem::take(&mut facts.texts),
                std::mem::take(&mut facts.excluded),
            );
            wire::answer(&method, params, options, facts, &lines, &id)
        }
        (Err(error), _) => wire::unreadable_params(&method, &options, &error, &id),
        (_, Err(error)) => wire::unreadable_facts(&method, &options, &error, &id),
    };
    wire::frame(body).into_lisp(env)
}

/// Return the local files that the raw results of OUTCOMES name, a list of strings.
///
/// OUTCOMES is a list of outcomes about definitions or references, as in the
/// facts; their items are not looked at.
#[defun]
fn files<'e>(env: &'e Env, outcomes: Value<'e>) -> Result<Value<'e>> {
    let outcomes = de::from_lisp(outcomes).or_else(|e| bad_value(env, &e))?;
    to_lisp(env, &Json::from(named::files(outcomes)))
}

/// Return which of ITEMS must be known wholly to answer by PLAN, or nil: all.
///
/// ITEMS is a vector of diagnostics of one file, as in the facts, PLAN what
/// `eca-context-module-plan' returned.  Only places and severities are read.
/// The value is (OMITTED . INDEXES): what the facts say of the others, and the
/// ascending indexes of those that are needed.
#[defun]
fn near<'e>(env: &'e Env, items: Value<'e>, plan: Value<'e>) -> Result<Value<'e>> {
    let plan = de::from_lisp::<items::Limits>(plan).or_else(|e| bad_value(env, &e))?;
    let Some(keys) = items::keys(items)? else { return ().into_lisp(env) };
    let choice = choose(&keys, &plan.wanted());
    let mut indexes = ().into_lisp(env)?;
    for item_idx in choice.item_idxs.iter().rev() {
        indexes = env.cons(*item_idx, indexes)?;
    }
    let omitted =
        serde_json::to_value(choice.omitted).map_err(|e| emacs::Error::msg(e.to_string()))?;
    env.cons(to_lisp(env, &omitted)?, indexes)
}

/// Return the frame that answers request ID with the JSON-RPC error CODE and MESSAGE.
#[defun]
fn error_frame<'e>(
    env: &'e Env,
    id: Value<'e>,
    code: i64,
    message: Value<'e>,
) -> Result<Value<'e>> {
    let message = de::text(message).or_else(|e| bad_value(env, &e))?;
    let body = wire::error_body(&id_text(env, id)?, code as i32, &message);
    wire::frame(body).into_lisp(env)
}

fn request<'e>(env: &'e Env, method: Value<'e>, options: Value<'e>) -> Result<(String, Options)> {
    let method = de::text(method).or_else(|e| bad_value(env, &e))?;
    let options = de::from_lisp::<Options>(options).or_else(|e| bad_value(env, &e))?;
    Ok((method, options))
}

/// The id as JSON text; integers of any size go through Lisp's own printing.
fn id_text<'e>(env: &'e Env, id: Value<'e>) -> Result<String> {
    if let Ok(number) = id.into_rust::<i64>() {
        return Ok(number.to_string());
    }
    if let Ok(string) = de::text(id) {
        return Ok(Json::from(string).to_string());
    }
    if !id.is_not_nil() {
        return Ok("null".into());
    }
    let printed = env.call("number-to-string", (id,))?;
    let printed = de::text(printed).or_else(|e| bad_value(env, &e))?;
    // JSON has no such float as `1.0e+INF`.
    Ok(if printed.ends_with(['F', 'N']) { "null".into() } else { printed })
}

fn bad_value<T>(env: &Env, error: &de::DeError) -> Result<T> {
    env.signal(eca_context_bad_value, (error.to_string(),))
}

/// JSON as Lisp: objects are plists with keywords, arrays lists, null and false nil.
fn to_lisp<'e>(env: &'e Env, json: &Json) -> Result<Value<'e>> {
    match json {
        Json::Null | Json::Bool(false) => ().into_lisp(env),
        Json::Bool(true) => env.intern("t"),
        Json::Number(number) => match number.as_i64() {
            Some(number) => number.into_lisp(env),
            None => number.as_f64().unwrap_or(0.0).into_lisp(env),
        },
        Json::String(text) => text.into_lisp(env),
        Json::Array(items) => {
            let mut list = ().into_lisp(env)?;
            for item in items.iter().rev() {
                list = env.cons(to_lisp(env, item)?, list)?;
            }
            Ok(list)
        }
        Json::Object(map) => {
            let mut list = ().into_lisp(env)?;
            for (key, value) in map.iter().rev() {
                list = env.cons(to_lisp(env, value)?, list)?;
                list = env.cons(env.intern(&format!(":{key}"))?, list)?;
            }
            Ok(list)
        }
    }
}

/// JSON as Lisp whose arrays are vectors and whose false is `:json-false`, so that it reads back as it was.
fn vectors<'e>(env: &'e Env, json: &Json) -> Result<Value<'e>> {
    match json {
        Json::Bool(false) => env.intern(":json-false"),
        Json::Array(items) => {
            let vector = env.make_vector(items.len(), ())?;
            for (item_idx, item) in items.iter().enumerate() {
                vector.set(item_idx, vectors(env, item)?)?;
            }
            Ok(vector.value())
        }
        Json::Object(map) => {
            let mut list = ().into_lisp(env)?;
            for (key, value) in map.iter().rev() {
                list = env.cons(vectors(env, value)?, list)?;
                list = env.cons(env.intern(&format!(":{key}"))?, list)?;
            }
            Ok(list)
        }
        other => to_lisp(env, other),
    }
}
