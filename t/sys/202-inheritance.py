"""202: what a command inherits, and what it sees of the server."""
import importlib
import json
import os
import resource
import signal
import sys
import uuid

lib = importlib.import_module("2common")
HERE = os.path.dirname(os.path.abspath(__file__))

# Run by the child itself, without libraries that change things first.
LOOK = r"""
import json, os
status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)
limits = {}
for l in open('/proc/self/limits').read().splitlines()[1:]:
    limits[l[:26].strip()] = l[26:].split()[:2]
seen = os.listdir('/proc/self/fd')
fds = {}
for n in seen:
    try:
        fds[n] = os.readlink('/proc/self/fd/' + n)
    except OSError:
        pass
mask = os.umask(0)
tty = True
try:
    os.close(os.open('/dev/tty', os.O_RDWR))
except OSError:
    tty = False
print(json.dumps({
    'fds': fds, 'umask': mask, 'tty': tty, 'status':
    {k: v.strip() for k, v in status.items()}, 'limits': limits,
    'ids': [os.getpid(), os.getpgid(0), os.getsid(0), os.getppid()],
    'nice': os.getpriority(os.PRIO_PROCESS, 0),
    'scheduler': os.sched_getscheduler(0),
    'affinity': sorted(os.sched_getaffinity(0)),
    'oom': open('/proc/self/oom_score_adj').read().strip(),
    'slack': open('/proc/self/timerslack_ns').read().strip(),
    'environ': open('/proc/self/environ', 'rb').read().decode('latin-1'),
    'cwd': os.getcwd(), 'cgroup': open('/proc/self/cgroup').read()}))
"""


def hostile_start():
    """The server itself is started in an untidy way."""
    for sig in (signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP,
                signal.SIGUSR1, signal.SIGTSTP, signal.SIGCHLD):
        signal.signal(sig, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [
        signal.SIGUSR2, signal.SIGALRM, signal.SIGWINCH, signal.SIGCHLD,
        signal.SIGRTMIN + 3])
    os.umask(0o077)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (321, min(hard, 4321)))
    os.nice(3)
    fd = os.open("/dev/null", os.O_RDWR)
    for n in (3, 7, 20):
        os.dup2(fd, n)
        os.set_inheritable(n, True)


def look(client, name, env, **more):
    client.start(name, client.python, "-I", "-S", "-c", LOOK, env=env,
                 **more)
    text, code = client.output(name)
    if not lib.check(code == 0, "%s: exit code %s %r" % (name, code,
                                                         text[-500:])):
        return None
    return json.loads(text)


def check_child(name, seen, env, tty, hard, affinity):
    def same(what, got, want):
        lib.check(got == want, "%s: %s is %r, not %r" % (name, what, got,
                                                        want))

    same("descriptors", sorted(seen["fds"]), ["0", "1", "2"])
    where = "/dev/pts/" if tty else "pipe:"
    for n in ("1", "2"):
        lib.check(seen["fds"].get(n, "").startswith(where),
                  "%s: fd %s is %s" % (name, n, seen["fds"].get(n)))
    same("umask", seen["umask"], 0o022)
    pid, group, session, parent = seen["ids"]
    same("process group", group, pid)
    same("session", session, pid)
    same("controlling terminal", seen["tty"], tty)
    status = seen["status"]
    for key in ("SigBlk", "ShdPnd", "SigPnd"):
        same(key, int(status[key], 16), 0)
    # What Python itself ignores: PIPE, XFSZ.
    own = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    same("SigIgn", int(status["SigIgn"], 16) & ~own, 0)
    same("open files", seen["limits"]["Max open files"],
         ["321", str(hard)])
    same("nice", seen["nice"], min(
        19, os.getpriority(os.PRIO_PROCESS, 0) + 3))
    same("oom_score_adj", seen["oom"],
         lib.read_proc(os.getpid(), "oom_score_adj").decode().strip())
    same("scheduler", seen["scheduler"], 0)
    same("affinity", seen["affinity"], affinity)
    same("NoNewPrivs", status["NoNewPrivs"], "0")
    same("Seccomp", status["Seccomp"],
         status_of(os.getpid())["Seccomp"])
    same("cwd", seen["cwd"], "/tmp")
    want = "".join("%s=%s\0" % kv for kv in env.items())
    same("environment", sorted(seen["environ"].split("\0")),
         sorted(want.split("\0")))


def status_of(pid):
    text = lib.read_proc(pid, "status").decode()
    return {k: v.strip() for k, v in (l.split(":", 1)
                                      for l in text.splitlines() if ":" in l)}


def check_dispositions(client):
    """Not seen through Python, which changes some."""
    client.start("sig", "/bin/grep", "^Sig[BI]", "/proc/self/status")
    text, _ = client.output("sig")
    for line in text.decode().splitlines():
        key, value = line.split(":")
        lib.check(int(value, 16) == 0, "grep starts with %s" % line)


def check_unreadable(server, client, secret):
    env = {"PATH": os.environ["PATH"]}
    client.start("stay", "sleep", "100000", env=env)
    worker = server.worker_of(client.pid_of("stay"))
    control = os.path.join(server.rundir, "control.sock")
    lib.check(os.path.exists(control), "no control socket")
    client.start("probe", client.python, "-I", HERE + "/2probe.py",
                 str(worker), str(server.pid), control, env=env)
    text, code = client.output("probe")
    if not lib.check(code == 0, "the probe fails: %r" % text):
        return
    seen = json.loads(text)
    for who in ("worker", "master"):
        for what, came in seen[who].items():
            lib.check(came == "refused", "%s: %s: %s" % (who, what, came))
    # The socket may be opened by its owner; a stranger's user may not.
    print("control socket:", seen["control"])
    # Nothing of the server's start is in what the worker shows.
    for pid in [worker] + server.workers():
        lib.check(secret.encode() not in lib.read_proc(pid, "cmdline"),
                  "a secret in the arguments of a worker")


def run(uid, **how):
    hard = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 4321)
    affinity = sorted(os.sched_getaffinity(0))
    secret = uuid.uuid4().hex
    with lib.Server(env={"NOTIFY_SOCKET": secret, "LD_BIND_NOW": "1",
                         "CODEX_API_KEY": secret},
                    preexec=hostile_start, **how) as server:
        with lib.Client(server.url, uid=uid) as client:
            client.python = lib.python_for(uid)
            for number, env in enumerate([
                    {}, {"A": "1", "PATH": "/nowhere", "LD_BIND_NOW": "0",
                         "MALLOC_ARENA_MAX": "1", "EMPTY": ""}]):
                for tty in (False, True):
                    name = "look %d %s" % (number, tty)
                    seen = look(client, name, env, tty=tty)
                    if seen:
                        check_child(name, seen, env, tty, hard, affinity)
            check_dispositions(client)
            if uid is not None or os.geteuid() != 0:
                check_unreadable(server, client, secret)
        if os.geteuid() == 0 and "owner" not in how:
            return
        text = server.text()
        lib.check(secret not in text, "a secret in the log")


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "nobody":
        print("a root server, a client without rights")
        run(lib.NOBODY)
        print("a server without rights")
        run(lib.NOBODY, owner=lib.NOBODY, prefix=(
            "setpriv", "--reuid", "65534", "--regid", "65534",
            "--clear-groups"))
    else:
        run(None)
    lib.finish()


main()
