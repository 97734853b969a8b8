#!/usr/bin/env python3
"""A server that asks one editor/getContext whenever it is told to, and says how long the answer took.

usage: server.py URI LINE CHARACTER

On the notification `bench/ask` it writes the request; when the whole answer is read it sends
`bench/took` with `ms`, from before the write to after the read, and how many `features` were answered.
"""

import json
import sys
import time

FEATURES = ["symbolAtPosition", "definitions", "documentSymbols"]


def write(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8")
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def read():
    stream = sys.stdin.buffer
    n_bytes = None
    while line := stream.readline().strip():
        n_bytes = int(line.split(b": ")[1])
    return None if n_bytes is None else stream.read(n_bytes)


def main():
    uri, line, character = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    params = {"uri": uri, "position": {"line": line, "character": character}, "include": FEATURES}
    n_asked = 0
    while read() is not None:
        n_asked += 1
        start = time.perf_counter()
        write({"id": n_asked, "method": "editor/getContext", "params": params})
        body = read()
        ms = 1000 * (time.perf_counter() - start)
        result = json.loads(body).get("result", {})
        features = sum(1 for name in FEATURES if result.get(name))
        write({"method": "bench/took", "params": {"ms": ms, "features": features}})


if __name__ == "__main__":
    main()
