#!/usr/bin/env python3
"""An agent of MCP: mcp.py PROGRAM starts `PROGRAM mcp` here. For each line on standard input, params of
`tools/call`, it prints how many milliseconds the answer took, from before the write to after the read, and
the answer, `{"ms": …, "result": …}`.
"""

import json
import subprocess
import sys
import time


def main():
    server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    n_said = 0

    def say(method, params, is_request=True):
        nonlocal n_said
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if is_request:
            n_said += 1
            message["id"] = n_said
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()
        return server.stdout.readline() if is_request else None

    client = {"name": "bench", "version": "1"}
    say("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
    say("notifications/initialized", {}, is_request=False)
    for line in sys.stdin:
        params = json.loads(line)
        start = time.perf_counter()
        body = say("tools/call", params)
        ms = 1000 * (time.perf_counter() - start)
        print(json.dumps({"ms": ms, "result": json.loads(body).get("result")}), flush=True)


if __name__ == "__main__":
    main()
