"""Validates answers against the protocol's JSON Schema.

    schema.py SCHEMA ANSWERS.jsonl

Each line of ANSWERS is {"method": M, "answer": BODY}, BODY being the whole JSON-RPC answer. With good params a line may
say {"method": M, "params": P, "answer": BODY}. The schema holds a definition for the params and one for the result of each
method. Prints each fault with its
line, then one line that sums up; the status is 1 if there is a fault or nothing to validate.
"""

import json
import sys

from jsonschema import Draft202012Validator

ERROR = {
    "type": "object",
    "required": ["code", "message"],
    "properties": {"code": {"enum": [-32602, -32603]}, "message": {"type": "string", "minLength": 1}},
}


def definition_names(method):
    """`editor/getContext` -> the names under which params and result may stand."""
    short = method.rpartition("/")[2]
    base = short.removeprefix("get")
    return [f"{base}Params", f"{short}Params"], [base, f"{base}Result", f"{short}Result"]


def validator(schema, names):
    """A validator of the first of NAMES that the schema defines; of nothing at all if it defines none."""
    for name in names:
        if name in schema["$defs"]:
            return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})
    return Draft202012Validator(False)


def main(schema_path, answers_path):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validators = {}
    n_answers = n_faults = 0
    with open(answers_path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            line = json.loads(text)
            method, answer = line["method"], line["answer"]
            if method not in validators:
                params, result = definition_names(method)
                validators[method] = validator(schema, params), validator(schema, result)
            params, result = validators[method]
            n_answers += 1
            if answer.get("jsonrpc") != "2.0" or "id" not in answer:
                faults = ["no JSON-RPC 2.0 answer"]
            elif ("result" in answer) == ("error" in answer):
                faults = ["neither result nor error, or both"]
            elif "error" in answer:
                faults = [e.message for e in Draft202012Validator(ERROR).iter_errors(answer["error"])]
            else:
                faults = [f"result{e.json_path[1:]}: {e.message}" for e in result.iter_errors(answer["result"])]
            if "params" in line:
                faults += [f"params{e.json_path[1:]}: {e.message}" for e in params.iter_errors(line["params"])]
            for fault in faults:
                print(f"{answers_path}:{number}: {method}: {fault}")
            n_faults += bool(faults)
    print(f"schema: {n_answers} answers, {n_faults} not valid")
    return 1 if n_faults or not n_answers else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
