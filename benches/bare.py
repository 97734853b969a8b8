#!/usr/bin/env python3
"""Pyright without anything around it: what there is to be reached.

    bare.py FILE LINE CHARACTER N

The root is FILE's folder, the position counts from 0. For each line of input, `cold` or `warm`, it asks for
the references at that place until there are N, `cold` of a server that it starts for that, and prints how
many milliseconds that took. It understands of the protocol what it needs and no more.
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
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
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

    def ask(self, method, params):
        self.n_asked += 1
        asked = f"bare-{self.n_asked}"
        self.write({"id": asked, "method": method, "params": params})
        while True:
            message = self.read()
            if message.get("id") == asked:
                return message["result"]
            if "id" in message:
                items = (message.get("params") or {}).get("items")
                result = [None] * len(items) if items else None
                self.write({"id": message["id"], "result": result})


def main():
    path, line, character, n = Path(sys.argv[1]), *map(int, sys.argv[2:])
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": path.read_text()}
    server = None
    for how in sys.stdin:
        if how.strip() == "cold" and server:
            server.process.kill()
            server.process.wait()
            server = None
        start = time.perf_counter()
        if not server:
            server = Server(path.parent)
            server.write({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        params = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": line, "character": character},
            "context": {"includeDeclaration": True},
        }
        # Its first answer is about the one file that it knows by then.
        while len(server.ask("textDocument/references", params) or []) < n:
            pass
        print(1000 * (time.perf_counter() - start), flush=True)
    if server:
        server.process.kill()


if __name__ == "__main__":
    main()
