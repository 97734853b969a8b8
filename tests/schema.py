"""Validates answers against docs/schema.json, by a validator that shares no code with what wrote them.

    schema.py SCHEMA PAGE.md... ANSWERS.jsonl...

Each line of ANSWERS is {"method": METHOD, "body": BODY}, BODY a whole JSON-RPC answer; METHOD is null where whoever
wrote the answer down could not know it (then BODY must be an error). The examples of each PAGE that are questions or answers
are validated too: each question has its answer, and an answer of editor/getContext speaks of all that was asked for. Prints each fault with its place, then `schema: N answers valid`; the status is 1 on any
fault, or if there is nothing to validate in one of the files.
"""

import copy
import json
import re
import sys

from jsonschema import Draft202012Validator

ENVELOPE = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["integer", "number", "string", "null"]},
        "result": {},
        "error": {
            "type": "object",
            "properties": {"code": {"type": "integer"}, "message": {"type": "string", "minLength": 1}},
            "required": ["code", "message"],
            "additionalProperties": False,
        },
    },
    "required": ["jsonrpc", "id"],
    "oneOf": [{"required": ["result"]}, {"required": ["error"]}],
    "additionalProperties": False,
}


class Judge:
    def __init__(self, schema):
        Draft202012Validator.check_schema(schema)
        self.schema = schema
        self.envelope = Draft202012Validator(ENVELOPE)
        self.validators = {}

    def _validator(self, method, part):
        """The validator of PART, `params` or `result`, of METHOD."""
        if (method, part) not in self.validators:
            reference = self.schema["properties"][method]["properties"][part]
            self.validators[method, part] = Draft202012Validator({**reference, "$defs": self.schema["$defs"]})
        return self.validators[method, part]

    def params(self, method, params):
        """The faults of PARAMS, sentences."""
        if method not in self.schema["properties"]:
            return [f"the schema has no {method}"]
        return [told("params", error) for error in self._validator(method, "params").iter_errors(params)]

    def answer(self, method, body):
        """The faults of BODY, sentences."""
        faults = [told("body", error) for error in self.envelope.iter_errors(body)]
        if faults or "error" in body:
            return faults
        if method not in self.schema["properties"]:
            return [f"a result of {method}, which the schema does not have"]
        return [told("result", error) for error in self._validator(method, "result").iter_errors(body["result"])]


def told(part, error):
    return f"{part}{error.json_path[1:]}: {error.message[:200]}"


def wrong_answers(method, body):
    """Answers that each differ from BODY, a valid one of editor/getContext, by one fault."""
    def but(change):
        other = copy.deepcopy(body)
        change(other)
        return method, other

    definition = lambda other: other["result"]["definitions"][0]
    yield but(lambda other: other.update(jsonrpc="1.0"))
    yield but(lambda other: other.pop("id"))
    yield but(lambda other: other.pop("result"))
    yield but(lambda other: other.update(error={"code": 1, "message": "both"}))
    yield but(lambda other: other["result"].update(symbolAtPositon=None))
    yield but(lambda other: other["result"].update(definitions=None))
    yield but(lambda other: definition(other).pop("uri"))
    yield but(lambda other: definition(other).update(role="def"))
    yield but(lambda other: definition(other)["range"]["start"].update(line=-1))
    yield but(lambda other: other["result"]["provenance"]["definitions"].update(kind="guessed"))
    yield but(lambda other: other["result"]["unavailable"][0].update(code="dunno"))
    yield but(lambda other: other["result"]["documentSymbols"][0]["children"][0].update(kind=6))
    yield "editor/getDiagnostics", body
    yield None, body


def examples(path):
    """Each JSON example of the page: its line, and the value."""
    text = open(path, encoding="utf-8").read()
    for match in re.finditer(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start()) + 2, json.loads(match.group(1))


def unanswered(params, result):
    """Features that PARAMS of editor/getContext ask for and that RESULT does not speak of."""
    said = set(result) | {entry["capability"] for entry in result.get("unavailable", [])}
    return [feature for feature in params.get("include", []) if feature not in said]


def page_faults(judge, path):
    """The faults of the page at PATH, how many questions and answers it has, and an answer of editor/getContext."""
    all_faults = []
    asked = {}
    n_answers = 0
    whole = None
    for line, example in examples(path):
        faults = []
        if "method" in example:
            if example["id"] in asked:
                faults = [f"id {example['id']} is used twice"]
            asked[example["id"]] = example
            faults += judge.params(example["method"], example.get("params"))
        elif "jsonrpc" in example:
            n_answers += 1
            question = asked.get(example.get("id"), {"method": None})
            question["answered"] = True
            faults = judge.answer(question["method"], example)
            if question["method"] == "editor/getContext" and not faults:
                whole = whole or example
                faults = [f"no word of {feature}" for feature in unanswered(question["params"], example["result"])]
        all_faults += [f"{path}:{line}: {fault}" for fault in faults]
    all_faults += [f"{path}: nothing answers {key}" for key, question in asked.items() if "answered" not in question]
    return all_faults, len(asked), n_answers, whole


def main(schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        judge = Judge(json.load(file))
    pages = [path for path in paths if path.endswith(".md")]
    answers_paths = [path for path in paths if path not in pages]
    all_faults = []
    n_answers = 0

    for path in pages:
        faults, n_page_questions, n_page_answers, whole = page_faults(judge, path)
        all_faults += faults
        n_answers += n_page_answers
        if whole is None:
            all_faults.append(f"{path}: no example answers editor/getContext")
            continue
        print(f"schema: {n_page_questions} questions and {n_page_answers} answers of {path}")
        if path == pages[0]:
            n_wrong = 0
            for method, wrong in wrong_answers("editor/getContext", whole):
                n_wrong += 1
                if not judge.answer(method, wrong):
                    all_faults.append(f"{schema_path}: wrong answer {n_wrong} passes for valid")
            print(f"schema: {n_wrong} wrong answers refused")
    if not pages:
        all_faults.append("no page")

    seen = {}
    for path in answers_paths:
        n_lines = 0
        with open(path, encoding="utf-8") as file:
            for number, text in enumerate(file, 1):
                n_lines += 1
                if text not in seen:
                    try:
                        line = json.loads(text)
                        seen[text] = judge.answer(line["method"], line["body"])
                    except (ValueError, KeyError) as error:
                        seen[text] = [f"no line with method and body: {error}"]
                all_faults += [f"{path}:{number}: {fault}" for fault in seen[text]]
        if not n_lines:
            all_faults.append(f"{path}: no answers")
        n_answers += n_lines
    if not answers_paths:
        all_faults.append("no file of answers")

    for fault in all_faults[:50]:
        print(fault)
    if all_faults:
        print(f"schema: {len(all_faults)} faults, {n_answers} answers")
        return 1
    print(f"schema: {n_answers} answers valid ({len(seen)} different ones)")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
