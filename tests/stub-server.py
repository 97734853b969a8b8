#!/usr/bin/env python3
"""A language server that misbehaves as its argument says; tests/lsp.rs and tests/headless-test.el know how.

It reads every message properly, so that only what it is to do wrong is wrong. What it was told and
asked lies in its answers: a definition is a list of Locations whose URIs are that."""

import json
import os
import signal
import subprocess
import sys
import time

how = sys.argv[1] if len(sys.argv) > 1 else "plain"
stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
documents = {}
answered = []
n_questions = 0


def read():
    length = None
    while True:
        line = stdin.readline()
        if not line:
            if how == "clings":
                # Neither the end of its input nor a polite signal moves it.
                while True:
                    signal.pause()
            sys.exit(0)
        line = line.strip()
        if not line:
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(stdin.read(length))


def write(body):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    header = b"Content-Length: %d\r\n\r\n" % len(body)
    if how == "lower-case":
        header = b"content-type: x\r\n" + header.lower()
    if how == "garbage":
        header = b"Debugger attached.\n\xff\xfe\r\n\r\nno newline " + header
    data = header + body
    if how == "bytewise":
        for i in range(len(data)):
            stdout.write(data[i:i + 1])
            stdout.flush()
    else:
        stdout.write(data)
        stdout.flush()


def reply(id, result):
    write({"jsonrpc": "2.0", "id": id, "result": result})


def notify(method, params):
    write({"jsonrpc": "2.0", "method": method, "params": params})


def place(text, line=0):
    at = {"line": line, "character": 0}
    return {"uri": text, "range": {"start": at, "end": at}}


def crash(words):
    sys.stderr.write(words)
    sys.stderr.flush()
    os._exit(7)


ASKS = [
    ("workspace/configuration", {"items": [{"section": "a.b"}, {"section": "no"}, {}]}),
    ("window/showMessageRequest", {"type": 1, "message": "shall I?", "actions": [{"title": "yes"}]}),
    ("workspace/applyEdit", {"edit": {}}),
    ("window/workDoneProgress/create", {"token": 1}),
    ("workspace/workspaceFolders", None),
    ("window/showDocument", {"uri": "https://example.org/"}),
    ("workspace/semanticTokens/refresh", None),
    ("no/such/method", [1]),
]


def ask_all(tag):
    for i, (method, params) in enumerate(ASKS):
        # Ids of any kind.
        id = [i, f"{tag}-{i}", 12345678901234567890 + i][i % 3]
        write({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def capabilities():
    can = {"textDocumentSync": 1, "definitionProvider": True, "referencesProvider": True, "hoverProvider": True,
           "documentSymbolProvider": True}
    if how == "utf-8":
        can["positionEncoding"] = "utf-8"
    if how == "pulls":
        can["diagnosticProvider"] = {}
    if how == "tsserver":
        can["executeCommandProvider"] = {"commands": ["typescript.tsserverRequest"]}
    if how == "nothing":
        can = {}
    return can


def diagnostic(message):
    at = {"line": 0, "character": 4}
    return {"range": {"start": at, "end": at}, "message": message, "severity": 1}


def publish(uri, version):
    """What it says of a document is its text, when it has words for it."""
    params = {"uri": uri, "diagnostics": [diagnostic(documents[uri])] if documents[uri].strip() else []}
    if how != "versionless":
        params["version"] = version
    if how == "late" and version == 1:
        # About a text that is gone by then.
        params["version"] = 0
    notify("textDocument/publishDiagnostics", params)


def on_document(method, params):
    document = params["textDocument"]
    uri = document["uri"]
    if method.endswith("didOpen"):
        documents[uri] = document["text"]
    elif method.endswith("didChange"):
        documents[uri] = params["contentChanges"][-1]["text"]
    else:
        documents.pop(uri, None)
        return
    if how in ("publishes", "versionless", "late"):
        publish(uri, document["version"])


held = []
cancelled = []


def on_question(message):
    global n_questions
    n_questions += 1
    id, method, params = message["id"], message["method"], message["params"]
    uri = params["textDocument"]["uri"]
    about = f"stub:{method.split('/')[1]}:{params.get('position', {}).get('character')}:{documents.get(uri)}"
    if how == "crash-third" and n_questions == 3:
        crash("some trace\nout of cheese\n")
    if how == "hangs" and n_questions > 1:
        return
    # A search for references asks for the definition, too.
    if n_questions in {"silent-once": (2, 3), "tsserver": (2,)}.get(how, ()):
        return
    if how == "silent-once":
        about = f"cancelled {len(cancelled)} times"
    if how == "reversed":
        held.append((id, about))
        if len(held) == 3:
            while held:
                id, about = held.pop()
                reply(id, [place(about)] * 2)
        return
    if how == "duplicates":
        for wrong in (0, "no", None, [id], 99999):
            reply(wrong, [place("wrong")])
        write({"jsonrpc": "2.0", "id": id, "result": [place(about)] * 2, "error": None})
        reply(id, [place("again")])
        write(b"{")
        write(b"[]")
        return
    if how == "huge":
        reply(id, [place("x" * 1000)] * 20000)
        return
    if how == "not-utf-8":
        write(b'{"jsonrpc":"2.0","id":"%s","result":[{"uri":"a\xe9\\ud83d"},{}]}' % id.encode())
        return
    if how == "progress":
        if n_questions == 1:
            notify("$/progress", {"token": "t", "value": {"kind": "begin"}})
            reply(id, [])
            notify("$/progress", {"token": "t", "value": {"kind": "report"}})
            # The client waits; only then the work is over.
            notify("$/progress", {"token": "t", "value": {"kind": "end"}})
        else:
            reply(id, [place(f"asked {n_questions} times")])
        return
    if how == "loads-forever":
        notify("$/progress", {"token": 1, "value": {"kind": "begin"}})
        reply(id, None)
        return
    if how == "modified" and n_questions < 3:
        write({"jsonrpc": "2.0", "id": id, "error": {"code": -32801, "message": "content modified"}})
        return
    if how == "refuses":
        write({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "I would rather not"}})
        return
    if how == "asks":
        ask_all("later")
        while len(answered) < 2 * len(ASKS):
            answered.append(strip(read()))
        reply(id, [place(json.dumps(answered[:len(ASKS)])), place(json.dumps(answered[len(ASKS):]))])
        return
    if method.endswith("diagnostic"):
        reply(id, {"kind": "full", "items": [diagnostic(documents[uri])]})
    elif method.endswith("hover"):
        reply(id, {"contents": about})
    else:
        reply(id, [place(about), place("file:///usr/lib/elsewhere.py")])


def strip(message):
    return message.get("result", message.get("error"))


if how == "clings":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # A child of its own that does as little.
    subprocess.Popen([sys.executable, "-c", "import signal\nwhile True: signal.pause()"])
if how == "flood":
    # More than a pipe holds, before anything is said.
    sys.stderr.write(("words " * 20 + "\n") * 20000 + "no newline" * 1000)
    sys.stderr.flush()

while True:
    message = read()
    method = message.get("method")
    if method is None:
        answered.append(strip(message))
    elif method == "initialize":
        if how == "crash-init":
            crash("cannot find my brain\n")
        if how == "refuses-init":
            write({"jsonrpc": "2.0", "id": message["id"], "error": {"code": 1, "message": "not today"}})
            continue
        if how == "slow":
            time.sleep(0.5)
        if how == "never":
            continue
        if how == "asks":
            # Before it has answered, which is bad manners.
            ask_all("early")
        reply(message["id"], {"capabilities": capabilities()})
        if how == "registers":
            one = {"id": "r", "method": "textDocument/diagnostic"}
            write({"jsonrpc": "2.0", "id": 1, "method": "client/registerCapability",
                   "params": {"registrations": [one, {"id": "w", "method": "workspace/didChangeWatchedFiles"}]}})
    elif method == "shutdown":
        if how == "clings":
            continue
        reply(message["id"], None)
    elif method == "exit":
        if how != "clings":
            sys.exit(0)
    elif method == "workspace/didChangeWatchedFiles":
        for change in message["params"]["changes"]:
            for uri in documents.keys() - {change["uri"]}:
                documents[uri] += f"+{os.path.basename(change['uri'])} {change['type']}"
    elif method == "$/cancelRequest":
        cancelled.append(message["params"]["id"])
    elif method.startswith("textDocument/did"):
        on_document(method, message["params"])
    elif "id" in message:
        token = (message["params"] or {}).get("workDoneToken")
        if token and how != "hangs":
            # Work for one question, the end of which it forgets to tell.
            notify("$/progress", {"token": token, "value": {"kind": "begin", "title": "search"}})
        on_question(message)
