#!/usr/bin/env python3
"""A stand-in for ECA's server: speaks JSON-RPC frames on stdio and plays a list of requests.

usage: conversation-server.py SCENARIO.json ANSWERS.jsonl

SCENARIO is a JSON list of steps; each step is written to the client in one piece once the client
has said `initialized`. A step is a list of messages (one chunk of bytes), or {"wait": ID} to wait for
the answer to ID first, or {"cut": [MESSAGE, N_BYTES]} to write a message in two pieces.
Every message that the client sends is added to ANSWERS, one JSON value a line, as
{"header": "Content-Length: N", "message": …}; {"over": true} is the last when all ids were answered.
It knows nothing of any editor.
"""

import json
import sys
import threading
import time

MAX_SECONDS = 20


def encode(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode("utf-8")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


class Conversation:
    def __init__(self, steps, log):
        self.steps = steps
        self.log = log
        self.answered = []
        self.news = threading.Condition()

    def note(self, value):
        self.log.write(json.dumps(value, ensure_ascii=False) + "\n")
        self.log.flush()

    def wait(self, is_over):
        with self.news:
            return self.news.wait_for(is_over, MAX_SECONDS)

    def play(self):
        asked = []
        for step in self.steps:
            if isinstance(step, dict) and "wait" in step:
                self.wait(lambda: step["wait"] in self.answered)
            elif isinstance(step, dict):
                message, n_bytes = step["cut"]
                data = encode(message)
                write(data[:n_bytes])
                time.sleep(0.05)
                write(data[n_bytes:])
                asked.append(message["id"])
            else:
                write(b"".join(encode(message) for message in step))
                asked += [message["id"] for message in step if "id" in message]
        is_over = self.wait(lambda: all(one in self.answered for one in asked))
        with self.news:
            self.note({"over": is_over})

    def take(self, header, message):
        if message.get("method") == "initialize":
            with self.news:
                self.note({"header": header, "message": message})
            write(encode({"id": message["id"], "result": {"chatWelcomeMessage": ""}}))
        elif message.get("method") == "initialized":
            threading.Thread(target=self.play, daemon=True).start()
        elif "id" in message and "method" in message:
            write(encode({"id": message["id"], "result": None}))
        elif "id" in message:
            with self.news:
                self.note({"header": header, "message": message})
                self.answered.append(message["id"])
                self.news.notify_all()

    def read(self):
        stream = sys.stdin.buffer
        while True:
            header = b""
            while not header.endswith(b"\r\n\r\n"):
                byte = stream.read(1)
                if not byte:
                    return
                header += byte
            fields = dict(line.split(b": ", 1) for line in header.strip().split(b"\r\n"))
            body = stream.read(int(fields[b"Content-Length"]))
            self.take(header.decode("ascii").strip(), json.loads(body))


def main():
    with open(sys.argv[1], encoding="utf-8") as scenario:
        steps = json.load(scenario)
    with open(sys.argv[2], "a", encoding="utf-8") as log:
        Conversation(steps, log).read()


if __name__ == "__main__":
    main()
