"""The Python package (contrib/python), with this python3: its structs are those
of execsrv.h; sessions, synchronous and by asyncio, against execsrvd and, if it
is here, the reference; a wheel is built, installed, and used.
"""
import asyncio
import glob
import importlib
import os
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(__file__))
from client import BUILD, LIMIT, TMP, Server, check, main, skip, wait_for

common = importlib.import_module("77common")

SRC = os.path.abspath(os.environ.get("SRCDIR", "."))
PACKAGE = SRC + "/contrib/python"
HEADER = SRC + "/common/client/execsrv.h"

with open(BUILD + "/config.mk", encoding="utf-8") as f:
    CONFIG = f.read()
if re.search(r"(?m)^SANITIZERS\s*=[ \t]*\S", CONFIG):
    skip("a sanitizer cannot be loaded with a library of python3")
sys.dont_write_bytecode = True
os.environ.update(EXECSRV_LIBRARY=BUILD + "/libexecsrv.so",
                  EXECSRVD=BUILD + "/execsrvd")
sys.path.insert(0, PACKAGE)
import execsrv                                            # noqa: E402
import execsrv.aio                                        # noqa: E402
from execsrv import DEVNULL, PIPE, STDOUT, _lib           # noqa: E402


def raises(kind, fn, *args, **how):
    try:
        fn(*args, **how)
    except kind as e:
        return e
    raise AssertionError("no %s" % (kind,))


STRUCTS = {"execsrv_error": _lib.Error, "execsrv_options": _lib.Options,
           "execsrv_local": _lib.Local, "execsrv_hooks": _lib.Hooks,
           "execsrv_start": _lib.Start, "execsrv_file": _lib.File,
           "execsrv_transfer_hooks": _lib.TransferHooks}
WORDS = {"EXECSRV_WHY_CANCELLED": _lib.CANCELLED,
         "EXECSRV_WHY_SERVER": _lib.SERVER, "EXECSRV_WHY_GAP": _lib.GAP,
         "EXECSRV_WHY_TIMEOUT": _lib.TIMEOUT,
         "EXECSRV_ENDING": _lib.ENDING, "EXECSRV_FAILED": _lib.FAILED,
         "EXECSRV_CONNECTED": _lib.CONNECTED, "EXECSRV_PTY": _lib.PTY,
         "EXECSRV_OPENING": _lib.OPENING, "EXECSRV_RESIZE": _lib.RESIZE,
         "EXECSRV_WRITE": _lib.WRITE, "EXECSRV_READ_ONLY": 1,
         "EXECSRV_WORKSPACE_WRITE": 2}


def structs():
    """Each member is where the compiler puts it."""
    lines, wanted = [], []
    for name, kind in STRUCTS.items():
        lines.append('printf("%%zu\\n", sizeof(struct %s));' % name)
        wanted.append(_lib.ctypes.sizeof(kind))
        for member, *_ in kind._fields_:
            lines.append('printf("%%zu\\n", offsetof(struct %s, %s));' % (
                name, member))
            wanted.append(getattr(kind, member).offset)
    for word, value in WORDS.items():
        lines.append('printf("%%d\\n", (int)%s);' % word)
        wanted.append(value)
    with open(TMP + "/layout.c", "w", encoding="utf-8") as out:
        out.write("#include <execsrv.h>\n#include <stdio.h>\n"
                  "int main(void) {\n%s\nreturn 0;\n}\n" % "\n".join(lines))
    subprocess.run(["cc", "-I", os.path.dirname(HEADER), "-o",
                    TMP + "/layout", TMP + "/layout.c"], check=True)
    out = subprocess.run([TMP + "/layout"], check=True, timeout=LIMIT,
                         stdout=subprocess.PIPE).stdout
    check([int(n) for n in out.split()] == wanted, (out.split(), wanted))
    check(execsrv.version() == execsrv.__version__, execsrv.version())


# --- conversations, with any server -------------------------------------------

def commands(url, is_ours):
    with execsrv.Session(url) as s:
        r = s.run(["sh", "-c", "echo out; echo err >&2; exit 3"],
                  capture_output=True, text=True)
        check((r.returncode, r.stdout, r.stderr) == (3, "out\n", "err\n"), r)
        r = s.run(["sh", "-c", "echo out; echo err >&2"], stdout=PIPE,
                  stderr=STDOUT)
        check(sorted(r.stdout.split()) == [b"err", b"out"], r)
        data = os.urandom(1 << 20)
        if s.can("execsrvProcessCloseStdin"):
            check(s.run(["cat"], input=data, stdout=PIPE).stdout == data,
                  "cat")
        else:
            raises(execsrv.ExecsrvError, s.run, ["cat"], input=b"a")

            def closes():
                with s.Popen(["cat"], stdin=PIPE, stdout=PIPE) as p:
                    p.stdin.close()
            raises(execsrv.ExecsrvError, closes)
        check(is_ours == s.can("execsrvProcessCloseStdin"), is_ours)
        e = raises(execsrv.CalledProcessError, s.run, ["false"], check=True)
        check(e.returncode == 1, e)
        if is_ours:
            e = raises(FileNotFoundError, s.run, ["/nonexistent/x"])
            check(e.reason == "server" and e.code == -32603, e)
        else:
            raises((FileNotFoundError, execsrv.ExecsrvError), s.run,
                   ["/nonexistent/x"])
        r = s.run(["sh", "-c", "echo $A; pwd"], env={"A": "b"}, cwd="/",
                  stdout=PIPE, stderr=DEVNULL, text=True)
        check(r.stdout == "b\n/\n", r)
        raises(execsrv.TimeoutExpired, s.run, ["sleep", "900"], timeout=0.2)
        check(s.run("echo a b", shell=True, stdout=PIPE).stdout == b"a b\n",
              "shell")
        p = s.Popen(["sh", "-c", "for i in 1 2; do read a; echo got $a; done;"
                     "test $0 = no || cat", "cat" if is_ours else "no"],
                    stdin=PIPE, stdout=PIPE, text=True)
        for word in "one", "two":
            p.stdin.write(word + "\n")
            p.stdin.flush()
            check(p.stdout.readline() == "got %s\n" % word, word)
        if is_ours:
            check(p.poll() is None, "it runs")
            p.stdin.close()
        check(p.wait() == 0, p.returncode)
        p = s.Popen(["sleep", "900"])
        p.kill()
        check(p.wait() == 137, p.returncode)
        e = raises(execsrv.ExecsrvError, s.call, "no/such")
        check(e.code == -32601 and e.reason == "server", e)


def files(url, is_ours):
    folder = TMP + "/files-%d" % is_ours
    with execsrv.Session(url) as s:
        s.mkdir(folder)
        s.write_text(folder + "/a b%", "h\u00e9")
        check(s.read_text(folder + "/a b%") == "h\u00e9", "text")
        check(s.listdir(folder) == ["a b%"], s.listdir(folder))
        st = s.stat(folder + "/a b%")
        check(st.is_file and not st.is_dir and st.size == 3, st)
        s.copy(folder + "/a b%", folder + "/c")
        check(s.exists(folder + "/c"), "a copy")
        check(not s.exists(folder + "/none"), "nothing")
        check(s.realpath(folder + "/../" + os.path.basename(folder)) ==
              os.path.realpath(folder), "a real path")
        check(s.read_bytes(folder + "/c") ==
              "h\u00e9".encode(), "bytes")
        s.remove(folder + "/c")
        s.remove(folder + "/c", missing_ok=True)
        raises((FileNotFoundError, execsrv.ExecsrvError), s.read_bytes,
               folder + "/c")
        raises(ValueError, s.stat, "relative")
        if is_ours:
            data = os.urandom(17 << 20)
            s.write_bytes(folder + "/big", data)
            with open(folder + "/big", "rb") as big:
                check(big.read() == data, "a big file")
            s.get(folder + "/big", TMP + "/got")
            s.put(TMP + "/got", folder + "/put", mode=0o755)
            check(os.stat(folder + "/put").st_mode & 0o777 == 0o755, "mode")
            check(s.read_bytes(folder + "/put") == data, "there and back")
            s.rename(folder + "/put", folder + "/big")
            check(not os.path.exists(folder + "/put"), "renamed")


def by_asyncio(url, is_ours):
    async def conversation():
        async with await execsrv.aio.connect(url) as s:
            async def one(n):
                p = await s.create_subprocess_exec(
                    "sh", "-c", "%s; exit %d" % (
                        "cat" if is_ours else
                        "head -c 100000 /dev/zero | tr '\\000' %d" % n, n),
                    stdin=PIPE if is_ours else None, stdout=PIPE)
                out, _ = await p.communicate(b"%d" % n * 100000)
                return out == b"%d" % n * 100000 and p.returncode == n
            check(all(await asyncio.gather(*map(one, range(8)))), "eight")
            p = await s.create_subprocess_shell("echo a; echo b",
                                                stdout=PIPE)
            lines = [line async for line in p.stdout]
            check(lines == [b"a\n", b"b\n"] and await p.wait() == 0, lines)
            r = await s.run(["sh", "-c", "echo on; exit 2"],
                            capture_output=True)
            check((r.returncode, r.stdout) == (2, b"on\n"), r)
            try:
                await s.run(["false"], check=True)
                check(False, "no error")
            except execsrv.CalledProcessError:
                pass
            try:
                await asyncio.wait_for(s.run(["sleep", "900"]), 0.2)
                check(False, "no timeout")
            except asyncio.TimeoutError:
                pass
            path = TMP + "/asyncio"
            await s.write_bytes(path, b"x" * 100)
            check(await s.read_bytes(path) == b"x" * 100, "bytes")
            check((await s.stat(path)).size == 100, "size")
            await s.remove(path)
            try:
                await s.call("no/such")
                check(False, "no error")
            except execsrv.ExecsrvError as e:
                check(e.code == -32601, e)
    asyncio.run(conversation())
    try:
        asyncio.run(execsrv.aio.connect("ws://127.0.0.1:1"))
        check(False, "no error")
    except ConnectionRefusedError as e:
        check(e.reason == "connect", e)


def with_ours():
    server = Server()
    for fn in commands, files, by_asyncio:
        fn(server.url, True)
    server.stop()


def with_the_reference():
    with common.reference() as url:
        for fn in (commands, files, by_asyncio) if url else ():
            fn(url, False)


# --- only ours ----------------------------------------------------------------

def private():
    """A server of its own; a sandbox; a terminal; wake-ups."""
    with execsrv.Session(settings=["Umask=0077"]) as s:
        check(s.run(["sh", "-c", "umask"], stdout=PIPE).stdout == b"0077\n",
              "a setting")
        with s.Popen(["sh", "-c", "stty size"], stdout=PIPE,
                     tty=(7, 99)) as p:
            check(p.stdout.read().split() == [b"7", b"99"], "a terminal")
        raises(ValueError, s.Popen, ["true"], sandbox="none such")
        p = s.Popen(["sh", "-c", "trap 'exit 9' USR1; echo on; "
                     "while :; do sleep 0.1; done"], stdout=PIPE)
        check(p.stdout.readline() == b"on\n", "it has its trap")
        p.send_signal("usr1")
        check(p.wait() == 9, p.returncode)
        threading.Timer(0.1, s.wakeup).start()
        check(s._core.wait(-1) == 0, "woken")
        check(execsrv.run("true", url=None).returncode == 0, "run()")
        s.end()
    raises(ValueError, s.run, ["true"])


def states():
    """It is there before its server, and hears of its end."""
    path, told = TMP + "/late", []
    failure = []

    def client():
        try:
            s = execsrv.Session("unix:" + path, open_timeout=LIMIT,
                                on_status=lambda *a: told.append(a))
            p = s.Popen(["sleep", "900"])
            told.append(("started", None))
            try:            # the server kills it before it goes, or goes
                check(p.wait() > 128, p.returncode)
            except execsrv.ExecsrvError as e:
                check(e.reason == "ended", e)
            raises((execsrv.ExecsrvError, OSError), s.run, ["true"])
            raises(execsrv.ExecsrvError, s._until, lambda: False)
            check(s.status == "failed", s.status)
            s.close()
        except BaseException as e:
            failure.append(e)
    thread = threading.Thread(target=client)
    thread.start()
    server = Server(listen=["unix:" + path])
    wait_for(lambda: told or failure, LIMIT, "a start")
    server.stop()
    thread.join(LIMIT)
    check(not thread.is_alive() and not failure, failure)
    check([word for word, _ in told] in (["started", "ending", "failed"],
                                         ["started", "failed"]), told)
    check(told[-1][1].reason == "ended", told)


def wheel():
    """Built without a network, installed into a folder, and used."""
    python = next((p for p in ("/usr/bin/python3", sys.executable)
                   if os.path.exists(p) and subprocess.run(
                       [p, "-c", "import setuptools, wheel, pip"],
                       stderr=subprocess.DEVNULL, check=False).returncode == 0),
                  None)
    if python is None:
        print("left out: no python3-pip, python3-setuptools, python3-wheel")
        return
    shutil.copytree(PACKAGE, TMP + "/package")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    env = {**os.environ, "HOME": TMP, "PIP_NO_CACHE_DIR": "1"}
    subprocess.run([*pip, "wheel", "--no-index", "--no-deps",
                    "--no-build-isolation", "-w", TMP + "/dist",
                    TMP + "/package"], check=True, env=env,
                   timeout=LIMIT * 4)
    found = glob.glob(TMP + "/dist/execsrv-*-py3-none-any.whl")
    check(len(found) == 1, os.listdir(TMP + "/dist"))
    subprocess.run([*pip, "install", "--no-index", "--target",
                    TMP + "/site", found[0]], check=True, env=env,
                   timeout=LIMIT * 4)
    check(os.path.exists(TMP + "/site/execsrv/py.typed"), "py.typed")
    out = subprocess.run(
        [python, "-c", "import execsrv; print(execsrv.__file__, flush=True); "
         "execsrv.run(['echo', 'on'])"], cwd=TMP, check=True,
        timeout=LIMIT * 2, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": TMP + "/site"}).stdout.decode()
    check(out == TMP + "/site/execsrv/__init__.py\non\n", out)


def readme():
    """The examples of the README run."""
    with open(PACKAGE + "/README.md", encoding="utf-8") as page:
        examples = re.findall(r"```python\n(.*?)```", page.read(), re.S)
    check(len(examples) == 2, len(examples))
    server = Server()
    for text in examples:
        check("ws://127.0.0.1:7411" in text, text)
        subprocess.run([sys.executable, "-c", text.replace(
            "ws://127.0.0.1:7411", server.url)], cwd=TMP, check=True,
            timeout=LIMIT * 2, stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": PACKAGE,
                 "PYTHONDONTWRITEBYTECODE": "1"})
    server.stop()


main(structs, with_ours, private, states, readme, wheel, with_the_reference)
