"""The MCP server with clients that are not ours: the official SDK for Python and the official inspector.

mcp-test.py PROGRAM [TEST…]: two Emacsen are started, one with eglot and pyright, one without any language
server. A test is a function `test_…'; the last line counts them as cargo does. Each has a deadline. They
come one after the other, since some stop an Emacs, and the last ones end them all."""

import asyncio
import json
import os
import shutil
import socket
import sys
import time
import traceback

from jsonschema import Draft7Validator
from mcp_clients import (RUN, SOURCE, WORK, Client, Emacs, ask, heard, inspect, make_world, project, raw,
                         written)

TOOLS = ["editor_context", "editor_definition", "editor_diagnostics", "editor_references", "editor_symbols"]
LISP = '(defun mcp-one (x)\n  "Return X."\n  x)\n\n(mcp-one 1)\n'
APP = (SOURCE / "tests/fixtures/golden/project/app.py").read_text()
USE = "from app import Cart\n\nprint(Cart().total([3]))\n"
MANY = "".join(f"def f_{n}(argument):\n    pass\n\n" for n in range(400))
AT = {"path": "app.py", "line": 13, "symbol": "total"}
NOBODY = 65534
# What no tool should be asked, from the client of whoever knows no schema.
ABSURD = [
    {"path": ""}, {"path": " "}, {"path": "/"}, {"path": "."}, {"path": ".."}, {"path": "nope.py"},
    {"path": "x" * 5000}, {"path": "a\0b"}, {"path": "\udfff.py"}, {"path": "http://x/y"}, {"path": "~/x"}, {"path": 5},
    {"path": ["a"]}, {"line": 0}, {"line": -1}, {"line": 1.5}, {"line": "3"}, {"line": None}, {"line": 10**12},
    {"line": 2**64}, {"line": 1e300}, {"symbol": "x"}, {"column": 3}, {"since": "x" * 9999}, {"since": 5},
    {"max_bytes": 0}, {"max_bytes": -1}, {"unknown": 1},
    *({"path": path, "line": 1, "symbol": "root"} for path in ("/etc/passwd", "/dev/zero", "/ssh:h:/x")),
    *({**AT, "line": line} for line in (10**12, 2**32 + 13)),
    *({**AT, "column": column} for column in (0, 10**12, 2**32 + 13)),
    *({**AT, "symbol": symbol} for symbol in ("", "\n", "\ud800", "😀", "x" * 100_000)),
]


def places(items):
    return [(item["path"], item["line"], item.get("container")) for item in items]


def names(nodes):
    return [(node["name"], node["depth"]) for node in nodes]


def is_right(tool, found):
    """Whether FOUND is what TOOL must say AT that place of the project `served', by hand."""
    if tool == "editor_context":
        assert (found["symbol"], found["column"]) == ("total", 13), found
        assert [(node["name"], node["line"]) for node in found["enclosing"]] == [("main", 11)], found
        assert places(found["definitions"]) == [("app.py", 7, "Cart")], found
        assert "(method) def total(" in found["documentation"][0], found
    elif tool == "editor_definition":
        assert places(found["definitions"]) == [("app.py", 7, "Cart")], found
    elif tool == "editor_references":
        expected = [("app.py", 7, "Cart"), ("app.py", 13, "main"), ("use.py", 3, None)]
        assert places(found["references"]) == expected, found
    elif tool == "editor_symbols":
        assert names(found["symbols"]) == [("Cart", 0), ("TAX", 1), ("total", 1), ("main", 0)], found
        assert [node["line"] for node in found["symbols"]] == [3, 5, 7, 11], found
    else:
        seen = [(item["path"], item["line"], item["column"], item["severity"]) for item in found["diagnostics"]]
        assert (found["fresh"], seen) == (True, [("app.py", 1, 8, "hint")]), found


def given(tool):
    return AT if tool in ("editor_context", "editor_definition", "editor_references") else {"path": "app.py"}


async def settled(client, **arguments):
    """The diagnostics, asked for again until they are about the present text."""
    deadline = time.monotonic() + 30
    while True:
        found = await client.call("editor_diagnostics", **arguments)
        if found.get("fresh"):
            return found
        assert time.monotonic() < deadline, found


def bear(server):
    """Ask each tool what is ABSURD, and have SERVER say of each in a few words what is wrong with it, or what
    it found all the same."""
    answers = {}
    for n, (tool, arguments) in enumerate((tool, arguments) for tool in TOOLS for arguments in ABSURD):
        ask(server, n, tool, **arguments)
        answer = json.loads(server.stdout.readline())
        assert answer["id"] == n and "result" in answer, (tool, str(arguments)[:100], answer)
        result = answer["result"]
        text = result["content"][0]["text"]
        assert 0 < len(text) < 2000, (tool, str(arguments)[:100], text[:3000])
        assert "error)" not in text and "panicked" not in text, (tool, str(arguments)[:100], text)
        if result["isError"]:
            [entry] = [e for e in result["structuredContent"]["unavailable"] if "selection" not in e["what"]]
            assert len(entry["reason"]) < 600 and "\n" not in entry["reason"], entry
        answers[tool, json.dumps(arguments)] = result["structuredContent"]
    return answers


async def test_lists_the_same_tools_each_time(plain, served):
    seen = []
    for _ in range(2):
        async with Client(plain.root) as client:
            tools = (await client.session.list_tools()).tools
            seen.append([tool.model_dump_json() for tool in tools])
    assert seen[0] == seen[1]
    assert sorted(tool.name for tool in tools) == TOOLS
    for tool in tools:
        assert tool.annotations.read_only_hint is True
        for schema in (tool.input_schema, tool.output_schema):
            Draft7Validator.check_schema(schema)
            assert schema["type"] == "object"


async def test_every_tool_without_any_server(plain, served):
    async with Client(plain.root) as client:
        found = await client.call("editor_context")
        assert (found["path"], found["source"].split()[1]) == ("one.el", "plain"), found
        assert found["open_files"][0]["path"] == "one.el"
        found = await client.call("editor_definition", path="one.el", line=5, symbol="mcp-one")
        assert places(found["definitions"])[0][:2] == ("one.el", 1), found
        found = await client.call("editor_references", path="one.el", line=5, symbol="mcp-one")
        assert {place[1] for place in places(found["references"])} == {1, 5}, found
        found = await client.call("editor_symbols", path=str(plain.file))
        assert names(found["symbols"]) == [("mcp-one", 0)], found
        code, text = await client.fail("editor_diagnostics")
        assert (code, "diagnostics: none known" in text) == ("no-provider", True), (code, text)


async def test_every_tool_with_eglot_and_pyright(plain, served):
    async with Client(served.root) as client:
        await settled(client)
        for tool in TOOLS:
            is_right(tool, await client.call(tool, **given(tool)))
        code, text = await client.fail("editor_definition", path="app.py", line=99, symbol="x")
        assert (code, "no line 99" in text) == ("out-of-range", True), text
        code, text = await client.fail("editor_definition", path="app.py", line=13, symbol="nope")
        assert (code, "on line 13: print" in text) == ("symbol-not-found", True), text
        for tool in ("editor_symbols", "editor_diagnostics"):
            code, _ = await client.fail(tool, path="/etc/passwd")
            assert code == "outside-workspace", (tool, code)
        code, _ = await client.fail("editor_diagnostics", path="missing.py")
        assert code == "not-found", code
        code, _ = await client.fail("editor_definition", path="app.py", line=0, symbol="x")
        assert code == "invalid"


async def test_what_is_new_and_what_is_fixed(plain, served):
    async with Client(served.root) as client:
        token = (await settled(client))["token"]
        await served.eval('(with-current-buffer "app.py" (goto-char 1) (insert "nowhere\\n"))')
        found = await settled(client, since=token)
        assert found["unsaved"] is True
        assert any("nowhere" in item["message"] for item in found["new"]), found
        assert found["fixed"] == [], found
        await served.eval('(with-current-buffer "app.py" (goto-char 1) (delete-char 8) (set-buffer-modified-p nil))')
        again = await settled(client, since=found["token"])
        assert again["new"] == [] and len(again["fixed"]) == len(found["new"]), again
        found = await client.call("editor_diagnostics", since="d999")
        assert found["unavailable"][0]["code"] == "unknown-token"


async def test_answers_are_cut_and_that_is_said(plain, served):
    async with Client(served.root) as client:
        result = await client.session.call_tool("editor_symbols", {"path": "many.py"})
        found, text = result.structured_content, result.content[0].text
        assert len(text.encode()) <= 16384 and len(json.dumps(found)) <= 20000
        cut = found["cut"][0]
        assert (cut["what"], cut["total"]) == ("symbols", 400), found["cut"]
        assert 50 < cut["shown"] == len(found["symbols"])
        assert f"cut: {cut['shown']} of 400 symbols" in text


async def test_the_one_that_is_meant_is_asked(plain, served):
    async with Client(WORK) as client:
        code, text = await client.fail("editor_context")
        assert code == "outside-workspace" and "plain" in text and "served" in text, text
    async with Client(plain.root, "--emacs", "served") as client:
        code, text = await client.fail("editor_context")
        assert code == "outside-workspace" and "plain" not in text.split("has no")[0], text
    async with Client(plain.root, "--emacs", str(plain.process.pid)) as client:
        assert (await client.call("editor_context"))["path"] == "one.el"
    async with Client(plain.root, "--emacs", "nobody") as client:
        code, text = await client.fail("editor_context")
        assert (code, "no Emacs called nobody listens" in text) == ("not-running", True), text


async def test_a_thousand_calls_of_three_clients(plain, served):
    async def calls(client, path, first, n_calls):
        found = await asyncio.gather(*(client.call("editor_symbols", path=path) for _ in range(n_calls)))
        assert {answer["symbols"][0]["name"] for answer in found} == {first}

    async with Client(plain.root) as one, Client(plain.root) as two, Client(served.root) as three:
        await asyncio.gather(calls(one, "one.el", "mcp-one", 250), calls(two, "one.el", "mcp-one", 250),
                             calls(three, "app.py", "Cart", 500))


async def test_a_stopped_emacs_is_busy_in_time(plain, served):
    async with Client(plain.root, "--timeout", "1") as client, Client(plain.root) as patient:
        await client.call("editor_context")
        with plain.stopped():
            call = asyncio.create_task(patient.call("editor_context"))
            start = time.monotonic()
            code, text = await client.fail("editor_context")
            assert (code, time.monotonic() - start < 1.3) == ("busy", True), (code, text)
            # A question that is given up is no obstacle to the next.
            call.cancel()
            seen = await inspect(plain.root, "editor_symbols", "path=one.el", options=["--timeout", "0.5"])
            assert seen["structuredContent"]["unavailable"][0]["code"] == "busy", seen
        assert (await patient.call("editor_context"))["path"] == "one.el"
        assert (await client.call("editor_context"))["path"] == "one.el"


async def test_what_is_no_message_and_what_is_too_large(plain, served):
    server = raw(plain.root)
    for line in ("{", "[]", "\0\ufffd", "null", '{"jsonrpc":"2.0","id":7}', '{"id":"x","method":5}'):
        server.stdin.write(line + "\n")
    ask(server, 8, "editor_definition", path="one.el", line=1, symbol="x" * (4 << 20))
    ask(server, 9, "editor_context")
    ask(server, 10, "rm")
    answers = {}
    while not {8, 9, 10} <= answers.keys():
        answer = json.loads(server.stdout.readline())
        answers[answer.get("id")] = answer
    assert answers[8]["result"]["isError"] and not answers[9]["result"]["isError"]
    assert len(json.dumps(answers[8])) < 20000
    assert answers[10]["error"]["code"] == -32602
    server.stdin.close()
    assert server.wait(10) == 0


async def test_what_nobody_should_ask(plain, served):
    server = raw(served.root)
    answers = bear(server)
    found = answers["editor_definition", json.dumps({**AT, "line": 10**12})]
    assert found["unavailable"][0]["code"] == "out-of-range", found
    server.stdin.close()
    assert server.wait(10) == 0


async def test_a_client_that_dies(plain, served):
    servers = [raw(plain.root) for _ in range(3)]
    with plain.stopped():
        for server in servers:
            for n in range(20):
                ask(server, n + 1, "editor_context")
        servers[0].kill()
        for server in servers[1:]:
            server.stdin.close()
            server.stdout.close()
    for server in servers:
        server.wait(10)
    async with Client(plain.root) as client:
        assert (await client.call("editor_context"))["path"] == "one.el"


async def test_what_is_left_over_or_strange_is_passed_over(plain, served):
    for name in ("left.1", "other.2"):
        door = socket.socket(socket.AF_UNIX)
        door.bind(str(RUN / name))
        door.listen()
        if name == "left.1":
            door.close()
        elif os.getuid() == 0:
            os.chown(RUN / name, NOBODY, NOBODY)
    async with Client(plain.root, "--timeout", "2") as client:
        assert (await client.call("editor_context"))["path"] == "one.el"
    if os.getuid() == 0:
        async with Client(plain.root, "--emacs", "other", "--timeout", "2") as client:
            assert (await client.fail("editor_context"))[0] == "not-running"
    for name in ("left.1", "other.2"):
        (RUN / name).unlink()


async def test_nobody_else_is_answered(plain, served):
    assert RUN.stat().st_mode & 0o777 == 0o700
    assert plain.socket.stat().st_mode & 0o777 == 0o600
    if os.getuid() != 0:
        return
    assert heard(plain.socket, NOBODY) == b"PermissionError"
    try:
        # Were the doors left open, it would still be asked who comes.
        RUN.chmod(0o755)
        plain.socket.chmod(0o666)
        assert heard(plain.socket, NOBODY) in (b"", b"ConnectionResetError", b"BrokenPipeError")
        assert heard(plain.socket, 0).startswith(b"Content-Length")
    finally:
        RUN.chmod(0o700)
        plain.socket.chmod(0o600)


async def test_the_inspector(plain, served):
    asked = [[f"{name}={value}" for name, value in given(tool).items()] for tool in TOOLS]
    listed, *found = await asyncio.gather(
        inspect(served.root, None),
        *(inspect(served.root, tool, *arguments) for tool, arguments in zip(TOOLS, asked)))
    assert sorted(tool["name"] for tool in listed["tools"]) == TOOLS
    for tool, seen in zip(TOOLS, found):
        assert not seen["isError"], seen
        is_right(tool, seen["structuredContent"])


async def test_an_emacs_that_dies(plain, served):
    async with Client(plain.root) as patient, Client(plain.root, "--timeout", "1") as client:
        with plain.stopped():
            call = asyncio.create_task(patient.fail("editor_context"))
            assert (await client.fail("editor_context"))[0] == "busy"
            plain.end()
        # Those that were asked and those that are asked now; its socket is still there.
        assert plain.socket.exists()
        for code, text in (await call, await client.fail("editor_context")):
            assert code == "outside-workspace" and "served" in text, text


async def test_without_any_emacs(plain, served):
    served.end()
    async with Client(served.root, "--timeout", "60") as client:
        for tool in ("editor_definition", "editor_references", "editor_symbols", "editor_context"):
            found = await client.call(tool, **given(tool))
            is_right(tool, found)
            assert "without an editor" in found["source"], found
        is_right("editor_diagnostics", await settled(client, path="app.py"))
        code, text = await client.fail("editor_references", path="app.py", line=99, symbol="x")
        assert (code, "no line 99" in text) == ("out-of-range", True), text
        code, text = await client.fail("editor_context")
        assert (code, "M-x eca-context-serve-mode" in text) == ("not-running", True), text
        [lacking] = found["unavailable"]
        assert (lacking["what"], lacking["code"]) == ("open_files, selection", "not-running"), lacking
        code, text = await client.fail("editor_symbols", path="one.el")
        assert "no language server is known" in text, text
    server = raw(served.root)
    answers = bear(server)
    found = answers["editor_context", json.dumps({**AT, "column": 10**12})]
    assert (found["column"], names(found["enclosing"])) == (27, [("main", 0)]), found
    server.stdin.close()
    assert server.wait(10) == 0
    seen = await inspect(served.root, "editor_symbols", "path=app.py")
    is_right("editor_symbols", seen["structuredContent"])


async def main():
    make_world()
    roots = project("plain", one_el=LISP), project("served", app_py=APP, use_py=USE, many_py=MANY, one_el=LISP)
    before = written()
    plain = Emacs("emacs", roots[0], "one.el")
    served = Emacs("emacs-30.1", roots[1], "app.py", "eglot")

    async def test_nothing_is_written_elsewhere(plain, served):
        left = {name: content for name, content in written().items() if not name.startswith("run/eca-context")}
        assert left == before, left.items() ^ before.items()

    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    tests["test_nothing_is_written_elsewhere"] = test_nothing_is_written_elsewhere
    wanted = sys.argv[2:] or list(tests)
    n_failed = 0
    try:
        await asyncio.gather(plain.ready(), served.ready())
        for name in wanted:
            start = time.monotonic()
            try:
                await asyncio.wait_for(tests[name](plain, served), 90)
                print(f"test {name} ... ok ({time.monotonic() - start:.1f} s)", flush=True)
            except Exception:
                n_failed += 1
                print(f"test {name} ... FAILED", flush=True)
                traceback.print_exc()
    finally:
        plain.end()
        served.end()
    if n_failed:
        for log in WORK.glob("logs/*.log"):
            print(log.name, log.read_text(errors="replace")[-2000:])
    shutil.rmtree(WORK)
    print(f"test result: {'FAILED' if n_failed else 'ok'}. {len(wanted) - n_failed} passed; "
          f"{n_failed} failed; 0 ignored; 0 measured; 0 filtered out")
    return 1 if n_failed else 0


sys.exit(asyncio.run(main()))
