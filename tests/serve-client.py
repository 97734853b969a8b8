"""A plain client of the socket: serve-client.py SOCKET [uid=N] STEP...

A step is a JSON text, sent in a frame; or `raw:TEXT', sent as it is; `hear', which prints the next
answer's body, a line; `hear:N', N of them; `idle', which waits for a line of input. `refused' is printed
where nothing can be connected to, `closed' where nothing more comes."""

import os
import socket
import sys

path, *steps = sys.argv[1:]
if steps and steps[0].startswith("uid="):
    os.setgroups([])
    os.setgid(int(steps[0][4:]))
    os.setuid(int(steps.pop(0)[4:]))
door = socket.socket(socket.AF_UNIX)
door.settimeout(60)
try:
    door.connect(path)
except OSError as error:
    print("refused", error.strerror)
    sys.exit()
answers = door.makefile("rb")


def hear():
    length = None
    try:
        while (line := answers.readline().strip()) or length is None:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            elif not line:
                return "closed"
        return answers.read(length).decode()
    except ConnectionError:
        return "closed"


for step in steps:
    if step == "idle":
        sys.stdin.readline()
    elif step.startswith("hear"):
        for _ in range(int(step[5:] or 1)):
            print(hear(), flush=True)
    else:
        raw = step.startswith("raw:")
        body = (step[4:] if raw else step).encode()
        try:
            door.sendall(body if raw else b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except ConnectionError:
            print("closed")
