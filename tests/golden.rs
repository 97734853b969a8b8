//! Fixtures through plan and assemble: which answer follows from which facts.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
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

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The answer to `request` that follows from `facts` about the golden project.
fn check(request: &Value, facts: Value) -> Value {
    let facts: Facts = serde_json::from_value(facts).expect("facts read");
    let text =
        std::fs::read_to_string(fixture("golden/project/app.py")).expect("the project's file");
    let path = "/repo/app.py".to_string();
    let lines = FileLines::new(vec![Text { path, text, modified: false }], Vec::new());
    let method = request["method"].as_str().expect("a method");
    let body = answer(method, request["params"].clone(), Options::default(), facts, &lines, "1");
    recorded(method, &body)
}

#[test]
fn golden_answer_follows_from_facts() {
    for name in ["golden", "golden-server"] {
        let folder = fixture(name);
        let got = check(&read(&folder, "request.json"), read(&folder, "facts.json"));
        assert_eq!(got, read(&folder, "answer.json"), "{name}");
    }
}

#[test]
fn the_shape_of_a_result_does_not_matter() {
    let folder = fixture("golden-server");
    let (request, facts) = (read(&folder, "request.json"), read(&folder, "facts.json"));
    let wanted = read(&folder, "answer.json");

    let mut as_text = facts.clone();
    for outcomes in as_text.as_object_mut().expect("facts").values_mut() {
        for outcome in outcomes.as_array_mut().into_iter().flatten() {
            let Some(outcome) = outcome.as_object_mut() else { continue };
            for (from, to) in [("raw", "rawJson"), ("declarations", "declarationsJson")] {
                let text = outcome.remove(from).map(|raw| raw.to_string());
                outcome.extend(text.map(|text| (to.into(), text.into())));
            }
        }
    }
    assert_ne!(as_text, facts);
    assert_eq!(check(&request, as_text), wanted);

    let mut flat = facts.clone();
    flat["documentSymbols"][1]["raw"] = read(&folder, "flat.json");
    flat["enclosingSymbols"][0]["raw"] = read(&folder, "flat.json");
    assert_eq!(check(&request, flat), wanted);

    let mut links = facts;
    let range = links["definitions"][1]["raw"][0]["range"].clone();
    let whole = json!({"start": {"line": 6, "character": 4}, "end": {"line": 7, "character": 42}});
    let link = json!({"targetUri": "file:///repo/app.py", "targetRange": whole,
                      "targetSelectionRange": range});
    links["definitions"][1]["raw"] = json!([link, link]);
    links["references"][0]["declarations"] = link;
    assert_eq!(check(&request, links.clone()), wanted);
    // A server without selection ranges: the name is found on the first line.
    links["definitions"][1]["raw"] = json!({"uri": "file:///repo/app.py", "range": whole});
    assert_eq!(check(&request, links), wanted);
}

#[test]
fn the_method_encloses_its_own_name() {
    let folder = fixture("golden-server");
    let (mut request, mut facts) = (read(&folder, "request.json"), read(&folder, "facts.json"));
    let at = json!({"line": 6, "character": 9});
    request["params"]["position"] = at.clone();
    facts["position"] = at;
    let got = check(&request, facts);
    let names: Vec<_> = got["result"]["enclosingSymbols"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|symbol| &symbol["name"])
        .collect();
    assert_eq!(names, ["Cart", "total"]);
}

#[test]
fn what_is_switched_off_appears_nowhere() {
    let folder = fixture("golden-server");
    let (request, facts) = (read(&folder, "request.json"), read(&folder, "facts.json"));
    let whole = read(&folder, "answer.json");
    for name in request["params"]["include"].as_array().expect("names") {
        let name = name.as_str().expect("a name");
        let options = Options { disabled: vec![name.into()], ..Options::default() };
        let lines = FileLines::new(Vec::new(), Vec::new());
        let facts: Facts = serde_json::from_value(facts.clone()).expect("facts read");
        let params = request["params"].clone();
        let body = answer("editor/getContext", params, options, facts, &lines, "1");
        let got = recorded("editor/getContext", &body);
        let result = got["result"].as_object().expect("a result");
        assert!(result.get(name).is_none() && got["result"]["provenance"].get(name).is_none());
        assert_eq!(
            got["result"]["unavailable"],
            json!([{"capability": name, "code": "disabled",
                    "reason": format!("the user switched {name} off")}])
        );
        let n_keys = whole["result"].as_object().expect("a result").len();
        assert_eq!(result.len(), n_keys, "{name} for unavailable, the rest stays");
    }
}

#[test]
fn the_older_methods_count_from_one() {
    let folder = fixture("golden-server");
    let facts = read(&folder, "facts.json");
    let at = json!({"line": 13, "character": 14});
    let place = |line: u32, start: u32, preview: &str| {
        json!({"uri": "file:///repo/app.py", "preview": preview,
               "range": {"start": {"line": line, "character": start},
                         "end": {"line": line, "character": start + 5}}})
    };
    let declared = place(7, 9, "def total(self, items):");
    let used = place(13, 13, "print(c.total([1, 2]))");
    let mut defined = declared.clone();
    defined["role"] = "definition".into();
    for (method, include_declaration, wanted) in [
        ("editor/getDefinition", Value::Null, json!([defined])),
        ("editor/getReferences", Value::Null, json!([declared, used])),
        ("editor/getReferences", json!(true), json!([declared, used])),
        ("editor/getReferences", json!(false), json!([used])),
    ] {
        let params = json!({"uri": "file:///repo/app.py", "position": at,
                            "includeDeclaration": include_declaration});
        let got = check(&json!({"method": method, "params": params}), facts.clone());
        assert_eq!(got["result"], json!({"status": "success", "locations": wanted}), "{method}");
    }
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
    fn random_params_are_answered(params in any_json(), method_idx in 0..4usize) {
        let method = ["editor/getContext", "editor/getDiagnostics", "editor/getDefinition",
                      "editor/getReferences"][method_idx];
        let lines = FileLines::new(Vec::new(), Vec::new());
        let body = answer(method, params, Options::default(), Facts::default(), &lines, "1");
        let got = recorded(method, &body);
        prop_assert_eq!(&got["id"], &json!(1));
        prop_assert!(got.get("result").is_some() != got.get("error").is_some());
        prop_assert!(method_idx == 0 || got.get("result").is_some());
    }
}
