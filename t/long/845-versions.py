"""845: a daemon of the next version, which has more messages, more fields in all
of them and longer records, takes over sessions of this one, and gives them
back."""
import glob
import importlib
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
import client  # noqa: E402
from client import (BUILD, TMP, Server, check, connect, main, resume_in,  # noqa
                    say, wait_for, LIMIT)

lib = importlib.import_module("7common")
nextlib = importlib.import_module("5next")
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LATER, PROGRAMS = TMP + "/later", TMP + "/programs"


def edit(path, pattern, replacement):
    path = "%s/%s" % (LATER, path)
    with open(path, encoding="utf-8") as f:
        before = f.read()
    after = re.sub(pattern, replacement, before, flags=re.M)
    check(after != before, "%s: nothing to change" % path)
    with open(path, "w", encoding="utf-8") as f:
        f.write(after)


def build_later():
    """The sources of now, as they may be then."""
    shutil.copytree(SOURCE, LATER, ignore=lambda folder, names: [
        n for n in names if folder == SOURCE and n in ("build", ".git")])
    edit("configure.ac", r"\[0\.1\.0\]", "[0.2.0]")
    edit("proto/ipc.proto", r"^(message \w+ \{)", r"\1 uint64 later = 999; ")
    with open(LATER + "/proto/ipc.proto", "a", encoding="ascii") as f:
        f.write("message Later { string text = 1; }\n")
    with open(LATER + "/proto/ipc.def", "a", encoding="ascii") as f:
        f.write("IPC(later, Later, MASTER, WORKER, NO)\n")
    edit("master/workers/child.c",
         r"(\treturn c->chan == NULL \? -1 : 0;\n\})",
         "\tif (c->chan != NULL) {\n"
         "\t\tIpc__Later later = IPC__LATER__INIT;\n"
         "\t\tstatic char hello[] = \"hello\";\n"
         "\t\tlater.text = hello;\n"
         "\t\tchan_send(c->chan, IPC_later, &later, -1);\n\t}\n\\1")
    edit("master/workers/records.h", r"(reserved\[\d+\];\n)(\};\n\n/\* What)",
         "\\1\tuint64_t later[5];\n\\2")
    env = {k: v for k, v in os.environ.items()
           if k not in ("BUILD", "MAKEFLAGS", "MFLAGS", "SANITIZERS")}
    done = subprocess.run(
        ["make", "-s", "-j2", "-C", LATER, LATER + "/build/execsrvd",
         LATER + "/build/execsrv-worker"], env=env, capture_output=True,
        text=True, check=False)
    check(done.returncode == 0, done.stdout[-500:] + done.stderr[-2000:])


def install(folder):
    os.makedirs(PROGRAMS, exist_ok=True)
    for path in glob.glob(folder + "/execsrv*"):
        if os.path.isfile(path):
            to = "%s/%s" % (PROGRAMS, os.path.basename(path))
            shutil.copy(path, to + ".new")
            os.rename(to + ".new", to)


def upgrade(server, before, after):
    done = subprocess.run([BUILD + "/execsrvctl", "-R", server.run, "upgrade"],
                          capture_output=True, text=True, timeout=LIMIT,
                          check=False)
    words = dict(line.split() for line in done.stdout.splitlines())
    check(done.returncode == 0 and words["from"] == before and
          words["to"] == after, "%d: %s%s" % (done.returncode, done.stdout,
                                              done.stderr))


def versions(server):
    return sorted({lib.ask(server, "show", str(r["session"]))["version"]
                   for r in lib.ask(server, "sessions")})


def there_and_back():
    build_later()
    say("  built")
    install(BUILD)
    client.BUILD = PROGRAMS
    server = Server()
    client.BUILD = BUILD
    c, away = connect(server.url), connect(server.url)
    c.start("p", "sh", "-c", nextlib.COUNT % 500)
    away.start("p", "sleep", "1000")
    away.reset()
    wait_for(lambda: "detached" in [r["state"] for r in lib.ask(
        server, "sessions")], LIMIT, "detached")
    install(LATER + "/build")
    upgrade(server, "0.1.0", "0.2.0")
    new = connect(server.url)
    new.start("p", "sh", "-c", nextlib.COUNT % 300)
    check(server.status()["version"] == "0.2.0", "not upgraded")
    check(versions(server) == ["0.1.0", "0.2.0"], "%s" % versions(server))
    again = resume_in(server.url, away.session, LIMIT)
    check(again.run("q", "echo", "x") == (b"x\n", 0), "a command")
    again.reset()
    # The former version, with a session of the later one.
    install(BUILD)
    upgrade(server, "0.2.0", "0.1.0")
    again = resume_in(server.url, away.session, LIMIT)
    check(versions(server) == ["0.1.0", "0.2.0"], "%s" % versions(server))
    nextlib.lines(new, "p", 300)
    nextlib.lines(c, "p", 500)
    check("violat" not in server.log() and "malformed" not in server.log(),
          server.log()[-2000:])
    for one in c, new, again:
        one.close()
    server.stop()


if __name__ == "__main__":
    main(there_and_back)
