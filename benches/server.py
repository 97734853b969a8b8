#!/usr/bin/env python3
"""A server that asks what it is told to ask, and says how long the answer took.

On the notification `bench/ask` (`method`, `params`) it writes the request; when the whole answer is
read it sends `bench/took` with `ms`, from before the write to after the read, and the `result`.
"""

import json
import sys
import time


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
    n_asked = 0
    while (told := read()) is not None:
        asked = json.loads(told)["params"]
        n_asked += 1
        start = time.perf_counter()
        write({"id": n_asked, "method": asked["method"], "params": asked["params"]})
        body = read()
        ms = 1000 * (time.perf_counter() - start)
        write({"method": "bench/took", "params": {"ms": ms, "result": json.loads(body).get("result")}})


if __name__ == "__main__":
    main()
