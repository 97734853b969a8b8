//! Random facts through plan and assemble: whatever providers gave, there is an answer, and it keeps what
//! the protocol promises. Every run has the same cases.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use eca_context::core::facts::{Facts, Text};
use eca_context::core::plan::{FEATURES, Options};
use eca_context::files::FileLines;
use eca_context::wire::answer;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const TEXT: &str =
    "class Cart:\n\tdef total(self): return \"😀\" + self.total\r\n𝒳 = e\u{301}\rtotal\n\n";
const N_CASES: u32 = 400;

/// Every answer of this run, for tests/schema.py.
static ANSWERS: LazyLock<Mutex<File>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers-random.jsonl");
    Mutex::new(File::create(path).expect("cargo made the folder"))
});

fn one_of<T: Into<Value> + Clone>(values: &[T]) -> impl Strategy<Value = Value> + use<T> {
    prop::sample::select(values.iter().cloned().map(Into::into).collect::<Vec<Value>>())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let keys = ["items", "name", "children", "range", "start", "line", "uri", "message", "kind"];
    let key = prop::sample::select(keys.to_vec());
    leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(String::from), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => (0..6u32).prop_map(Value::from),
        2 => (0..60u32).prop_map(Value::from),
        1 => one_of(&[json!(-1), json!(u32::MAX), json!(u64::MAX), json!(1e300), json!(null)]),
    ]
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => one_of(&["total", "Cart", "total (def)", "", "*Rescan*", "Variables", "𝒳", "😀"]),
        1 => ".{0,300}".prop_map(Value::from),
        1 => Just(json!(5)),
    ]
}

fn file() -> impl Strategy<Value = Value> {
    let odd = ["/g", "/secret.pem", "file:///f", "jar:file:///a.jar!/b", "/a%\n\u{10ffe9}", ""];
    prop_oneof![6 => Just(json!("/f")), 3 => one_of(&odd), 1 => Just(Value::Null)]
}

fn range() -> impl Strategy<Value = Value> {
    let position =
        (number(), number()).prop_map(|(l, c)| json!({"line": l, "character": c})).boxed();
    prop_oneof![
        (number(), number(), number(), number()).prop_map(|(a, b, c, d)| json!([a, b, c, d])),
        (position.clone(), position).prop_map(|(start, end)| json!({"start": start, "end": end})),
    ]
}

/// An item of `feature`, mostly one that can be read.
fn item(feature: &str) -> BoxedStrategy<Value> {
    let kind = || one_of(&["class", "function", "def", "odd", ""]);
    let good = match feature {
        "symbolAtPosition" => (text(), range(), one_of(&["code", "comment", "odd"]))
            .prop_map(|(text, range, context)| json!([text, range, context]))
            .boxed(),
        "definitions" | "references" => {
            (file(), prop::collection::vec(number(), 4), text(), kind(), text())
                .prop_map(|(file, n, name, role, container)| {
                    json!([file, n[0], n[1], n[2], n[3], name, role, container])
                })
                .boxed()
        }
        "documentSymbols" => {
            let leaf = (text(), number(), number())
                .prop_map(|(name, line, character)| json!([name, line, character]));
            leaf.prop_recursive(4, 24, 4, |inner| {
                let kind = one_of(&["class", "function", "odd"]);
                (text(), number(), prop::collection::vec(inner, 0..4), kind)
                    .prop_map(|(name, line, children, hint)| json!([name, line, 0, children, hint]))
            })
            .boxed()
        }
        "enclosingSymbols" => (text(), kind(), range(), range())
            .prop_map(|(name, kind, range, selection)| json!([name, kind, range, selection]))
            .boxed(),
        "documentation" => (one_of(&["hover", "signature", "docstring", "odd"]), kind(), text())
            .prop_map(|(role, kind, value)| json!([role, kind, value]))
            .boxed(),
        "workspace" => (prop::collection::vec(file(), 0..4), range(), text())
            .prop_map(|(files, range, text)| {
                let file = files.first().cloned();
                let open: Vec<_> = files.iter().map(|file| json!([file, true, false])).collect();
                let selection = json!([file, range, text]);
                json!({"roots": [["/", null]], "openFiles": open, "currentFile": file,
                       "selection": selection})
            })
            .boxed(),
        _ => {
            (file(), one_of(&["error", "warning", "info", "hint", "odd"]), text(), range(), text())
                .prop_map(|(file, severity, source, range, message)| {
                    json!([file, severity, source, null, range, message])
                })
                .boxed()
        }
    };
    prop_oneof![12 => good, 1 => any_json()].boxed()
}

fn outcome(feature: &str) -> impl Strategy<Value = Value> + use<> {
    let raw = (text(), range(), range()).prop_map(|(name, range, selection)| {
        json!([{"uri": "file:///f", "range": range},
               {"name": name, "kind": 5, "range": range, "selectionRange": selection,
                "children": [{"name": name, "kind": 99, "range": selection}]},
               {"name": name, "kind": 6, "location": {"uri": "file:///f", "range": range}},
               {"contents": name}])
    });
    let statuses = ["timeout", "error", "no-provider", "starting", "odd", ""];
    let parts = (
        one_of(&["a", "b", ""]),
        one_of(&["semantic", "textual", "unknown", "odd"]),
        prop_oneof![6 => Just(json!("ok")), 3 => one_of(&statuses), 1 => Just(json!(3))],
        prop::collection::vec(item(feature), 0..6),
        prop_oneof![4 => Just(Value::Null), 1 => raw, 1 => any_json()],
        one_of(&[json!(null), json!("utf-8"), json!("utf-16"), json!("utf-32"), json!("odd")]),
        one_of(&[json!(true), json!(false), json!(null)]),
        any::<bool>(),
    );
    let good = parts.prop_map(|(provider, kind, status, items, raw, encoding, fresh, exact)| {
        json!({"provider": provider, "kind": kind, "status": status, "items": items, "raw": raw,
               "encoding": encoding, "fresh": fresh, "exact": exact, "reason": "why"})
    });
    prop_oneof![12 => good, 1 => any_json()]
}

fn facts() -> impl Strategy<Value = Value> {
    let outcomes = |feature| {
        prop_oneof![
            12 => prop::collection::vec(outcome(feature), 0..4).prop_map(Value::from),
            1 => any_json(),
        ]
    };
    let features: Vec<_> = FEATURES.iter().copied().chain(["diagnostics"]).map(outcomes).collect();
    let trouble = json!({"code": "out-of-range", "reason": "there is no line 9"});
    let documents = [json!({"path": "/f", "languageId": "python", "lineCount": 5}), json!(null)];
    (
        features,
        prop_oneof![9 => Just(json!(null)), 1 => Just(trouble.clone())],
        prop_oneof![6 => (0..5u32, 0..20u32).prop_map(|(l, c)| json!({"line": l, "character": c})),
                    1 => Just(json!(null))],
        prop_oneof![Just(json!(null)), Just(trouble)],
        prop_oneof![5 => Just(documents[0].clone()), 1 => Just(documents[1].clone())],
        one_of(&[json!(null), json!(1), json!(3)]),
    )
        .prop_map(|(outcomes, trouble, position, position_trouble, document, occurrences)| {
            let mut facts = json!({
                "trouble": trouble, "position": position, "positionTrouble": position_trouble,
                "document": document, "occurrences": occurrences, "excluded": ["/secret.pem"],
            });
            for (feature, outcomes) in FEATURES.iter().chain(&["diagnostics"]).zip(outcomes) {
                facts[*feature] = outcomes;
            }
            facts
        })
}

fn params() -> impl Strategy<Value = Value> {
    let names: Vec<_> = FEATURES.iter().copied().chain(["odd"]).collect();
    let at = (0..5u32, 0..20u32).prop_map(|(l, c)| json!({"line": l, "character": c}));
    (
        prop::option::of(prop::collection::vec(prop::sample::select(names), 0..9)),
        prop::option::of(at),
        prop::option::of(1..5u32),
        prop::option::of(0..3u32),
        one_of(&[json!(null), json!("warning")]),
        any::<bool>(),
    )
        .prop_map(|(include, position, limit, max_distance, min_severity, is_plain)| {
            if is_plain {
                return json!({"uri": "file:///f", "include": include});
            }
            json!({"uri": "file:///f", "include": include, "position": position, "limit": limit,
                   "maxDistance": max_distance, "minSeverity": min_severity})
        })
}

/// The answer to `method`, which may be one that this version does not know.
fn answered(method: &str, params: &Value, facts: &Value) -> Value {
    let facts: Facts =
        serde_json::from_value(facts.clone()).expect("facts read, whatever they hold");
    let text = Text { path: "/f".into(), text: TEXT.into(), modified: false };
    let lines = FileLines::new(vec![text], vec!["/secret.pem".into()]);
    let body = answer(method, params.clone(), Options::default(), facts, &lines, "1");
    let body: Value = serde_json::from_slice(&body).expect("an answer is JSON");
    let line = json!({"method": method, "body": body});
    let mut file = ANSWERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    writeln!(file, "{line}").expect("the file can be written");
    body
}

/// All of `value` that may be wrong anywhere: ranges that go backwards, files that must not appear.
fn check_values(value: &Value) {
    match value {
        Value::Array(items) => items.iter().for_each(check_values),
        Value::Object(map) => {
            map.values().for_each(check_values);
            if let (Some(start), Some(end)) = (map.get("start"), map.get("end")) {
                let key = |p: &Value| (p["line"].as_u64(), p["character"].as_u64());
                assert!(key(start) <= key(end), "{value}");
            }
            assert!(!map.values().any(|v| v == "file:///secret.pem"), "{value}");
        }
        _ => (),
    }
}

fn n_items(name: &str, value: &Value) -> usize {
    fn n_nodes(symbol: &Value) -> usize {
        1 + symbol["children"].as_array().map_or(0, |all| all.iter().map(n_nodes).sum())
    }
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    if name == "documentSymbols" { items.iter().map(n_nodes).sum() } else { items.len() }
}

fn check_context(params: &Value, result: &Value) {
    let unavailable = result["unavailable"].as_array().cloned().unwrap_or_default();
    let default = json!(["symbolAtPosition", "definitions", "documentSymbols"]);
    let include = if params["include"].is_null() { &default } else { &params["include"] };
    let include: HashSet<_> = include.as_array().expect("a list").iter().collect();
    let limit = params["limit"].as_u64().unwrap_or(100) as usize;
    for name in &include {
        let name = name.as_str().expect("a name");
        let entries: Vec<_> = unavailable.iter().filter(|e| e["capability"] == name).collect();
        let is_answered = result.get(name).is_some();
        assert!(is_answered || !entries.is_empty(), "{name} is not answered");
        assert!(!is_answered || entries.iter().all(|e| e["code"] == "partial"), "{name} twice");
        assert!(is_answered || entries.len() == 1, "{name} has several reasons");
        assert_eq!(is_answered, result["provenance"].get(name).is_some(), "{name}");
        assert!(n_items(name, &result[name]) <= limit, "{name} is not cut");
    }
    for entry in &unavailable {
        assert!(include.contains(&entry["capability"]), "{entry} was not asked for");
        assert!(entry["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{entry}");
    }
    for name in FEATURES.iter().filter(|name| !include.contains(&json!(name))) {
        assert!(result.get(*name).is_none(), "{name} was not asked for");
    }
    for (name, cut) in result["truncated"].as_object().into_iter().flatten() {
        let (returned, total) = (cut["returned"].as_u64(), cut["total"].as_u64());
        assert!(returned < total, "{cut}");
        if result.get(name).is_some() {
            assert_eq!(returned, Some(n_items(name, &result[name]) as u64), "{name}");
        }
    }
    for name in ["definitions", "references"] {
        let mut seen = HashSet::new();
        for place in result[name].as_array().into_iter().flatten() {
            assert!(seen.insert((&place["uri"], place["range"].to_string())), "{place} twice");
        }
    }
}

fn check_diagnostics(params: &Value, result: &Value) {
    let found = result["diagnostics"].as_array().expect("a list");
    let looked_up: Vec<_> = found.iter().filter(|d| d["source"] != "eca-context").collect();
    let limit = params["limit"].as_u64().unwrap_or(1000) as usize;
    assert!(
        looked_up.len() <= limit && looked_up.len() as u64 <= result["total"].as_u64().unwrap_or(0)
    );
    let is_near = !params["position"].is_null();
    assert!(looked_up.iter().all(|d| d.get("distance").is_some() == is_near), "{result}");
    let is_plain = ["position", "limit", "maxDistance", "minSeverity"]
        .iter()
        .all(|param| params[param].is_null());
    let is_unsure = result.get("unavailable").is_some() || result["fresh"] == false;
    if is_plain {
        assert_eq!(found.is_empty(), looked_up.is_empty() && !is_unsure, "a false clean: {result}");
    }
    assert!(!(result.get("unavailable").is_some() && result["fresh"] == true), "{result}");
}

#[test]
fn whatever_the_facts_there_is_a_right_answer() {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { cases: N_CASES, failure_persistence: None, ..Config::default() };
    let run =
        TestRunner::new_with_rng(config, seed).run(&(params(), facts()), |(params, facts)| {
            for method in ["editor/getContext", "editor/getDiagnostics"] {
                let body = answered(method, &params, &facts);
                let result = &body["result"];
                assert!(result.is_object(), "{body}");
                check_values(result);
                if method == "editor/getContext" {
                    check_context(&params, result);
                } else {
                    check_diagnostics(&params, result);
                }
            }
            Ok(())
        });
    run.unwrap_or_else(|error| panic!("{error}"));
}
