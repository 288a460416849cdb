"""606: several sandboxes of a session, what is told of them, and what changes
between two uses of one."""
import importlib
import os
import sys

sys.dont_write_bytecode = True
box = importlib.import_module("6common")
lib = box.lib

POLICIES = 40


def apart(kind, client, run):
    """Two sandboxes: neither has the other's rights, nor sees it."""
    with box.Place(kind.uid, git=False) as a, \
            box.Place(kind.uid, git=False) as b:
        places = {"a": (a, b), "b": (b, a)}
        for name, (own, _) in places.items():
            client.start(name, "sh", "-c", "echo on; sleep 1000", cwd=own.ws,
                         sandbox=box.workspace(own.ws),
                         env={"PATH": box.PATH})
            lib.check(client.note(name, "process/output"), "not started")
        for _ in range(3):
            for name, (own, other) in places.items():
                out, code, denied = run(
                    "sh", "-c", ": >%s/new" % own.ws,
                    box=box.workspace(own.ws))
                lib.check(code == 0 and not denied, "%s %s: %s" % (
                    kind.name, name, out))
                out, code, denied = run(
                    "sh", "-c", ": >%s/stolen" % other.ws,
                    box=box.workspace(own.ws))
                lib.check(code != 0 and denied, "%s %s: %s" % (
                    kind.name, name, out))
                lib.check(box.refused(
                    client.call, "fs/writeFile", dataBase64="",
                    path=box.uri(other.ws + "/stolen"),
                    sandbox=box.workspace(own.ws)), "written")
                # A sandbox that allows less is not that one.
                out, code, _ = run("sh", "-c", ": >%s/less" % own.ws,
                                   box=box.read_only(own.ws))
                lib.check(code != 0, "%s: less: %s" % (kind.name, out))
        for place in (a, b):
            names = set(os.listdir(place.ws)) - set(box.GUARDED)
            lib.check(names == {"dir", "file", "new"}, "%s" % names)
        for name in places:
            client.call("process/terminate", processId=name)
            lib.check(client.note(name, "process/closed"), "lives")
        client.notes.clear()


def many(kind, client, run):
    """More policies than are held at a time, each used, some in use."""
    with box.Place(kind.uid, git=False) as place:
        folders = ["%s/w%d" % (place.ws, n) for n in range(POLICIES)]
        for folder in folders:
            os.mkdir(folder)
        place.own()
        client.start("first", "sh", "-c", "echo on; read x; : >new; : >../no",
                     cwd=folders[0], sandbox=box.workspace(folders[0]),
                     env={"PATH": box.PATH}, pipeStdin=True)
        lib.check(client.note("first", "process/output"), "not started")
        for turn in range(2):
            for n, folder in enumerate(folders):
                policy = box.workspace(folder)
                if turn:
                    client.call("fs/writeFile", dataBase64="", sandbox=policy,
                                path=box.uri(folder + "/request"))
                out, code, _ = run(
                    "sh", "-c", "touch %s/t%d && ! touch %s/no" % (
                        folder, turn, folders[n - 1]), box=policy)
                lib.check(code == 0, "%s: policy %d: %s" % (
                    kind.name, n, out))
        # What was in use all the time still is what it was.
        client.call("process/write", processId="first", writeId="w",
                    chunk=box.b64(b"\n"))
        note = client.note("first", "process/exited")
        lib.check(note and note["exitCode"] != 0 and note["sandboxDenied"],
                  "%s: the first: %s" % (kind.name, note))
        lib.check(os.path.exists(folders[0] + "/new") and
                  not os.path.exists(place.ws + "/no"), "the first")
        for folder in folders:
            names = set(os.listdir(folder)) - set(box.GUARDED)
            lib.check(names - {"new"} == {"t0", "t1", "request"},
                      "%s: %s" % (folder, names))
        client.note("first", "process/closed")
        client.notes.clear()
        print("%s: %d policies" % (kind.name, POLICIES), flush=True)


def told(kind, client, run):
    """sandboxType and sandboxDenied (PROTOCOL 5.1, 9.4)."""
    with box.Place(kind.uid, git=False) as place:
        policy = box.workspace(place.ws)
        for n, (script, want, sandbox) in enumerate((
                (": >/usr/x", True, policy),
                ("cat /etc/shadow- /nonexistent 2>/dev/null; exit 1", False,
                 policy),
                ("echo Operation not permitted; exit 1", True, policy),
                ("echo PERMISSION DENIED >&2; exit 3", True, policy),
                ("echo landlock; exit 1", True, policy),
                ("echo Permission denied; exit 0", False, policy),
                ("echo Permission denied; exit 1", False, None),
                ("exit 1", False, policy), ("kill -SYS $$", True, policy),
                ("kill -KILL $$", False, policy),
                ("echo permission denied; exit 1", True,
                 {"permissions": {"type": "disabled"},
                  "windowsSandboxLevel": "disabled"}))):
            got = client.start("t%d" % n, "sh", "-c", script, cwd="/",
                               env={"PATH": box.PATH}, sandbox=sandbox)
            lib.check(got["sandboxType"] == (
                "linuxSeccomp" if sandbox else "none"), "%s" % got)
            note = client.note("t%d" % n, "process/exited")
            lib.check(note and note["sandboxDenied"] is want,
                      "%s: %s: %s" % (kind.name, script, note))
            client.note("t%d" % n, "process/closed")
            got = client.call("process/read", processId="t%d" % n)
            lib.check(got["sandboxDenied"] is want and got["closed"],
                      "%s: %s: read: %s" % (kind.name, script, got))
        client.notes.clear()


def later(kind, client, run):
    """What appears after a sandbox was made is protected all the same."""
    with box.Place(kind.uid, git=False) as place:
        policy = box.workspace(place.ws, box.glob("**/*.key"))
        read = box.sandbox(box.special("root", "read"),
                           box.glob(place.ws + "/**/*.key"), cwd=place.ws)
        for sandbox in (policy, read):
            run("true", box=sandbox, cwd=place.ws)
        place.put(place.ws + "/dir/new.key")
        os.makedirs(place.ws + "/.codex", exist_ok=True)
        place.own()
        for sandbox in (policy, read):
            out, code, _ = run("cat", "dir/new.key", box=sandbox,
                               cwd=place.ws)
            lib.check(code != 0 and "canary" not in out,
                      "%s: later: %s" % (kind.name, out))
        out, code, _ = run("sh", "-c", ": >.codex/x", box=policy,
                           cwd=place.ws)
        lib.check(code != 0, "%s: .codex that came later: %s" % (
            kind.name, out))


def two_sessions(kind, server, client, run):
    """What one session leaves, when it ends, another still has."""
    with box.Place(kind.uid, git=False) as place:
        policy = box.workspace(place.ws)
        with kind.client(server) as other:
            there = box.Runs(other)
            there("true", box=policy)
            client.start("waits", "sh", "-c", "echo on; read x; mkdir -p "
                         ".git/hooks && : >.git/hooks/pre-commit",
                         cwd=place.ws, sandbox=policy, pipeStdin=True,
                         env={"PATH": box.PATH})
            lib.check(client.note("waits", "process/output"), "not started")
            other.call("session/close")
        lib.wait_until(lambda: len(lib.children(server.pid)) < 3, 0.5)
        client.call("process/write", processId="waits", writeId="w",
                    chunk=box.b64(b"\n"))
        note = client.note("waits", "process/exited")
        lib.check(note and note["exitCode"] != 0, "%s: .git is no more "
                  "protected: %s" % (kind.name, note))
        lib.check(not os.path.exists(place.ws + "/.git/hooks"),
                  "%s: .git/hooks" % kind.name)
        client.notes.clear()


for kind in box.chosen():
    with box.session(kind) as (server, client):
        run = box.Runs(client)
        if not box.can(kind, client):
            continue
        apart(kind, client, run)
        many(kind, client, run)
        told(kind, client, run)
        if not kind.alone:
            later(kind, client, run)
            two_sessions(kind, server, client, run)
box.finish()
