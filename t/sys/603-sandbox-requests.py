"""603: file requests under a sandbox, and links that are swapped meanwhile."""
import importlib
import os
import sys

sys.dont_write_bytecode = True
box = importlib.import_module("6common")
lib, uri = box.lib, box.uri

SWAPS = 100000
READ_ONLY_TEXT = "Read-only file system"
HIDDEN = (box.NOT_FOUND, box.DENIED)
HIDDEN_OR_LOOP = HIDDEN + (box.FAILED,)     # links of /proc are not followed


class Requests:
    """File requests of a client under a policy."""

    def __init__(self, client, policy):
        self.client, self.policy, self.handles = client, policy, 0

    def call(self, method, **params):
        return self.client.call("fs/" + method, sandbox=self.policy, **params)

    def write(self, path, data=b"escaped\n", **more):
        return self.call("writeFile", path=uri(path),
                         dataBase64=box.b64(data), **more)

    def read(self, path):
        return box.unb64(self.call("readFile", path=uri(path))["dataBase64"])

    def mkdir(self, path, **more):
        return self.call("createDirectory", path=uri(path), **more)

    def remove(self, path, **more):
        return self.call("remove", path=uri(path), **more)

    def copy(self, source, to, recursive=True):
        return self.call("copy", sourcePath=uri(source),
                         destinationPath=uri(to), recursive=recursive)

    def stat(self, path, **more):
        return self.call("getMetadata", path=uri(path), **more)

    def setattr(self, path, **what):
        return self.call("setAttributes", path=uri(path), **what)

    def symlink(self, path, target="/etc"):
        return self.call("createSymlink", path=uri(path), target=target)

    def rename(self, source, to):
        return self.call("rename", sourcePath=uri(source),
                         destinationPath=uri(to))

    def list(self, path):
        return self.call("readDirectory", path=uri(path))

    def canon(self, path):
        return self.call("canonicalize", path=uri(path))

    def walk(self, path):
        return self.call("walk", path=uri(path), options={
            "maxDepth": 8, "maxDirectories": 100, "maxEntries": 100,
            "followDirectorySymlinks": True})

    def open(self, path, mode):
        self.handles += 1
        self.call("open", handleId="h%d" % self.handles, path=uri(path),
                  mode=mode)
        return "h%d" % self.handles


class Judge:
    """Counts what was refused, with the right error."""

    def __init__(self, what, place):
        self.what, self.place, self.count = what, place, 0

    def __call__(self, codes, call, *args, text=None, **more):
        error = box.refused(call, *args, **more)
        name = "%s: %s%s" % (self.what, call.__name__, args)
        if lib.check(error, name + " works"):
            lib.check(error[0] in codes and (text is None or
                                             text in error[1]),
                      "%s: %s" % (name, error))
            self.count += 1

    def end(self, content_only=False, stand_ins=False):
        changes = self.place.changes(content_only)
        if stand_ins:           # what a sandbox has instead of what is missing
            changes = [c for c in changes if not c.startswith("/ws/.git: ")]
        lib.check(not changes, "%s: %s" % (self.what, changes))
        print("%-32s %3d refused" % (self.what, self.count), flush=True)
        return self.count


def links(place):
    for name, to in (("to-file", place.out + "/file"), ("to-dir", place.out),
                     ("to-root", "/"), ("to-none", place.out + "/none"),
                     ("rel", "../out/file"), ("loop", "loop"),
                     ("to-git", ".git"), ("to-self", "/proc/self/root")):
        os.symlink(to, place.ws + "/" + name)
    os.makedirs(place.ws + "/tree/sub")
    os.symlink(place.out, place.ws + "/tree/sub/link")
    place.put(place.ws + "/tree/file")
    place.own()


def outside_of(place, git):
    """Names of things outside that exist, by every way."""
    ws, out = place.ws, place.out
    names = [out + "/file", ws + "/../out/file", ws + "/dir/../../out/file",
             ws + "/to-file", ws + "/to-dir/file", ws + "/to-dir/dir/file",
             ws + "/rel", ws + "/to-root" + out + "/file",
             ws + "/to-self" + out + "/file", "/proc/self/root" + out + "/file",
             "/proc/self/cwd" + out + "/file", "/proc/1/root" + out + "/file",
             "/proc/thread-self/root" + out + "/file"]
    if git:
        names += [ws + "/.git/config", ws + "/to-git/config",
                  ws + "/dir/../.git/config"]
    return names


def writes(kind, client):
    """Nothing is written where it is not allowed."""
    with box.Place(kind.uid, git=not kind.alone) as place:
        links(place)
        fs = Requests(client, box.workspace(place.ws))
        judge = Judge(kind.name + ": writes", place)
        # What is under /proc may be somebody else's: it cannot be opened.
        codes = (box.FAILED, box.NOT_FOUND, box.DENIED)
        text = None if kind.alone else READ_ONLY_TEXT
        for path in outside_of(place, not kind.alone):
            plain = None if "/proc/" in path or "to-self" in path else text
            judge(codes, fs.write, path, text=plain)
            judge(codes, fs.open, path, "replace", text=plain)
            judge(codes, fs.open, path, "update", text=plain)
            judge(codes, fs.copy, place.ws + "/file", path, text=plain)
            judge(codes, fs.setattr, path, mode=0o777)
            judge(codes, fs.setattr, path, modifiedAtNs=1)
            if not place.is_ours(path):
                judge(codes, fs.rename, place.ws + "/file", path)
                judge(codes, fs.rename, path, place.ws + "/moved")
            if not place.is_ours(path):
                judge(codes, fs.remove, path, text=plain, force=False)
            parent = os.path.dirname(path)
            if place.is_ours(parent + "/x"):
                continue
            judge(codes, fs.write, parent + "/new")
            judge(codes, fs.symlink, parent + "/newlink")
            judge(codes, fs.setattr, parent, mode=0o777)
            judge(codes, fs.setattr, parent, accessedAtNs=1)
            judge(codes, fs.mkdir, parent + "/newdir/deep")
            judge(codes, fs.copy, place.ws + "/tree", parent + "/tree2")
            if not os.path.islink(parent):
                judge(codes, fs.remove, parent, force=False)
        judge(codes, fs.write, place.ws + "/to-none")
        judge(codes, fs.write, place.ws + "/loop")
        if not kind.alone:
            for more in ({}, {"recursive": False}, {"force": False}):
                judge((box.FAILED,), fs.remove, place.ws + "/.git",
                      text=READ_ONLY_TEXT, **more)
            judge((box.FAILED,), fs.write, place.ws + "/.git/hooks/x")
            judge((box.FAILED,), fs.copy, place.ws + "/tree",
                  place.ws + "/.git/tree")
        # What is allowed is done, and follows no link out.
        fs.write(place.ws + "/new", b"x")
        fs.open(place.ws + "/new", "update")
        fs.mkdir(place.ws + "/d/e")
        fs.setattr(place.ws + "/new", mode=0o640, modifiedAtNs=5)
        fs.setattr(place.ws + "/d/e", mode=0o700, modifiedAtNs=6)
        fs.symlink(place.ws + "/d/link", "../new")
        fs.rename(place.ws + "/d/link", place.ws + "/d/e/link")
        lib.check([(os.stat(p).st_mode & 0o7777, os.stat(p).st_mtime_ns)
                   for p in (place.ws + "/new",)] == [(0o640, 5)] and
                  os.stat(place.ws + "/d/e").st_mode & 0o7777 == 0o700 and
                  os.readlink(place.ws + "/d/e/link") == "../new",
                  "modes, times and links that are allowed")
        fs.copy(place.ws + "/file", place.ws + "/d/file")
        fs.remove(place.ws + "/to-file")
        fs.remove(place.ws + "/tree")
        lib.check(not os.path.lexists(place.ws + "/tree") and
                  os.path.exists(place.ws + "/d/file"), "what is allowed")
        return judge.end(kind.alone)


def reads(kind, client):
    """Nothing is seen that is not allowed."""
    with box.Place(kind.uid, git=not kind.alone) as place:
        links(place)
        policy = box.sandbox(box.at("/usr", "read"),
                             box.special("project_roots", "write"),
                             cwd=place.ws)
        fs = Requests(client, policy)
        judge = Judge(kind.name + ": reads", place)
        for path in outside_of(place, False) + [
                place.out + "/secret", "/etc/passwd", "/root",
                "/proc/self/../../etc/passwd"]:
            codes = HIDDEN_OR_LOOP if "/proc/" in path or "to-self" in path \
                else HIDDEN
            judge(codes, fs.read, path)
            judge(codes, fs.open, path, "read")
            if not kind.alone:          # names are no secret to Landlock
                judge(codes, fs.stat, path)
                judge(codes, fs.canon, path)
            if not place.is_ours(path):
                judge(HIDDEN_OR_LOOP, fs.copy, path, place.ws + "/stolen")
                lib.check(not os.path.lexists(place.ws + "/stolen"),
                          "%s was copied" % path)
        for path in (place.out, place.ws + "/to-dir", place.ws + "/../out",
                     "/root", "/var", "/etc"):
            if place.ws.startswith(path + "/"):     # TMPDIR may be there
                continue
            judge(HIDDEN, fs.list, path)
            if not kind.alone:
                found = fs.walk(path) if box.refused(fs.walk, path) is None \
                    else None
                lib.check(not found or not found.get("entries"),
                          "%s: walk %s: %s" % (kind.name, path, found))
        # Of who does the work; root may see its own.
        for name in ("environ", "mem") if kind.inside != 0 else ():
            judge(HIDDEN_OR_LOOP, fs.read, "/proc/1/" + name)
            judge(HIDDEN_OR_LOOP, fs.read, "/proc/self/" + name)
        lib.check(fs.read(place.ws + "/file") == b"mine\n", "what may be read")
        found = fs.walk(place.ws)
        lib.check("secret" not in str(found), "walk: %s" % found)
        lib.check("secret" not in str(fs.list(place.ws)), "list")
        return judge.end()


def denies(kind, client):
    """Carve-outs that exist, that do not, and patterns."""
    with box.Place(kind.uid, git=False) as place:
        ws = place.ws
        os.makedirs(ws + "/keys")
        for name in ("keys/one", "two", "dir/three.pem"):
            place.put(ws + "/" + name)
        os.symlink("two", ws + "/to-two")
        place.own()
        fs = Requests(client, box.workspace(
            ws, box.at(ws + "/keys", "deny"), box.at(ws + "/two", "deny"),
            box.glob("**/*.pem"), box.at(ws + "/later/x", "read")))
        judge = Judge(kind.name + ": carve-outs", place)
        hidden = HIDDEN + (box.FAILED,)
        for name in ("keys/one", "two", "dir/three.pem", "to-two",
                     "dir/../two"):
            path = ws + "/" + name
            judge(HIDDEN, fs.read, path)
            judge(HIDDEN, fs.open, path, "read")
            judge(hidden, fs.write, path)
            if name != "to-two":        # a link is copied as a link
                judge(hidden, fs.copy, path, ws + "/stolen")
                judge(hidden, fs.remove, path, force=False)
        judge(HIDDEN, fs.list, ws + "/keys")
        judge(hidden, fs.remove, ws + "/keys", force=False)
        for name in (".git", ".codex", ".agents", ".aws", "later"):
            judge(hidden, fs.write, ws + "/" + name)
            judge((box.FAILED,), fs.remove, ws + "/" + name,
                  text=READ_ONLY_TEXT)
            judge(hidden, fs.mkdir, ws + "/" + name + "/x/y")
            judge(hidden, fs.copy, ws + "/dir", ws + "/" + name + "/x")
        for name in ("keys/one", "two", "dir/three.pem"):
            lib.check(open(ws + "/" + name, "rb").read() == box.CANARY,
                      "%s was changed" % name)
        refused = judge.end(stand_ins=True)
        # What a pattern matches later is hidden as well, a moment after.
        place.put(ws + "/dir/later.pem")
        lib.check(lib.wait_until(lambda: box.refused(
            fs.read, ws + "/dir/later.pem")), kind.name + ": matched later")
        return refused


def replaced(kind, client):
    """Files that a running command may not see, or write, are written."""
    with box.Place(kind.uid, git=False) as place:
        ws = place.ws
        names = (".env", "x.pem", "link", ".git", "dir/.git")
        for name in names:
            place.put(ws + "/" + name, b"old\n")
        place.put(place.out + "/named", b"old\n")
        os.unlink(ws + "/link")
        os.symlink("file", ws + "/link")
        place.own()
        policy = box.workspace(
            ws, box.at(ws + "/.env", "deny"), box.glob("**/*.pem"),
            box.at(ws + "/link", "deny"), box.at(ws + "/dir/.git", "read"))
        script = "exec 2>&1; echo on; read x; for f in %s; do tail -c 5 $f; " \
            "echo bad >>$f; done; echo off" % " ".join(names)
        client.start("long", "sh", "-c", script, cwd=ws, sandbox=policy,
                     env={"PATH": box.PATH}, pipeStdin=True)
        lib.check(client.note("long", "process/output"), "it does not run")
        # By the worker, by another process, under another policy.
        others = (None, box.sandbox(box.special("root", "write"), cwd=ws))
        for policy in others:
            for size in (100, 3 << 20):
                text = b"new " * (size // 4) + b"\n"
                for name in names:
                    client.call("fs/writeFile", path=uri(ws + "/" + name),
                                dataBase64=box.b64(text),
                                **({"sandbox": policy} if policy else {}))
        client.call("process/write", processId="long", writeId="w",
                    chunk=box.b64(b"\n"))
        out, _ = client.output("long", limit=60)
        out = out.decode()
        lib.check(out.rstrip().endswith("off"), "%s: %s" % (
            kind.name, out[-400:]))
        # What may be read: two files of five.
        lib.check(out.count("new \n") == 2 and "bad" not in out,
                  "%s: replaced: %d of %d" % (kind.name, out.count("new \n"),
                                              len(names)))
        for name in names:
            with open(ws + "/" + name, "rb") as f:
                lib.check(f.read() == text, "%s: %s was written" % (
                    kind.name, name))
        client.notes.clear()


def swaps(kind, client):
    """Names that lead in and out in turn, while requests use them."""
    with box.Place(kind.uid, git=False) as place:
        ws = place.ws
        os.makedirs(ws + "/race/d")
        place.put(ws + "/race/d/file", b"mine\n")
        place.put(ws + "/race/d/secret", b"mine\n")
        os.symlink(place.out, ws + "/race/l")
        place.own()
        both = box.workspace(ws)
        inside = box.sandbox(box.at("/usr", "read"),
                             box.special("project_roots", "write"), cwd=ws)
        done, seen = 0, {b"mine\n": 0}
        # Whoever stands still meanwhile has asked too little of one.
        for turn in range(20):
            if done > 100 and seen[b"mine\n"]:
                break
            done = during_swaps(kind, client, "swap%d" % turn, ws, both,
                                inside, done, seen)
        lib.check(set(seen) == {b"mine\n"}, "%s: read: %s" % (
            kind.name, seen))
        changes = [c for c in place.changes(kind.alone)
                   if c.startswith("/out")]
        lib.check(not changes, "%s: %s" % (kind.name, changes))
        lib.check(done > 100 and seen[b"mine\n"] > 0,
                  "%s: only %d requests" % (kind.name, done))
        print("%-32s %d requests during %d swaps, %d read in" % (
            kind.name + ": swaps", done, SWAPS, seen[b"mine\n"]), flush=True)


def during_swaps(kind, client, name, ws, both, inside, done, seen):
    """How many requests there have been in all."""
    client.start(name, box.FILES, "swap", str(SWAPS), ws + "/race/d",
                 ws + "/race/l", cwd="/", sandbox=both, env={})
    over = False
    while not over:
        client.pump()
        over = [m for m in client.notes if m["method"] == "process/closed"]
        done += burst(client, ws, both, inside, done, seen)
    got = client.output(name)
    lib.check(got[1] == 0, "%s: the swapper: %r" % (kind.name, got))
    client.notes.clear()
    return done


def burst(client, ws, both, inside, n, seen):
    """A few requests at once; what was read is counted."""
    here, data = uri(ws + "/race/d"), box.b64(b"escaped\n")
    sent = []
    for method, policy, params in (
            ("writeFile", both, {"path": here + "/file",
                                 "dataBase64": box.b64(b"mine\n")}),
            ("writeFile", both, {"path": here + "/new", "dataBase64": data}),
            ("remove", both, {"path": here + "/new"}),
            ("createDirectory", both, {"path": here + "/deep/%d" % (n % 9)}),
            ("remove", both, {"path": here + "/deep"}),
            ("copy", both, {"sourcePath": uri(ws + "/file"), "recursive": True,
                            "destinationPath": here + "/copy"}),
            ("remove", both, {"path": here + "/copy"}),
            ("readFile", inside, {"path": here + "/secret"}),
            ("readFile", inside, {"path": here + "/file"}),
            ("copy", inside, {"sourcePath": here + "/secret",
                              "recursive": False,
                              "destinationPath": uri(ws + "/stolen")}),
            ("readFile", inside, {"path": uri(ws + "/stolen")})):
        sent.append(client.send("fs/" + method, sandbox=policy, **params))
    for number in sent:
        try:
            got = client.answer(number)
        except lib.RpcError as e:
            lib.check(e.code in (box.FAILED, box.NOT_FOUND, box.DENIED),
                      "a swap: %s" % e)
            continue
        if "dataBase64" in got:
            text = box.unb64(got["dataBase64"])
            # Nothing: it was being written or copied.
            if text:
                seen[text] = seen.get(text, 0) + 1
    return len(sent)


def largest(server, client):
    """
    As many rules as a plan may have, with paths as long as they may be, and
    longer: what is asked behind it is answered soon. That is a matter of what
    the worker does before, whoever else computes here.
    """
    client.start("any", "/bin/sleep", "1000", cwd="/")
    worker = server.worker_of(server.pid_of(client, "any"))
    client.call("process/terminate", processId="any")
    for access, count, size in ((box.DENY, 2000, 200), (box.WRITE, 400, 200),
                                (box.DENY, 2000, 2000)):
        where = ["/" + ("d" * 63 + "/") * (size // 64) + "%d" % i
                 for i in range(count)]
        policy = box.sandbox(box.special("root", "read"), *[
            box.at(path, access, skip=True) for path in where], cwd="/")
        took = []
        for _ in range(5):
            began = lib.used(worker)
            sent = client.send("fs/getMetadata", path=uri("/"),
                               sandbox=policy)
            client.call("fs/getMetadata", path=uri("/"))
            took.append((lib.used(worker) - began) / 1e9)
            box.refused(client.answer, sent)
        print("behind %d of %s, %d bytes: %.1f to %.1f ms" % (
            count, access, size, min(took) * 1000, max(took) * 1000))
        lib.check(min(took) < 0.1 * lib.SCALE,
                  "a plan of %d rules: %s" % (count, took))


total = 0
for kind in box.chosen():
    with box.session(kind) as (server, client):
        if not box.can(kind, client):
            continue
        if kind.uid == os.geteuid():
            largest(server, client)
        total += writes(kind, client)
        total += reads(kind, client)
        if not kind.alone:
            total += denies(kind, client)
            replaced(kind, client)
        swaps(kind, client)
print("%d requests were refused" % total)
box.finish()
