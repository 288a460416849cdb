"""601: attacks of sandboxed commands on files outside, and on what is
protected inside."""
import contextlib
import importlib
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
box = importlib.import_module("6common")
lib = box.lib

# Landlock alone has no say in what belongs to a file besides its content, nor
# in devices that somebody else made (landlock(7)).
BEYOND_LANDLOCK = {"chmod", "fchmod", "fchmodat2", "chown", "utimes",
                   "setxattr", "chattr", "file_setattr", "node"}


def plant(kind, place):
    """What only root can put into a workspace: a device, a setuid shell."""
    if os.geteuid() != 0:
        for name in "node", "setuid":
            tried.lacking[name] = "not root"
        return []
    node, suid = place.top + "/node", place.top + "/suid"
    try:
        os.mknod(node, 0o20666, os.makedev(1, 5))
        os.chmod(node, 0o666)
    except OSError as e:
        node = None
        tried.lacking["node"] = str(e)
    shutil.copy("/bin/sh", suid)
    os.chmod(suid, 0o4755)
    return (["node=" + node] if node else []) + [
        "setuid=" + suid, "uid=%d" % kind.inside]


def attack(what, run, place, policy, *keys, allowed=(), names=(),
           program=None, content_only=False):
    out, code, _ = run(program or box.FILES, *keys, *names, box=policy,
                       cwd=place.ws, limit=120)
    lib.check(code in (0, 1), "%s: %s %s" % (what, code, out))
    found, refused = tried.judge(what, out, keys, names)
    escaped = sorted(n for n in found if found[n][0] == "ESCAPED")
    bad = [n for n in escaped if n not in allowed]
    lib.check(not bad, "%s: %s" % (what, {n: found[n][1] for n in bad}))
    changes = place.changes(content_only)
    lib.check(not changes, "%s: %s" % (what, changes))
    print("%-40s %3d of %3d refused%s" % (
        what, len(refused), len(found),
        ", beyond Landlock " + " ".join(escaped) if escaped else ""),
        flush=True)
    return len(refused)


def keys_of(place, git=None, **more):
    out = ["ws=" + place.ws, "out=" + place.out, "self=" + box.FILES]
    if git:
        out.append("git=" + git)
    return out + ["%s=%s" % k for k in more.items()]


def outside(kind, run):
    """A workspace with its .git, which is protected by itself."""
    with box.Place(kind.uid, git=not kind.alone) as place:
        git = None if kind.alone else place.ws + "/.git"
        return attack(kind.name + ": workspace-write", run, place,
                      box.workspace(place.ws), *keys_of(place, git),
                      *plant(kind, place),
                      allowed=BEYOND_LANDLOCK if kind.alone else (),
                      content_only=kind.alone)


def nothing_writable(kind, run):
    with box.Place(kind.uid) as place:
        names = ("write", "truncate", "create", "rename_over",
                 "git_write", "git_create", "self_root", "reopen", "link_in",
                 "chmod", "fchmodat2", "utimes", "setxattr", "chattr",
                 "file_setattr")
        attack(kind.name + ": read-only", run, place,
               box.read_only(place.ws),
               *keys_of(place, place.ws + "/.git"), names=names)
        out, code, denied = run("sh", "-c", ": >x", cwd=place.ws,
                                box=box.read_only(place.ws))
        lib.check(code != 0 and denied and not
                  os.path.exists(place.ws + "/x"),
                  "%s: read-only: %s %s" % (kind.name, code, out))


# By what names a policy calls the workspace, and what is protected in it: its
# own, or one with a link on the way, as /home is on some machines.
NAMES = (("/ws", "/ws"), ("/link/ws", "/link/ws"), ("/ws", "/link/ws"),
         ("/link/ws", "/ws"), ("/link/ws", "/other/ws"))


def names_in(place, names):
    os.symlink(place.top, place.top + "/link")
    os.symlink(place.top + "/link", place.top + "/other")
    return place.top + names[0], place.top + names[1]


def deep(kind, run, called):
    """Protected deeper in, so that somebody could move what is around it."""
    with box.Place(kind.uid) as place:
        mid = place.ws + "/mid"
        policy_ws, rule_ws = names_in(place, called)
        os.makedirs(mid + "/sub/.git/hooks")
        place.put(mid + "/sub/.git/config")
        place.own()
        names = [n for n in box.names_of(box.FILES) if n.startswith(
            ("git_", "mid_", "root_"))]
        policy = box.workspace(policy_ws, box.at(rule_ws + "/mid/sub/.git",
                                                 "read"))
        attack("%s: protected deep inside%s" % (
            kind.name, " by other names" * (called != NAMES[0])), run, place, policy,
               *keys_of(place, mid + "/sub/.git", mid=mid), names=names)
        attack(kind.name + ": and the folder around it", run, place, policy,
               *keys_of(place, mid + "/sub/.git", mid=mid + "/sub"),
               names=["mid_rename", "mid_exchange"])


def is_something(path):
    """A file, or a folder that is not empty."""
    try:
        return os.path.isfile(path) or bool(os.listdir(path))
    except FileNotFoundError:
        return False            # it goes just now


def missing(kind, run):
    """What is protected, and is not there."""
    with contextlib.ExitStack() as stack:
        places = [(c, stack.enter_context(box.Place(kind.uid, git=False)))
                  for c in NAMES]
        want = sorted(os.listdir(places[0][1].ws))
        for called, place in places:
            made_inside(kind, run, called, place)
        # What stands in for it goes with the sandbox, some time after it.
        for called, place in places:
            nothing_made(kind, called, place, want)


def made_inside(kind, run, called, place):
    """Ways to make it all the same, by a command."""
    ws, rule_ws = names_in(place, called)
    os.symlink(place.ws + "/e", place.top + "/nothing")
    # Two of them are missing from the same folder on.
    policy = box.workspace(ws, box.at(rule_ws + "/a/b", "read"),
                           box.at(rule_ws + "/a/c", "deny"),
                           box.at(rule_ws + "/c", "deny"),
                           box.at(rule_ws + "/d", "read", skip=True),
                           box.at(place.top + "/nothing", "read"))
    for script in ("mkdir -p .git/hooks && : >.git/hooks/pre-commit",
                   "mkdir t; mv t .git", "ln -s /tmp .git",
                   "echo x >.git", "mkdir -p .codex && : >.codex/x",
                   "mkdir -p a && echo x >a/b", "ln -s dir a",
                   "mkdir t2 && : >t2/b && mv t2 a", "echo x >c",
                   "mkdir -p c && echo x >c/d", "mkdir d && : >d/x",
                   "echo x >d", "echo x >e", "mkdir e && : >e/x"):
        out, code, _ = run("sh", "-c", script, box=policy, cwd=ws)
        lib.check(code != 0, "%s: missing, by %s: %s: %s" % (
            kind.name, called, script, out))


def nothing_made(kind, called, place, want):
    """Outside nothing of it is left, or was ever written."""
    lib.wait_until(lambda: not [n for n in os.listdir(place.ws) if n in (
        ".git", ".codex", "a", "c", "d", "e")], 5)
    left = [n for n in os.listdir(place.ws)
            if n not in want and n not in ("t", "t2")]
    lib.check(not [n for n in left if is_something(
        os.path.join(place.ws, n))], "%s: made: %s" % (kind.name, left))
    print("%-40s left outside: %s" % (kind.name + ": missing", left),
          flush=True)


def shared(kind, run):
    """Nothing is made for it in a folder of everybody, as others would see."""
    with box.Place(kind.uid, git=False) as place:
        os.chmod(place.ws, 0o1777)
        before = sorted(os.listdir(place.ws))
        out, code, _ = run("ls", "-A", box=box.workspace(place.ws),
                           cwd=place.ws)
        now = sorted(os.listdir(place.ws))
        lib.check(code == 0 and now == before and
                  sorted(out.split()) == before,
                  "%s: shared: %s, was %s: %s" % (kind.name, now, before, out))


def loops(kind, run):
    """A link to itself stands where something protected is missing: it stays,
    and is in nobody's way."""
    with box.Place(kind.uid, git=False) as place:
        os.symlink(".git", place.ws + "/.git")
        place.own()
        policy = box.workspace(place.ws)
        for script, wanted in (("echo x >file", True),
                               ("rm .git", False), ("mv .git x", False),
                               ("rm -f .git; mkdir .git", False),
                               ("ln -sfn dir .git", False),
                               ("echo x >.git", False)):
            out, code, _ = run("sh", "-c", script, box=policy, cwd=place.ws)
            lib.check((code == 0) == wanted and
                      os.readlink(place.ws + "/.git") == ".git",
                      "%s: a loop: %s: %d %s" % (kind.name, script, code,
                                                 out))


def denied(kind, run):
    """What must not be read: a file, one in a folder, matches of a pattern."""
    names = [n for n in box.names_of(box.FILES) if n.startswith("deny_")]
    with box.Place(kind.uid) as place:
        os.makedirs(place.ws + "/keys/sub")
        for name in ("one", "keys/two", "keys/sub/three", "dir/x.pem"):
            place.put(place.ws + "/" + name)
        os.symlink(place.ws + "/one", place.ws + "/link")
        place.own()
        policy = box.workspace(
            place.ws, box.at(place.ws + "/one", "deny"),
            box.at(place.out + "/secret", "deny"),
            box.at(place.ws + "/keys", "deny"),
            box.glob(place.ws + "/**/*.pem"))
        for path in (place.ws + "/one", place.ws + "/keys/two",
                     place.ws + "/keys/sub/three", place.ws + "/dir/x.pem",
                     place.ws + "/link", place.out + "/secret"):
            attack("%s: denied %s" % (kind.name, os.path.relpath(
                path, place.top)), run, place, policy,
                *keys_of(place, deny=path),
                names=[n for n in names if path != place.ws + "/link" or
                       n in ("deny_read", "deny_write", "deny_by_root")])
            data = open(path, "rb").read()
            lib.check(data == box.CANARY, "%s: %s: %r" % (
                kind.name, path, data))
        out, _, _ = run("sh", "-c", "ls keys; cat keys/two one dir/x.pem; "
                        "cat link; grep -r canary keys one dir; cp -r . /dev/shm/c; "
                        "cat /dev/shm/c/one /dev/shm/c/keys/two",
                        box=policy, cwd=place.ws)
        lib.check("a canary" not in out, "%s: denied, but: %s" % (
            kind.name, out))


def cannot_read(what, client, policy, cwd, *paths):
    """Neither commands nor fs/readFile; where it is refused, both are."""
    run, seen = box.Runs(client), []
    for path in paths:
        for call, params in (
                (run, {"box": policy, "cwd": cwd}),
                (client.call, {"path": box.uri(path), "sandbox": policy})):
            try:
                got = call(*(("cat", path) if call is run else
                             ("fs/readFile",)), **params)
            except lib.RpcError as e:
                got = str(e)
            if "canary" in str(got) or "dataBase64" in str(got):
                seen.append((path, got))
    lib.check(not seen, "%s: read: %s" % (what, seen))


def looks_missing(kind, client):
    """What is denied has the mode of a folder that stands in for none."""
    with box.Place(kind.uid) as place:
        for folder in (place.out + "/keys", place.ws + "/keys"):
            os.mkdir(folder)
            place.put(folder + "/one")
        place.own()
        for folder in (place.out + "/keys", place.ws + "/keys"):
            os.chmod(folder, 0o1555)
            for policy in (
                    box.workspace(place.ws, box.at(folder, "deny")),
                    box.workspace(place.ws, box.at(folder + "/one", "deny")),
                    box.sandbox(box.special("root", "read"),
                                box.at(folder, "deny"), cwd="/"),
                    box.sandbox(box.special("root", "read"),
                                box.at(folder, "deny", skip=True), cwd="/")):
                cannot_read("%s: mode 1555" % kind.name, client, policy, "/",
                            folder + "/one")


# Deeper than a path can name: move what is hidden there, or read it there.
DIVE = """
import os
import re
top = os.open(".", os.O_RDONLY)
for n in range(25):
    if %r:
        os.mkdir("d" * 200)
    os.chdir("d" * 200)
if %r:
    os.rename("keys", "keys", src_dir_fd=top,
              dst_dir_fd=os.open(".", os.O_RDONLY))
print(open("keys/one.pem").read())
"""

MOVER = """
import os
import re
at = "keys"
print("on", flush=True)
while True:
    for to in ("a/keys", "z/keys", "keys"):
        if to != at:
            os.rename(at, to)
            at = to
"""


def patterns(kind, server, client, run):
    """Where a pattern looks, and whether what it hides can be moved."""
    with box.Place(kind.uid) as place:
        for folder in ("keys", "a", "z"):
            os.mkdir(place.ws + "/" + folder)
        secret = place.ws + "/keys/one.pem"
        place.put(secret)
        os.symlink(place.ws, place.top + "/link")
        place.own()
        for cwd in (place.ws, place.top + "/link", place.ws + "/keys",
                    place.top + "/link/keys"):
            for pattern in ("**/*.pem", cwd + "/**/*.pem", cwd + "/**",
                            place.ws + "/**/*.pem"):
                cannot_read("%s: %s in %s" % (kind.name, pattern, cwd),
                            client, box.workspace(cwd, box.glob(pattern)),
                            cwd, secret, place.top + "/link/keys/one.pem")
                # Which is not for want of a sandbox.
                error = box.refused(run, "true", cwd=cwd, box=box.workspace(
                    cwd, box.glob(pattern)))
                lib.check(error is None, "%s: %s in %s: %s" % (
                    kind.name, pattern, cwd, error))
        for pattern in (place.ws + "/keys/**", "**/*.pem"):
            policy = box.workspace(place.ws, box.glob(pattern))
            for way in (("mv", "keys", "moved"), ("mv", "keys", "a/moved"),
                        ("chmod", "0", "keys")):
                run(*way, box=policy, cwd=place.ws)
                out, _, _ = run("sh", "-c", "chmod 755 keys; cat keys/*.pem "
                                "moved/*.pem a/moved/*.pem", box=policy,
                                cwd=place.ws)
                lib.check("canary" not in out and os.path.exists(secret),
                          "%s: %s: %s: %s" % (kind.name, pattern, way, out))
            moved_below(kind, run, place, pattern, policy)
    moved_meanwhile(kind, client, run)
    if kind.uid and os.geteuid() == 0:
        unlistable(kind, run)
    from_the_root(kind, run)
    as_deep_as_told(kind, run)


def as_deep_as_told(kind, run):
    """glob_scan_max_depth: what lies deeper is not looked for."""
    with box.Place(kind.uid) as place:
        os.makedirs(place.ws + "/a/b")
        place.put(place.ws + "/a/one.pem")
        place.put(place.ws + "/a/b/two.pem")
        place.own()
        policy = box.workspace(place.ws, box.glob("**/*.pem"))
        files = policy["permissions"]["file_system"]
        for deep, seen in ((1, 2), (2, 1), (3, 0)):
            files["glob_scan_max_depth"] = deep
            out, _, _ = run("sh", "-c", "cat a/*.pem a/b/*.pem 2>/dev/null",
                            box=policy, cwd=place.ws)
            lib.check(out.count("canary") == seen, "%s: %d deep: %s" % (
                kind.name, deep, out))


def moved_below(kind, run, place, pattern, policy):
    """To where nobody can look for what is to be hidden: then none runs."""
    out = run("python3", "-c", DIVE % (True, True), box=policy,
              cwd=place.ws)[0]
    error = None
    try:
        out += run("python3", "-c", DIVE % (False, False), box=policy,
                   cwd=place.ws)[0]
    except lib.RpcError as e:
        error = str(e)
    lib.check("canary" not in out and
              os.path.exists(place.ws + "/keys/one.pem"),
              "%s: %s: moved below: %s" % (kind.name, pattern, out))
    lib.check((error is not None) == pattern.startswith("*"),
              "%s: %s: deep: %s" % (kind.name, pattern, error))
    subprocess.run(["rm", "-rf", place.ws + "/" + "d" * 200], check=True)


def moved_meanwhile(kind, client, run):
    """One command moves what others must not read, to and fro."""
    with box.Place(kind.uid, git=False) as place:
        for folder in ("keys", "a", "z"):
            os.mkdir(place.ws + "/" + folder)
        place.put(place.ws + "/keys/one.pem")
        # The longer it takes to look, the more can be moved meanwhile.
        for n in range(200):
            os.mkdir("%s/m%d" % (place.ws, n))
        place.own()
        policy = box.workspace(place.ws, box.glob("**/*.pem"))
        mover = box.Runs(client).name()
        client.start(mover, "python3", "-c", MOVER, cwd=place.ws,
                     sandbox=policy, env={"PATH": box.PATH})
        lib.check(client.note(mover, "process/output"), "no mover")
        for n in range(30):
            try:
                out = run("sh", "-c", "for n in 1 2 3 4 5 6 7 8 9; do cat "
                          "a/keys/* z/keys/* keys/*; done", box=policy,
                          cwd=place.ws)[0]
            except lib.RpcError:
                continue
            if not lib.check("canary" not in out, "%s: moved to and fro: "
                             "try %d: %s" % (kind.name, n, out)):
                break
        client.call("process/terminate", processId=mover)


def unlistable(kind, run):
    """A folder of somebody else, with a name in it that a command knows."""
    with box.Place(kind.uid) as place:
        folder = place.out + "/private"
        for mode in (0o711, 0o700, 0o744):
            os.makedirs(folder + "/in", exist_ok=True)
            os.chmod(folder, 0o755)
            for name in ("/one.pem", "/in/one.pem"):
                place.put(folder + name)
            os.chmod(folder, mode)
            policy = box.workspace(place.ws,
                                   box.glob(place.out + "/**/*.pem"))
            out = run("sh", "-c", "cat $0/one.pem $0/in/one.pem $1 2>&-",
                      folder, place.out + "/file", box=policy)[0]
            lib.check(out == box.CANARY.decode(), "%s: mode %o: %s" % (
                kind.name, mode, out))
        # What is allowed in there cannot be looked at either.
        os.chmod(folder, 0o711)
        os.chown(folder + "/in", kind.uid, kind.uid)
        error = box.refused(run, "true", box=box.workspace(
            place.ws, box.at(folder + "/in", "write"),
            box.glob(place.out + "/**/*.pem")))
        lib.check(error and "looking for what to hide" in error[1],
                  "%s: %s" % (kind.name, error))


def looked_everywhere(place, run, *argv, **how):
    """
    Once more while others, who use this machine too, have something that cannot
    be looked through: then no sandbox is made.  None: they go on having it.
    """
    where = None

    def ready():
        nonlocal where
        try:
            return run(*argv, **how)
        except lib.RpcError as e:
            where = re.search("looking for what to hide in ([^;]*)", str(e))
            if not where or where[1].startswith(place.top):
                raise
            return None

    got = None if not_looked else lib.wait_until(ready, 20, 0.1)
    if where and not got:
        not_looked.append(where[1])
    return got


not_looked = []                         # folders that stay so


def from_the_root(kind, run):
    """Patterns that look everywhere, where not everybody may look."""
    with box.Place(kind.uid) as place:
        place.put(place.out + "/dir/one.pem")
        place.put(place.out + "/dir/one.txt")
        for pattern in ("/**/*.pem", "/*/*/*.pem", "/**/dir/one.p*",
                        place.top + "/*/dir/*.pem"):
            got = looked_everywhere(
                place, run, "sh", "-c", "cat out/dir/one.* 2>&-; ls "
                "/proc/self/fd >/dev/null", cwd=place.top,
                box=box.workspace(place.ws, box.glob(pattern)))
            n = 2 if pattern == "/*/*/*.pem" else 1
            lib.check(not got or got[0] == box.CANARY.decode() * n,
                      "%s: %s: %s" % (kind.name, pattern, got))


def aliases(kind, run):
    """Folders that a policy names by links, whatever comes first."""
    for name in ("alink", "zlink"):
        with box.Place(kind.uid) as place:
            link = place.top + "/" + name
            os.symlink(place.ws, link)
            place.put(place.ws + "/one")
            place.own()
            os.symlink(link + "/one", link + "one")
            for root, secret in ((link, place.ws + "/one"),
                                 (place.ws, link + "/one"),
                                 (place.ws, link + "one"),
                                 (link, link + "/one")):
                policy = box.sandbox(
                    box.special("root", "read"), box.at(root, "write"),
                    box.at(secret, "deny"), cwd=root)
                attack("%s: %s, denied %s" % (kind.name, os.path.relpath(
                    root, place.top), os.path.relpath(secret, place.top)),
                    run, place, policy,
                    *keys_of(place, place.ws + "/.git",
                             deny=place.ws + "/one"),
                    names=["deny_read", "deny_write", "deny_link",
                           "deny_unlink", "git_write", "git_create",
                           "git_rename", "write", "by_symlink"])


def guards_give_nothing(kind, server, client, run):
    """What is protected is a link that a checkout brought, or a command."""
    reads = [box.at(p, "read") for p in (
        "/usr", "/bin", "/lib", "/lib64", "/etc") if os.path.exists(p)]
    write = box.special("project_roots", "write")
    for name in box.GUARDED:
        with box.Place(kind.uid, git=False) as place:
            home = place.top + "/home"
            os.makedirs(home + "/ws/keys")
            os.makedirs(home + "/.ssh")
            place.put(home + "/.ssh/id")
            os.symlink("../.ssh", home + "/ws/" + name)
            os.symlink("../out", place.ws + "/" + name)
            os.mkdir(place.top + "/plain")
            os.symlink("../out", place.top + "/plain/link")
            place.own()
            for cwd, policy in (
                    (place.ws, box.sandbox(*reads, write, cwd=place.ws)),
                    (place.ws, box.workspace(
                        place.ws, box.at(place.out, "deny"))),
                    (place.ws, box.sandbox(
                        *reads, write, box.at(place.ws + "/" + name, "read"),
                        box.at(place.ws + "/" + name + "/dir", "read"),
                        cwd=place.ws)),
                    # Where nothing is writable around it, too.
                    (place.ws, box.workspace(
                        place.ws, box.at(place.out, "deny"),
                        box.at(place.top + "/plain/link", "read"))),
                    (home + "/ws", box.sandbox(
                        box.special("root", "read"), box.at(home, "deny"),
                        write, cwd=home + "/ws"))):
                cannot_read("%s: a link %s" % (kind.name, name), client,
                            policy, cwd, place.out + "/secret"
                            if cwd == place.ws else home + "/.ssh/id",
                            cwd + "/" + name + "/secret",
                            cwd + "/" + name + "/id")
            shared = place.top + "/shared"
            os.mkdir(shared)
            os.chmod(shared, 0o1777)
            policy = box.sandbox(*reads, box.at(shared, "write"), cwd=shared)
            run("ln", "-s", place.out, shared + "/" + name, box=policy,
                cwd=shared)
            with kind.client(server) as other:
                cannot_read("%s: made a link %s" % (kind.name, name), other,
                            policy, shared, place.out + "/secret",
                            shared + "/" + name + "/secret")


def guards_hold(kind, run):
    """Where their links lead into what is writable, or to what is ours."""
    with box.Place(kind.uid, git=False) as place:
        os.symlink("dir", place.ws + "/.codex")
        os.symlink("/proc", place.ws + "/.agents")
        os.symlink("/", place.ws + "/.aws")
        place.own()
        policy = box.sandbox(box.special("root", "read"),
                             box.special("project_roots", "write"),
                             cwd=place.ws)
        out, code, _ = run(
            "sh", "-c", ": >dir/x || : >.codex/x || rm .codex || mv dir d ||"
            "rm .agents || : >.agents/x || rm .aws", box=policy,
            cwd=place.ws)
        lib.check(code != 0, "%s: links inside: %s" % (kind.name, out))
        out, code, _ = run("sh", "-c", ": >new && ls /proc", box=policy,
                           cwd=place.ws)
        pids = [p for p in out.split() if p.isdigit()]
        lib.check(code == 0 and 0 < len(pids) < 8,
                  "%s: a link shows the host's /proc: %s" % (kind.name, out))


def little_readable(kind, run):
    """Only some folders can be read."""
    with box.Place(kind.uid, git=not kind.alone) as place:
        reads = [box.at(p, "read") for p in (
            "/usr", "/bin", "/lib", "/lib64", "/etc", lib.BUILD)
            if os.path.exists(p)]
        policy = box.sandbox(*reads, box.special("project_roots", "write"),
                             cwd=place.ws)
        names = [n for n in box.names_of(box.FILES) if n in (
            "deny_read", "deny_by_root", "deny_by_link", "deny_path",
            "deny_link", "deny_rename", "deny_write", "deny_unlink")]
        attack(kind.name + ": little is readable", run, place, policy,
               *keys_of(place, deny=place.out + "/secret"), names=names)
        out, code, _ = run("sh", "-c", "cat file; cat ../out/file; ls ..; "
                           "cat /proc/1/environ; ls /root /home /var/lib",
                           box=policy, cwd=place.ws)
        lib.check("mine" in out and "canary" not in out and "out" not in
                  out.split(), "%s: little: %s" % (kind.name, out))
        # The client's rules about /proc and /dev are about the sandbox's.
        policy = box.sandbox(*reads, box.at("/proc", "read"),
                             box.at("/dev", "write"), box.at("/sys", "read"),
                             box.special("project_roots", "write"),
                             cwd=place.ws)
        out, code, _ = run("sh", "-c", "echo x >/dev/null && ls /proc",
                           box=policy, cwd=place.ws)
        lib.check(code == 0, "%s: /dev and /proc: %s" % (kind.name, out))
        if not kind.alone:
            pids = [p for p in out.split() if p.isdigit()]
            lib.check(len(pids) < 8, "%s: a rule shows the host's /proc: %s"
                      % (kind.name, pids))


def fails_closed(kind, run):
    """What Landlock cannot say is refused, with a reason, and not run."""
    with box.Place(kind.uid) as place:
        marker = place.ws + "/ran"
        names_in(place, NAMES[0])
        os.symlink(place.out, place.ws + "/dir/loose")
        for policy in (
                box.workspace(place.ws),        # it has a .git
                box.workspace(place.ws, box.at(place.ws + "/file", "deny")),
                box.workspace(place.ws, box.at(place.out, "deny")),
                # asked for, and not only if it is there
                box.sandbox(box.special("root", "read"),
                            box.at(place.ws + "/dir", "write"),
                            box.at(place.ws + "/dir/.git", "read"),
                            cwd=place.ws),
                box.sandbox(box.special("root", "read"),
                            box.at(place.ws + "/dir", "write"),
                            box.at(place.top + "/link/ws/dir/x", "read"),
                            cwd=place.ws),
                # a link that could be replaced
                box.sandbox(box.special("root", "read"),
                            box.at(place.ws + "/dir", "write"),
                            box.at(place.ws + "/dir/loose", "read"),
                            cwd=place.ws),
                box.sandbox(box.at("/usr", "read"),
                            box.at(place.ws + "/dir", "read"),
                            box.at(place.top + "/link/ws/dir/x", "deny"),
                            cwd=place.ws),
                box.sandbox(box.special("root", "read"),
                            box.glob("/**/*.pem"), cwd=place.ws)):
            error = box.refused(run, *("touch", marker), box=policy)
            lib.check(error and error[0] == box.FAILED and
                      "sandbox cannot be set up" in error[1] and
                      len(error[1]) > 40, "%s: %s" % (kind.name, error))
        lib.check(not os.path.exists(marker), "%s: it ran" % kind.name)
        print("%-40s %s" % (kind.name + ": refused", error[1]), flush=True)


def status_says(kind, server):
    """What is not protected on such a host is no secret to its operator."""
    env = {**os.environ, "EXECSRV_RUNTIME_DIR": server.rundir}
    as_owner = box.as_user(kind.owner) if kind.owner is not None else ()

    def status():
        return subprocess.run(
            [*as_owner, os.path.join(lib.BUILD, "execsrvctl"), "status"],
            check=False, env=env, capture_output=True, text=True).stdout

    lib.check(lib.wait_until(lambda: "not protected: modes" in status()),
              "%s: status: %s" % (kind.name, status()))


tried = box.Tried(box.FILES)
total = 0
for kind in box.chosen():
    with box.session(kind) as (server, client):
        run = box.Runs(client)
        if not box.can(kind, client):
            continue
        total += outside(kind, run)
        nothing_writable(kind, run)
        if kind.alone:
            little_readable(kind, run)
            guards_give_nothing(kind, server, client, run)
            fails_closed(kind, run)
            status_says(kind, server)
            continue
        for called in NAMES:
            deep(kind, run, called)
        missing(kind, run)
        shared(kind, run)
        loops(kind, run)
        denied(kind, run)
        looks_missing(kind, client)
        patterns(kind, server, client, run)
        aliases(kind, run)
        guards_give_nothing(kind, server, client, run)
        guards_hold(kind, run)
        little_readable(kind, run)
print("%d attacks were refused" % total)
tried.finish()
if not_looked:
    print("left out: patterns that look everywhere: nobody can look into " +
          not_looked[0])
box.finish()
