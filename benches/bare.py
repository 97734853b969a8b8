#!/usr/bin/env python3
"""Pyright without anything around it: what there is to be reached.

    bare.py FILE LINE CHARACTER N

The root is FILE's folder, the position counts from 0. For each line of input it prints how many milliseconds
the server took for the references at that place, of which there are N: `cold` is asked of a server that it
starts for that, until they are all there. `edited` is about a text with one line more that is not saved, and
asks for all that can be asked about the place; `checked` asks for the diagnostics of that text. It
understands of the protocol what it needs and no more.
"""

import json
import subprocess
import sys
import time
from pathlib import Path


class Server:
    def __init__(self, root):
        self.root = root.as_uri()
        self.process = subprocess.Popen(
            ["pyright-langserver", "--stdio"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.n_asked = 0
        folders = [{"uri": self.root, "name": "bare"}]
        capabilities = {
            "workspace": {"configuration": True, "workspaceFolders": True},
            "textDocument": {"diagnostic": {}},
        }
        params = {"processId": None, "rootUri": self.root, "workspaceFolders": folders}
        self.ask("initialize", {**params, "capabilities": capabilities})
        self.write({"method": "initialized", "params": {}})

    def write(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def read(self):
        n_bytes = None
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b": ")
            if name == b"Content-Length":
                n_bytes = int(value)
        return json.loads(self.process.stdout.read(n_bytes))

    def send(self, method, params):
        self.n_asked += 1
        asked = f"bare-{self.n_asked}"
        self.write({"id": asked, "method": method, "params": params})
        return asked

    def results(self, asked):
        results = {}
        while len(results) < len(asked):
            message = self.read()
            if message.get("id") in asked:
                results[message["id"]] = message["result"]
            elif "id" in message:
                items = (message.get("params") or {}).get("items")
                result = [None] * len(items) if items else None
                self.write({"id": message["id"], "result": result})
        return [results[id] for id in asked]

    def ask(self, method, params):
        return self.results([self.send(method, params)])[0]


def main():
    path, line, character, n = Path(sys.argv[1]), *map(int, sys.argv[2:])
    uri, text, version = path.as_uri(), path.read_text(), 1
    about = {"textDocument": {"uri": uri}}
    at = {**about, "position": {"line": line, "character": character}}
    references = ("textDocument/references", {**at, "context": {"includeDeclaration": True}})
    everything = [
        references,
        ("textDocument/definition", at),
        ("textDocument/hover", at),
        ("textDocument/documentSymbol", about),
    ]
    server = None
    for how in map(str.strip, sys.stdin):
        if how == "cold" and server:
            server.process.kill()
            server.process.wait()
            server = None
        start = time.perf_counter()
        if not server:
            server, version = Server(path.parent), 1
            document = {"uri": uri, "languageId": "python", "version": version, "text": text}
            server.write({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        if how == "edited":
            version += 1
            changed = {"uri": uri, "version": version}
            params = {"textDocument": changed, "contentChanges": [{"text": f"{text}# {version}\n"}]}
            server.write({"method": "textDocument/didChange", "params": params})
            found, *rest = server.results([server.send(*request) for request in everything])
            if len(found) < n or not all(rest):
                sys.exit(f"bare: {found} {rest}")
        elif how == "checked":
            server.ask("textDocument/diagnostic", about)
        else:
            # Its first answer is about the one file that it knows by then.
            while len(server.ask(*references) or []) < n:
                pass
        print(1000 * (time.perf_counter() - start), flush=True)
    if server:
        server.process.kill()


if __name__ == "__main__":
    main()
