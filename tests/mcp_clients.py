"""What tests/mcp-test.py asks with and whom: Emacsen of its own, the official SDK and the official inspector.

All of it lives in one folder that goes away, with a home and a runtime directory of its own."""

import asyncio
import contextlib
import glob
import hashlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM = os.path.abspath(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parent.parent
WORK = pathlib.Path(tempfile.mkdtemp(prefix="eca-context-mcp")).resolve()
RUN = WORK / "run" / "eca-context"
NODE = SOURCE / ".test/node/node_modules/.bin"
ENV = {
    "PATH": f"{NODE}:{os.environ['PATH']}",
    "HOME": str(WORK / "home"),
    "XDG_CACHE_HOME": str(WORK / "cache"),
    "XDG_CONFIG_HOME": str(WORK / "config"),
    "XDG_DATA_HOME": str(WORK / "data"),
    "XDG_STATE_HOME": str(WORK / "state"),
    "XDG_RUNTIME_DIR": str(WORK / "run"),
    "TMPDIR": str(WORK / "tmp"),
}


def make_world():
    """Make the folders that the environment names; others may enter them, so that only ours keep them out."""
    WORK.chmod(0o755)
    for name, folder in ENV.items():
        if name != "PATH":
            pathlib.Path(folder).mkdir()


def project(name, **files):
    """Make a repository NAME with FILES. Of a folder that only looks like one eglot cannot list the files,
    whereupon pyright ends."""
    root = WORK / name
    subprocess.run(["git", "init", "-q", root], env=ENV, check=True)
    for file, text in files.items():
        (root / file.replace("_", ".", 1)).write_text(text)
    return root


def written():
    """What is in WORK, by name, but for what the tests themselves keep there."""
    own = {"logs", "inspector"}
    found = {}
    for path in WORK.rglob("*"):
        if path.relative_to(WORK).parts[0] not in own:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            found[str(path.relative_to(WORK))] = content
    return found


class Emacs:
    """A running Emacs called as its project ROOT, in which it visits FILE."""

    def __init__(self, program, root, file, *more):
        self.root = root
        self.file = root / file
        self.orders = WORK / "logs" / f"{root.name}.eval"
        packages = "/usr/share/emacs/site-lisp/elpa-src"
        old = glob.glob(f"{packages}/compat-[0-9]*") + glob.glob(f"{packages}/eglot-[0-9]*")
        folders = [SOURCE / "lisp", SOURCE / "tests"] + (old if program == "emacs" else [])
        self.orders.parent.mkdir(exist_ok=True)
        with open(self.orders.with_suffix(".log"), "wb") as log:
            self.process = subprocess.Popen(
                [program, "-Q", "--batch", "--eval",
                 "(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil"
                 " native-comp-enable-subr-trampolines nil)"]
                + [part for folder in folders for part in ("-L", str(folder))]
                + ["-l", "mcp-emacs", "-f", "mcp-emacs", str(self.file), root.name, *more],
                env={**ENV, "MCP_EVAL": str(self.orders)}, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=root, start_new_session=True)

    @property
    def socket(self):
        return RUN / f"{self.root.name}.{self.process.pid}"

    async def ready(self):
        await until(lambda: self.socket.exists() or self.process.poll(), f"socket of {self.root.name}")

    async def eval(self, lisp):
        part = self.orders.with_suffix(".part")
        part.write_text(lisp)
        part.rename(self.orders)
        await until(lambda: not self.orders.exists(), "evaluation")

    @contextlib.contextmanager
    def stopped(self):
        """It does nothing until this ends."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def end(self):
        """Kill it with its servers, if it lives."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


async def until(done, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, f"there is no {what}"
        await asyncio.sleep(0.01)


class Client:
    """A session of the SDK with a server of its own that works in FOLDER."""

    def __init__(self, folder, *arguments):
        self.parameters = StdioServerParameters(
            command=PROGRAM, args=["mcp", *arguments], cwd=str(folder), env=ENV)

    async def __aenter__(self):
        async with contextlib.AsyncExitStack() as stack:
            streams = await stack.enter_async_context(stdio_client(self.parameters))
            self.session = await stack.enter_async_context(ClientSession(*streams))
            await self.session.initialize()
            self.stack = stack.pop_all()
        return self

    async def __aexit__(self, *what):
        return await self.stack.__aexit__(*what)

    async def call(self, tool, **arguments):
        """The structured content of a success, which the SDK has held against the schema."""
        result = await self.session.call_tool(tool, arguments)
        assert not result.is_error, result
        assert result.content[0].text
        return result.structured_content

    async def fail(self, tool, **arguments):
        """The code and the text of what is no success."""
        result = await self.session.call_tool(tool, arguments)
        assert result.is_error, result
        return result.structured_content["unavailable"][0]["code"], result.content[0].text


async def inspect(folder, tool, *arguments, options=()):
    """What the inspector's command line prints of TOOL, or of the list of tools."""
    given = [part for argument in arguments for part in ("--tool-arg", argument)]
    method = ["--method", "tools/call", "--tool-name", tool] if tool else ["--method", "tools/list"]
    ours = [part for name, value in ENV.items() for part in ("-e", f"{name}={value}")]
    process = await asyncio.create_subprocess_exec(
        NODE / "mcp-inspector", "--cli", PROGRAM, "mcp", *options, *ours, "--cwd", folder, *method, *given,
        env={**ENV, "HOME": str(WORK / "inspector")}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = await process.communicate()
    try:
        return json.loads(out)
    except ValueError:
        raise AssertionError((out, err)) from None


def raw(folder):
    """A server in FOLDER without any client, after the greeting."""
    server = subprocess.Popen([PROGRAM, "mcp"], cwd=folder, env=ENV, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    say(server, id=0, method="initialize", params=client)
    json.loads(server.stdout.readline())
    say(server, method="notifications/initialized")
    return server


def say(server, **message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def ask(server, number, tool, **arguments):
    say(server, id=number, method="tools/call", params={"name": tool, "arguments": arguments})


def heard(path, user):
    """What a process of USER hears at the socket PATH, or the name of its error."""
    mine, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            with socket.socket(socket.AF_UNIX) as door:
                door.settimeout(20)
                door.connect(str(path))
                body = b'{"jsonrpc":"2.0","id":1,"method":"editor/hello","params":{}}'
                door.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                os.write(theirs, door.recv(99))
        except OSError as error:
            os.write(theirs, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with open(mine, "rb") as pipe:
        return pipe.read()
