"""What the 6xx tests share: sandbox objects, servers of several kinds, and a
place with a workspace in it and canaries around it."""
import base64
import contextlib
import errno
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

lib = importlib.import_module("2common")

FILES = os.path.join(lib.BUILD, "t", "6files")
REACH = os.path.join(lib.BUILD, "t", "6reach")
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
EROFS, FAILED, NOT_FOUND, DENIED = 30, -32603, -32004, -32600
READ, WRITE, DENY = "read", "write", "deny"
CANARY = b"a canary\n"


# --- sandbox objects ---------------------------------------------------------

def at(path, access, skip=False):
    return entry({"type": "path", "path": "file://" + path}, access, skip)


def special(kind, access, subpath=None, skip=False):
    value = {"kind": kind}
    if subpath is not None:
        value["subpath"] = subpath
    return entry({"type": "special", "value": value}, access, skip)


def glob(pattern, access=DENY):
    return entry({"type": "glob_pattern", "pattern": pattern}, access)


def entry(where, access, skip=False):
    e = {"path": where, "access": access}
    if skip:
        e["missing_path_behavior"] = "skip"
    return e


def sandbox(*entries, cwd, roots=None, net=False, **more):
    """A sandbox object; no entries: the files are not restricted."""
    files = {"type": "restricted", "entries": list(entries)} if entries \
        else {"type": "unrestricted"}
    return {"permissions": {"type": "managed", "file_system": files,
                            "network": "enabled" if net else "restricted"},
            "cwd": "file://" + cwd,
            "workspaceRoots": ["file://" + r for r in roots or [cwd]],
            "windowsSandboxLevel": "disabled",
            "windowsSandboxProxySettingsMode": "reconcile",
            "useLegacyLandlock": False, **more}


GUARDED = (".git", ".agents", ".codex", ".aws")


def workspace(cwd, *more, net=False, tmp=False):
    """What a client in the mode workspace-write sends."""
    entries = [special("root", READ), special("project_roots", WRITE)]
    if tmp:
        entries += [special("slash_tmp", WRITE), special("tmpdir", WRITE)]
    entries += [special("project_roots", READ, name, skip=True)
                for name in GUARDED]
    return sandbox(*entries, *more, cwd=cwd, net=net)


def read_only(cwd, net=False):
    return sandbox(special("root", READ), cwd=cwd, net=net)


# --- servers -----------------------------------------------------------------

def as_user(uid):
    return ("setpriv", "--reuid", str(uid), "--regid", str(uid),
            "--clear-groups")


class Kind:
    """A way to run a server, and whose session is looked at."""

    def __init__(self, name, uid, owner=None, prefix=(), alone=False,
                 inside=None):
        self.name, self.uid, self.owner = name, uid, owner
        self.prefix, self.alone = prefix, alone
        self.inside = uid if inside is None else inside  # what it is called

    def server(self, *options):
        return lib.Server(*options, unix=True, owner=self.owner,
                          prefix=self.prefix)

    def client(self, server, **more):
        return lib.Client(server.url, uid=self.uid, **more)


def kinds():
    """
    The servers that can be run here.  alone: without user namespaces, so that
    Landlock alone has to do.
    """
    me, nobody = os.geteuid(), lib.NOBODY
    no_userns = (REACH, "no-userns")
    # A container of one user, who is root there (user_namespaces(7)).
    one = ("unshare", "--user", "--map-root-user", "sh", "-c",
           "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"", "sh")
    may = as_user(nobody) if me == 0 else ()
    container = [Kind("container", nobody if me == 0 else me,
                      nobody if me == 0 else None, may + one, alone=True,
                      inside=0)]
    if subprocess.run([*may, *one, "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("left out: container: there are no user namespaces")
        container = []
    if me != 0:
        return [Kind("own", me),
                Kind("own-alone", me, prefix=no_userns,
                     alone=True)] + container
    return [
        Kind("user", nobody),
        Kind("root", 0),
        Kind("unprivileged", nobody, nobody, as_user(nobody)),
        Kind("user-alone", nobody, None, no_userns, alone=True),
        Kind("root-alone", 0, None, no_userns, alone=True),
        Kind("unprivileged-alone", nobody, nobody,
             as_user(nobody) + no_userns, alone=True),
    ] + container


# --- a place -----------------------------------------------------------------

class Place:
    """
    A folder of a user: ws (the workspace, with .git), out (what is outside,
    with a canary in file, dir/file, and secret), and links between them.
    """

    def __init__(self, uid, git=True):
        self.uid = uid
        self.top = lib.temp_dir(0o755)
        self.ws, self.out = self.top + "/ws", self.top + "/out"
        os.makedirs(self.ws + "/dir")
        os.makedirs(self.out + "/dir")
        for name in ("file", "dir/file", "secret"):
            self.put(self.out + "/" + name)
        self.put(self.ws + "/file", b"mine\n")
        if git:
            os.makedirs(self.ws + "/.git/hooks")
            self.put(self.ws + "/.git/config")
        self.own()

    def own(self):
        """After something was put into it: it is the user's, and is known."""
        if os.geteuid() == 0:
            subprocess.run(["chown", "-hR", "%d:%d" % (self.uid, self.uid),
                            self.top], check=True)
        self.before = self.look()

    def put(self, path, data=CANARY):
        pathlib.Path(path).write_bytes(data)

    def look(self):
        """All that is outside, with what would show a change of it."""
        seen = {}
        for folder in (self.out, self.ws + "/.git", self.ws + "/mid"):
            for path, dirs, names in os.walk(folder):
                for name in dirs + names + ["."]:
                    full = os.path.normpath(os.path.join(path, name))
                    # What stands in for a missing one may just go.
                    with contextlib.suppress(FileNotFoundError):
                        seen[full] = self.look_at(full)
        return seen

    @staticmethod
    def look_at(path):
        st = os.lstat(path)
        data = b""
        if os.path.isfile(path) and not os.path.islink(path):
            data = pathlib.Path(path).read_bytes()
        return (data, st.st_mode, st.st_uid, st.st_gid, st.st_nlink,
                st.st_size, st.st_mtime_ns)

    def changes(self, content_only=False):
        now, out = self.look(), []
        for path in sorted(set(now) | set(self.before)):
            new, old = now.get(path), self.before.get(path)
            if content_only and new and old:
                new, old = new[0], old[0]
            if new != old:
                out.append("%s: %s, was %s" % (path[len(self.top):], new,
                                               old))
        return out

    def is_ours(self, path):
        """Whether a name is one of the workspace, wherever a link leads."""
        if path.startswith("/proc/"):
            return False
        folder = os.path.realpath(os.path.dirname(path)) + "/"
        return folder.startswith(self.ws + "/") and not \
            folder.startswith(self.ws + "/.git/")

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.remove()


# --- commands ----------------------------------------------------------------

def names_of(program):
    """All attacks of a probe."""
    return subprocess.run([program, "-l"], capture_output=True, check=True,
                          text=True).stdout.split()


def verdicts(out):
    """{attack: (verdict, reason)} of what a probe said."""
    found = {}
    for line in out.splitlines():
        parts = line.split(": ", 2)
        if len(parts) == 3 and parts[1] in ("refused", "skipped", "ESCAPED"):
            found[parts[0]] = tuple(parts[1:])
    return found


class Tried:
    """
    Which attacks of a probe were tried at all.  One that was not is no proof
    of anything: it has to be one that is known not to work here, and each has
    to be tried by some command.
    """

    def __init__(self, program):
        self.program, self.all = program, set(names_of(program))
        self.done = set()
        self.lacking = {}               # attack: why it cannot be tried here

    def judge(self, what, out, keys, names, but=(), skips=()):
        """
        What became of attacks, of all if none are named: (verdicts, names of
        those that were refused).  skips: reasons that are expected.
        """
        found = verdicts(out)
        given = {k.split("=")[0] for k in keys}
        absent = (set(names) or self.all) - set(but) - set(found)
        lib.check(not absent, "%s: nothing is said of %s" % (
            what, sorted(absent)))
        for name, (verdict, why) in found.items():
            if verdict == "skipped" and why == os.strerror(errno.ENOSYS) and \
                    not self.kernel_lacks(name, keys):
                found[name] = ("refused", why)  # by a filter
            elif verdict == "skipped" and why not in skips:
                key = re.fullmatch(r"no (\S+) given", why)
                lib.check(name in self.lacking or (
                    key and key[1] not in given and not names),
                    "%s: %s was not tried: %s" % (what, name, why))
        refused = [n for n in found if found[n][0] == "refused"]
        self.done.update(n for n in found if found[n][0] != "skipped")
        return found, refused

    def kernel_lacks(self, name, keys):
        """Whether a system call is missing without any sandbox, too."""
        if name not in self.lacking:
            prefix = as_user(lib.NOBODY) if os.geteuid() == 0 else ()
            out = subprocess.run([*prefix, self.program, *keys, name],
                                 check=False, capture_output=True,
                                 text=True).stdout
            verdict, why = verdicts(out)[name]
            if verdict != "skipped" or why != os.strerror(errno.ENOSYS):
                return False
            self.lacking[name] = why
        return True

    def finish(self):
        """After all kinds of servers: what nobody tried."""
        for name in sorted(self.lacking):
            print("left out: %s: %s" % (name, self.lacking[name]))
        never = self.all - self.done - set(self.lacking)
        if any(n in ran for n in ("own", "user")):
            lib.check(not never, "never tried: %s" % sorted(never))


ran = []


def can(kind, client):
    """Whether this kernel has what a kind of server needs."""
    error = refused(Runs(client), *("true",), box=read_only("/"))
    if error is not None:
        # Else it is not this kernel that is in the way.
        lib.check("the sandbox cannot be set up" in error[1],
                  "%s: no command is started: %s" % (kind.name, error[1]))
        print("left out: %s: %s" % (kind.name, error[1]), flush=True)
        return False
    ran.append(kind.name)
    return True


def chosen():
    """The kinds to be tried, or those named on the command line."""
    for kind in kinds():
        if len(sys.argv) == 1 or kind.name in sys.argv[1:]:
            yield kind


def beside(path, most=4):
    """
    Unless kinds are named: run a test for each of them, some side by side, since
    they mostly wait, and end as they do.
    """
    if len(sys.argv) > 1:
        return
    todo, running, codes = [k.name for k in kinds()], [], []
    while todo or running:
        while todo and len(running) < most:
            running.append(subprocess.Popen(
                [sys.executable, path, todo.pop(0)]))
        done = [c for c in running if c.poll() is not None]
        codes += [c.returncode for c in done]
        running = [c for c in running if c not in done]
        time.sleep(0.05)
    sys.exit(next((c for c in codes if c not in (0, lib.SKIP)), min(codes)))


def finish():
    if not ran and not lib.failures:
        lib.skip("no sandbox can be made here")
    lib.finish()


class Runs:
    """Commands of a client, each under a name of its own."""

    count = 0

    def __init__(self, client):
        self.client = client

    def name(self):
        Runs.count += 1
        return "c%d" % Runs.count

    def __call__(self, *argv, box=None, cwd="/", env=None, limit=None,
                 **more):
        """(output, exit code, sandboxDenied)"""
        name = self.name()
        self.client.start(name, *argv, cwd=cwd, sandbox=box,
                          env={"PATH": PATH, "HOME": "/", "LC_ALL": "C",
                               **(env or {})}, **more)
        out, code = self.client.output(name, limit=limit)
        note = self.client.note(name, "process/exited")
        self.client.notes.clear()
        return out.decode(errors="replace"), code, note["sandboxDenied"]


def b64(data):
    return base64.b64encode(data).decode()


def unb64(text):
    return base64.b64decode(text)


def uri(path):
    return "file://" + path


def refused(call, *args, **params):
    """(code, message) of the error that a request gets, or None."""
    try:
        call(*args, **params)
    except lib.RpcError as e:
        error = json.loads(str(e))
        return error["code"], error["message"]
    return None


@contextlib.contextmanager
def session(kind, *options):
    with kind.server(*options) as server:
        with kind.client(server) as client:
            yield server, client
