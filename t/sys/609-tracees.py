"""609: commands that have themselves traced (PTRACE_TRACEME, ptrace(2))."""
import importlib
import os
import signal
import subprocess

lib = importlib.import_module("2common")

TRACED = """
import ctypes, os, signal, sys, time
def line(text):
    os.write(1, (text + "\\n").encode())
def traced():
    if ctypes.CDLL(None).ptrace(0, 0, 0, 0) == -1:
        line("is not traced")
"""
# Each goes on as it would without a tracer.
HANDLED = TRACED + """
signal.signal(signal.SIGUSR1, lambda *_: line("handled"))
for _ in range(20):
    traced()
    os.kill(os.getpid(), signal.SIGUSR1)
line("after")
sys.exit(7)
"""
EXECUTED = TRACED + """
traced()
os.execv("/bin/echo", ["echo", "executed"])
"""
KILLED = TRACED + """
traced()
os.kill(os.getpid(), signal.SIGTERM)
line("not reached")
"""
STOPPED = TRACED + """
traced()
line("stops")
os.kill(os.getpid(), signal.SIGSTOP)
line("went on")
time.sleep(1000)
"""
# Its child is left behind, and traced by whoever reaps it.
ORPHAN = TRACED + """
if os.fork() == 0:
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.01)
    traced()
    os.kill(os.getpid(), signal.SIGCONT)
    line("orphan")
    os._exit(0)
"""
# Stops without end: all else goes on beside it.
BUSY = TRACED + """
line("begins")
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
while True:
    traced()
    os.kill(os.getpid(), signal.SIGUSR1)
"""


def state_of(pid):
    return (lib.stat_of(pid) or "?")[0]


def ends(client, python):
    for name, text, want in (
            ("handled", HANDLED, (b"handled\n" * 20 + b"after\n", 7)),
            ("executed", EXECUTED, (b"executed\n", 0)),
            ("killed", KILLED, (b"", 128 + signal.SIGTERM)),
            ("orphan", ORPHAN, (b"orphan\n", 0))):
        client.start(name, python, "-IS", "-c", text)
        got = client.output(name)
        lib.check(got == want, "%s: %s, not %s" % (name, got, want))


def stops(client, python):
    """A stopped one is not over; it goes on, and is killed when told."""
    client.start("stopped", python, "-IS", "-c", STOPPED)
    lib.check(client.note("stopped", "process/output"), "it does not begin")
    pid = client.pid_of("stopped")
    lib.check(lib.wait_until(lambda: state_of(pid) == "T"), "is not stopped")
    lib.check(client.pid_of("stopped") == pid, "is not in the list any more")
    os.kill(pid, signal.SIGCONT)
    lib.check(lib.wait_until(lambda: b"went on" in client.output(
        "stopped", until_closed=False)[0] or client.pump()), "does not go on")
    lib.check(not [n for n in client.notes
                   if n["method"] == "process/exited" and
                   n["params"]["processId"] == "stopped"],
              "it is said to have ended")
    client.call("process/terminate", processId="stopped")
    lib.check(client.output("stopped")[1] == 128 + signal.SIGKILL,
              "was not ended: %s" % (client.output("stopped"),))
    lib.check(lib.wait_until(lambda: not lib.lives(pid)), "it lives on")


def are_counted(url, uid, python):
    """They are processes of the session for as long as they run."""
    with lib.Client(url, uid=uid) as client:
        for n in range(3):
            client.start("c%d" % n, python, "-IS", "-c", STOPPED)
            lib.check(client.note("c%d" % n, "process/output"), "no output")
        try:
            client.start("more", "true")
            lib.fail("more than MaxProcesses run")
        except lib.RpcError:
            pass
        client.call("session/close")


def hold_up(client, python):
    client.start("busy", python, "-IS", "-c", BUSY)
    lib.check(client.note("busy", "process/output"), "it does not begin")
    for n in range(20):
        client.start("beside%d" % n, "echo", "beside")
        lib.check(client.output("beside%d" % n) == (b"beside\n", 0),
                  "nothing goes on beside it")
    client.call("process/terminate", processId="busy")
    lib.check(client.note("busy", "process/exited"), "it cannot be ended")


def beside(python):
    """execsrvd -- COMMAND: the server is there as long as the command."""
    top = lib.temp_dir()
    done = subprocess.run(
        [os.path.join(lib.BUILD, "execsrvd"), "-o", "RuntimeDirectory=" +
         top + "/run", "--listen", "unix:" + top + "/s", "--", python, "-IS",
         "-c", HANDLED], check=False, capture_output=True, text=True,
        timeout=lib.LIMIT * lib.SCALE)
    lib.check(done.returncode == 7 and done.stdout.endswith("after\n"),
              "execsrvd -- COMMAND: %s" % (done,))


uid = lib.NOBODY if os.geteuid() == 0 else os.geteuid()
python = lib.python_for(uid)
with lib.Server("-o", "MaxProcesses=3", unix=True) as server:
    with lib.Client(server.url, uid=uid) as client:
        ends(client, python)
        stops(client, python)
        hold_up(client, python)
    are_counted(server.url, uid, python)
beside(python)
lib.finish()
