"""604: ordinary tools work in a sandbox of the kind workspace-write."""
import importlib
import os
import shutil
import signal
import sys

sys.dont_write_bytecode = True
box = importlib.import_module("6common")
lib = box.lib

GIT = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
       "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t",
       "GIT_CONFIG_NOSYSTEM": "1"}
POOL = """
import array, multiprocessing as m, os, socket, tempfile
def f(x):
    return x * x
if __name__ == "__main__":
    with m.get_context("fork").Pool(2) as p:
        print(p.map(f, range(4)))
    q = m.Queue(); p = m.Process(target=q.put, args=(7,)); p.start()
    print(q.get(), p.join(), p.exitcode)
    with tempfile.TemporaryFile(dir=".") as t:
        t.write(b"x")
    for kind in socket.SOCK_STREAM, socket.SOCK_SEQPACKET:
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                            array.array("i", [1]))])
        print(len(b.recvmsg(9, 99)[1]))
"""
MAKEFILE = """prog: prog.o
\tcc -o prog prog.o
prog.o: prog.c
\tcc -c prog.c
"""
PROG = "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n"
PACKAGE = """{"name": "t", "version": "1.0.0", "license": "ISC",
 "scripts": {"hello": "node -e \\"console.log('hel' + 'lo')\\""}}
"""


def need(name):
    found = shutil.which(name, path=box.PATH)
    if not found:
        print("left out: no %s" % name, flush=True)
    return found


def tool(run, what, script, want, policy, place, code=0, limit=60, **env):
    out, status, denied = run(
        "sh", "-c", script, box=policy, cwd=place.ws, limit=limit,
        env={"HOME": place.ws + "/home", "TMPDIR": place.ws + "/home", **env})
    lib.check(status == code and want in out, "%s: %s %s" % (
        what, status, out))
    lib.check(code or not denied, "%s is denied" % what)
    return out


def git(run, place, policy, free):
    """
    In a new repository below the root: of what is in the root itself .git is
    read-only.
    """
    tool(run, "git init", "mkdir -p repo && cd repo && git init -q . && "
         "echo 1 >a && git add a && git commit -qm one && git log --oneline",
         "one", policy, place, **GIT)
    # Another command: it is still the same.
    tool(run, "git commit", "cd repo && git checkout -qb b && echo 2 >a && "
         "git commit -qam two && git gc -q && git status --short | wc -l",
         "0", policy, place, **GIT)
    tool(run, "git in a protected one", "git status >/dev/null && git log "
         "--oneline", "first", free, place, **GIT)
    out, code, denied = run("sh", "-c", "echo x >a && git add a",
                            cwd=place.ws, box=policy,
                            env={"HOME": place.ws, **GIT})
    lib.check(code != 0 and denied, "git add: %s %s" % (code, out))


def npm(run, place, policy):
    with open(place.ws + "/package.json", "w", encoding="ascii") as f:
        f.write(PACKAGE)
    tool(run, "npm pack", "npm pack --offline 2>&1 && ls *.tgz", "t-1.0.0.tgz",
         policy, place, limit=120)
    tool(run, "npm run", "npm run --offline hello 2>&1", "hello", policy,
         place, limit=120)


def build(run, place, policy):
    for name, text in (("Makefile", MAKEFILE), ("prog.c", PROG)):
        with open(place.ws + "/" + name, "w", encoding="ascii") as f:
            f.write(text)
    place.own()
    tool(run, "make and cc", "make -j2 && ./prog", "built", policy, place)
    tool(run, "tar", "tar cf x.tar prog.c && mkdir x && tar xf x.tar -C x && "
         "cp -a x y && chmod 600 y/prog.c && touch -d yesterday y && mv y z "
         "&& diff -r x z && echo same", "same", policy, place)


def python(run, place, policy):
    with open(place.ws + "/pool.py", "w", encoding="ascii") as f:
        f.write(POOL)
    tool(run, "python", "%s -I pool.py" % lib.python_for(
        None if place.uid == os.geteuid() else place.uid),
        "[0, 1, 4, 9]\n7 None 0\n1\n1\n", policy, place)


def shell(run, place, policy):
    tool(run, "pipes", "seq 1000 | sort -R | sort -n | tail -1; "
         "echo a >$HOME/../t1; cat </dev/urandom | head -c 9 | wc -c; "
         "exec 3>/dev/null; echo x >&3; ps >/dev/null; echo $((1+1)) "
         ">/dev/stderr; echo in >/dev/stdout; mktemp -p .", "1000", policy,
         place)
    out = tool(run, "jobs", "sleep 100 & sleep 0.01; kill $!; wait $!; "
               "echo $?", "143", policy, place)
    lib.check("ot permitted" not in out, "jobs: %s" % out)


def terminal(client, run, place, policy, kind):
    """A shell in a terminal: job control, signals, sizes."""
    env = {"PATH": box.PATH, "PS1": "", "HOME": place.ws}
    client.start("tty", "sh", "-i", cwd=place.ws, sandbox=policy, tty=True,
                 pipeStdin=False, env=env)

    def said(word, limit=lib.LIMIT):
        def ready():
            client.pump()
            return word in b"".join(
                box.unb64(n["params"]["chunk"]) for n in client.notes
                if n["method"] == "process/output") or None
        lib.check(client.conn.wait(ready, lib.time.monotonic() +
                                   limit * lib.SCALE),
                  "%s: terminal: no %r in %s" % (kind.name, word, [
                      box.unb64(n["params"]["chunk"]) for n in client.notes
                      if n["method"] == "process/output"]))
        client.notes.clear()

    def type_in(text):
        client.call("process/write", processId="tty", writeId=text,
                    chunk=box.b64(text.encode()))

    type_in("stty -echo; echo on$((1))\n")
    said(b"on1")
    if not kind.alone:
        type_in("tty\n")
        said(b"/dev/pts/0")
    # It has the terminal when it says something.
    type_in("sh -c 'echo go$((4)); exec sleep 1000'; echo got$?\n")
    said(b"go4")
    type_in("\x03")
    type_in("echo alive$((2))\n")
    said(b"alive2")
    type_in("sh -c 'echo go$((5)); exec sleep 1000'\n")
    said(b"go5")
    type_in("\x1a")
    type_in("jobs; kill -KILL %1; wait; echo done$((3))\n")
    said(b"done3")
    client.call("process/resize", processId="tty",
                rows=33, cols=99)
    type_in("stty size\n")
    said(b"33 99")
    # Twice: the first time a shell stays that has not seen yet that its
    # stopped job was killed.
    type_in("exit 5\nexit 5\n")
    note = client.note("tty", "process/exited")
    lib.check(note and note["exitCode"] == 5, "%s: terminal: %s" % (
        kind.name, note))
    client.note("tty", "process/closed")
    client.notes.clear()


def signals(client, place, policy, kind):
    """Signals reach a sandboxed command, and its end is told."""
    for name, want in (("interrupt", 128 + signal.SIGINT),):
        client.start(name, "sleep", "1000", cwd=place.ws, sandbox=policy,
                     env={"PATH": box.PATH})
        client.call("process/signal", processId=name, signal=name)
        note = client.note(name, "process/exited")
        lib.check(note and note["exitCode"] == want and
                  note["sandboxDenied"] is False,
                  "%s: %s: %s" % (kind.name, name, note))
    client.notes.clear()


def all_of_it(kind, client, run):
    with box.Place(kind.uid, git=False) as place:
        # What is in /tmp of a machine may be what Landlock cannot say.
        policy = box.workspace(place.ws, tmp=not kind.alone)
        free = box.workspace(place.ws)
        os.makedirs(place.ws + "/home")
        place.own()
        if need("git"):
            if not kind.alone:
                tool(run, "git outside", "git init -q . && echo 1 >a && git "
                     "add a && git commit -qm first", "", None, place, **GIT)
            if kind.alone:
                tool(run, "git", "git init -q r && cd r && echo 1 >a && git "
                     "add a && git commit -qm one && git log --oneline",
                     "one", policy, place, **GIT)
            else:
                git(run, place, policy, free)
        if need("cc") and need("make"):
            build(run, place, policy)
        if need("npm"):
            npm(run, place, policy)
        python(run, place, policy)
        shell(run, place, policy)
        terminal(client, run, place, policy, kind)
        signals(client, place, policy, kind)
        print("%s: all tools work" % kind.name, flush=True)


for kind in box.chosen():
    with box.session(kind) as (server, client):
        run = box.Runs(client)
        if not box.can(kind, client):
            continue
        all_of_it(kind, client, run)
box.finish()
