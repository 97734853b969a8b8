//! Fixtures through plan and assemble: which answer follows from which facts.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{LazyLock, Mutex};

use eca_context::core::facts::{Facts, Text};
use eca_context::core::plan::Options;
use eca_context::files::FileLines;
use eca_context::wire::answer;
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(folder: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(name)).expect("a fixture has this file");
    serde_json::from_str(&text).expect("a fixture is JSON")
}

/// Every answer of this run, for tests/schema.py.
static ANSWERS: LazyLock<Mutex<File>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers.jsonl");
    Mutex::new(File::create(path).expect("cargo made the folder"))
});

/// The parsed body, after it was written down beside its method.
fn recorded(method: &str, body: &[u8]) -> Value {
    let body: Value = serde_json::from_slice(body).expect("an answer is JSON");
    let line = json!({"method": method, "body": body});
    let mut file = ANSWERS.lock().expect("no writer panics");
    writeln!(file, "{line}").expect("the file can be written");
    body
}

#[test]
fn golden_answer_follows_from_facts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden");
    let request = read(&folder, "request.json");
    let facts: Facts = serde_json::from_value(read(&folder, "facts.json")).expect("facts read");
    let text = std::fs::read_to_string(folder.join("project/app.py")).expect("the project's file");
    let path = "/repo/app.py".to_string();
    let lines = FileLines::new(vec![Text { path, text, modified: false }], Vec::new());
    let method = request["method"].as_str().expect("a method");
    let body = answer(method, request["params"].clone(), Options::default(), facts, &lines, "1");
    let got = recorded(method, &body);
    assert_eq!(got, read(&folder, "answer.json"));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("uri"),
        Just("position"),
        Just("range"),
        Just("start"),
        Just("end"),
        Just("line"),
        Just("character"),
        Just("symbol"),
        Just("include"),
        Just("limit"),
        Just("minSeverity"),
        Just("maxDistance"),
    ];
    leaf.prop_recursive(3, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(String::from), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn random_params_are_answered(params in any_json(), context in any::<bool>()) {
        let method = if context { "editor/getContext" } else { "editor/getDiagnostics" };
        let lines = FileLines::new(Vec::new(), Vec::new());
        let body = answer(method, params, Options::default(), Facts::default(), &lines, "1");
        let got = recorded(method, &body);
        prop_assert_eq!(&got["id"], &json!(1));
        prop_assert!(got.get("result").is_some() != got.get("error").is_some());
        prop_assert!(context || got.get("result").is_some());
    }
}
