"""Listeners, addresses, configuration, run directories, the daemon."""
import contextlib
import os
import signal
import socket
import stat
import subprocess
import time

from client import (BUILD, LIMIT, Server, TMP, check, dial, is_alive, links_of,
                    main, probe, say, wait_for, children)

PROGRAM = BUILD + "/execsrvd"
EX_CONFIG = 78
WS = "ws://127.0.0.1:0"


def path(name):
    return "%s/%s" % (TMP, name)


def write(name, text, mode=0o644):
    with open(path(name), "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path(name), mode)
    return path(name)


def run(*args, run_dir="refused"):
    """A start that ends by itself."""
    argv = [PROGRAM, *args]
    if run_dir:
        argv += ["-o", "RuntimeDirectory=" + path(run_dir)]
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False,
                              timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise AssertionError("%s does not end" % argv) from None


def refused(*args, status=None, text="", run_dir="refused"):
    r = run(*args, run_dir=run_dir)
    check(r.returncode > 0 and status in (None, r.returncode),
          "%s: status %d" % (args, r.returncode))
    check(r.stdout == "", "%s: printed %r" % (args, r.stdout))
    for word in (text,) if isinstance(text, str) else text:
        check(word in r.stderr, "%s: said %r" % (args, r.stderr))
    check(r.stderr.startswith("execsrvd"), "%s: %r" % (args, r.stderr))
    if run_dir == "refused":
        check(not os.path.exists(path(run_dir)), "left a run directory")
    return r


def impossible(*args, text=""):
    """The settings are wrong: a start says so, and -t says the same."""
    r = refused(*args, status=EX_CONFIG, text=text)
    check(refused("-t", *args, status=EX_CONFIG).stderr == r.stderr,
          "-t says something else than %r" % r.stderr)


# --- listeners ---------------------------------------------------------------

def one_line():
    server = Server()
    host, port = server.url[5:].rsplit(":", 1)
    check(server.url.startswith("ws://127.0.0.1:") and int(port) > 0 and
          host == "127.0.0.1", server.url)
    probe(server.url)
    server.stop()
    check(server.rest == b"", "more than a line: %r" % server.rest)
    with contextlib.suppress(ConnectionRefusedError):
        dial(server.url)
        check(False, "somebody still listens")


def several():
    server = Server(listen=(WS, "ws://[::1]:0/", "unix:" + path("s1"), WS,
                            "unix:" + path("s2")))
    check(len(set(server.urls)) == 5 and
          server.urls[1].startswith("ws://[::1]:"), "%s" % server.urls)
    for url in server.urls:
        probe(url)
    mode = stat.S_IMODE(os.stat(path("s1")).st_mode)
    check(mode == (0o666 if os.geteuid() == 0 else 0o600), "%o" % mode)
    server.stop()
    check(server.rest == b"", "more lines: %r" % server.rest)
    check(not os.path.exists(path("s1")), "a socket is left")


def socket_files():
    """A stale one is replaced, a live one and another file are not."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path("stale"))
    server = Server(listen=("unix:" + path("stale"),))
    wait_for(lambda: server.has_logged("stopp") or can_probe(server.url),
             LIMIT, "the stale socket is replaced")
    refused("--listen", "unix:" + path("stale"), text="in use")
    probe(server.url)
    server.stop()
    if os.geteuid() == 0:
        # Nobody else's, even if nobody listens there.
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path("others"))
        os.chown(path("others"), 65534, 65534)
        refused("--listen", "unix:" + path("others"),
                text="belongs to another user")
    write("file", "precious")
    refused("--listen", "unix:" + path("file"), text="file")
    with open(path("file"), encoding="utf-8") as f:
        check(f.read() == "precious", "the file is gone")
    os.symlink(path("file"), path("link"))
    refused("--listen", "unix:" + path("link"))


def can_probe(url):
    try:
        probe(url)
    except OSError:
        return False
    return True


def bad_addresses():
    for url in ("ws://localhost:0", "ws://127.0.0.1", "ws://127.0.0.1:",
                "ws://127.0.0.1:65536", "ws://127.0.0.1:-1",
                "ws://127.0.0.1:0/path", "ws://127.0.0.1:80x",
                "ws://127.1:0", "ws://[::1]", "ws://[::1:0", "ws://::1:0",
                "ws://[127.0.0.1]:0", "wss://127.0.0.1:0",
                "http://127.0.0.1:0", "127.0.0.1:0", "", "ws://",
                "unix:", "unix:relative", "unix:/" + "x" * 120,
                "unix:/nowhere/to/be/found", "tcp:127.0.0.1:0",
                "ws://" + "1" * 5000, "unix:" + path("two\nlines")):
        impossible("--listen", url)
    # What the library says of it, too.
    for url, why in (("ws://localhost:0", "not a numeric IP;"),
                     ("ws://127.0.0.1:0/x", "something behind the port;"),
                     ("ws://127.0.0.1:000000", "no port of 0 to 65535;"),
                     ("unix:@abs", "not an absolute path;"),
                     ("unix:/" + "x" * 107, "too long;")):
        impossible("--listen", url, text=url + ": " + why)
    for url in ("ws://0.0.0.0:0", "ws://[::]:0", "ws://192.0.2.1:0",
                "ws://[::ffff:0.0.0.0]:0"):
        impossible("--listen", url, text="loopback")
    # One bad address is enough.
    impossible("--listen", WS, "--listen", "ws://0.0.0.0:0", text="loopback")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        refused("--listen", "ws://127.0.0.1:%d" % s.getsockname()[1],
                text="in use")


# --- configuration -----------------------------------------------------------

def configuration():
    refused(status=2, text="listen", run_dir=None)
    for args in (["--nonsense"], ["-x"], ["word"], ["--listen"]):
        check(run(*args).returncode == 2, "usage: %s" % args)
    conf = write("conf", "# a comment\n\nlisten %s\nDetachedTtl 2m\n"
                 "LOGLEVEL debug\n" % WS)
    check(run("-t", "-f", conf).returncode == 0, "-t")
    r = run("-T", "-f", conf, "-o", "SpareWorkers=3")
    check(r.returncode == 0 and "DetachedTtl 2m" in r.stdout and
          "SpareWorkers 3" in r.stdout and "Listen " + WS in r.stdout, r)
    again = run("-T", "-f", write("again", r.stdout))
    check(again.stdout == r.stdout, "-T is not what -T reads: %s" %
          again.stderr)
    bad = {"Nonsense 1": "Nonsense", "DetachedTtl": "DetachedTtl",
           "DetachedTtl x": "DetachedTtl", "DetachedTtl -1": "DetachedTtl",
           "SpareWorkers 99999999999999999999": "SpareWorkers",
           "DetachedSpool 1X": "DetachedSpool",
           "LogLevel loud": "LogLevel", "x" * 100000: "long"}
    for line, word in bad.items():
        conf = write("bad", "Listen %s\n%s\n" % (WS, line))
        for args in ([], ["-t"], ["-T"]):
            r = refused(*args, "-f", conf, status=EX_CONFIG, text=word)
            check(":2: " in r.stderr, "no line number: " + r.stderr)
    refused("-f", path("missing"), status=EX_CONFIG, text="missing")
    refused("-f", TMP, status=EX_CONFIG)
    refused("--listen", WS, "-o", "Nonsense=1", status=EX_CONFIG)
    refused("--listen", WS, "-o", "DetachedTtl=never", status=EX_CONFIG)
    for mode in (0o664, 0o646):
        refused("-f", write("loose%o" % mode, "Listen %s\n" % WS, mode),
                status=EX_CONFIG, text="writ")
    if os.geteuid() == 0:
        os.chown(write("foreign", "Listen %s\n" % WS), 65534, 65534)
        refused("-f", path("foreign"), status=EX_CONFIG)


def what_cannot_be():
    """What is known without opening anything is told by -t, too."""
    good = "Listen %s\n" % WS
    if os.geteuid() == 0:
        good += "RemoteUser nobody\nTokenUser nobody\n"
    token = "Token a sha256:%s\n" % ("0" * 64)
    uplink = "Uplink x\nRegistryUrl https://h.invalid/\nEnvironmentId e\n"
    other = uplink.replace(" x", " y").replace(" e\n", " f\n")
    conf = write("could", good + token + uplink)
    check(run("-t", "-f", conf).returncode == 0, run("-t", "-f", conf))
    # What is wrong, why, and how many lines are before it.
    for text, why, above in (
            ("LogTo rel", "LogTo rel: expected", 0),
            ("Listen 127.0.0.1:80", "expected", 0),
            ("Listen unix:/x\nListen ws://0.0.0.0:1", "loopback", 1),
            ("ControlGroup no-such-group-here", "no such group", 0),
            ("AuditLog rel", "expected", 0),
            ("SessionUser no-such-user-here", "no such user", 0),
            ("\nTranscript all", "TranscriptDir", 1),
            ("PidFile nowhere/pid", "nowhere/pid: No such file", 0),
            (token + "Token x sha256:00", "64 hexadecimal digits", 1),
            (token + token + token.replace("\n", " user=no-such-user-here"),
             "no such user", 2),
            ("RequireToken always", "there is no token", 0),
            ("BearerIssuer x", "need BearerSecretFile", 0),
            ("BearerAudience x", "need BearerSecretFile", 0),
            ("\nInclude nosuch", "Include nosuch: no such file", 1),
            ("MetricsListen foo:9", "expected IP:PORT", 0),
            ("MetricsListen 127.0.0.1", "expected IP:PORT", 0),
            ("MetricsListen unix:/x\nMetricsListen 127.0.0.1:99999",
             "expected IP:PORT", 1),
            ("MetricsListen ws://127.0.0.1:9", "expected IP:PORT", 0),
            ("MetricsListen unix:rel", "absolute path", 0),
            (uplink + "Uplink y\nRegistryUrl https://x/", "are needed", 3),
            ("Uplink x\nRegistryUrl https://x:99999\nEnvironmentId e",
             "RegistryUrl https://x:99999", 1),
            ("Uplink x\nRegistryUrl https://x/?y\nEnvironmentId e",
             "RegistryUrl https://x/?y", 1),
            ("Uplink x\nRegistryUrl ftp://x/\nEnvironmentId e",
             "RegistryUrl ftp://x/", 1),
            ("Uplink x\nRegistryUrl https://x/\nEnvironmentId ..",
             "EnvironmentId ..", 2),
            (uplink + "Forward nonsense", "Forward nonsense", 3),
            (uplink + "RemoteUser no-such-user-here", "no such user", 3),
            (uplink + "CredentialStdin bearer\n" + other +
             "CredentialStdin frames", "two credentials", 7)):
        place = "/cannot:%d: " % (good.count("\n") + above + 1)
        impossible("-f", write("cannot", good + text + "\n"),
                   text=(place, why))
    if os.geteuid() == 0:
        for text in (token, "BearerSecretFile /x\n", uplink):
            impossible("-f", write("cannot", "Listen %s\n%s" % (WS, text)),
                       text=("/cannot:2: ", "a server that runs as root"))
    # What the command line says has no line.
    conf = write("lines", "Listen unix:/from/the/file\n")
    check(":1:" not in refused("-f", conf, "--listen", "x",
                               status=EX_CONFIG).stderr, "a line of others")


def command_line_first():
    """--listen stands instead of the file's."""
    conf = write("two", "Listen unix:%s\nLogLevel debug\n" % path("never"))
    server = Server(prefix=())
    server.stop()
    with subprocess.Popen([PROGRAM, "-f", conf, "-o", "RuntimeDirectory=" +
                           path("r"), "--listen", WS], text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        try:
            probe(p.stdout.readline().strip())
            check(not os.path.exists(path("never")), "both are listened on")
        finally:
            p.terminate()
        check(p.wait() == 0, "status")


# --- run directories ---------------------------------------------------------

def same_directory():
    first = Server()
    refused("--listen", WS, "-o", "RuntimeDirectory=" + first.run,
            text="another execsrvd", run_dir=None)
    # Many at once, too.
    many = [subprocess.Popen([PROGRAM, "--listen", WS, "-o",
                              "RuntimeDirectory=" + first.run],
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for i in range(20)]
    for p in many:
        check(p.wait(LIMIT) == 1, "not refused")
    probe(first.url)
    first.stop()
    os.mkdir(path("loose"))
    os.chmod(path("loose"), 0o777)
    refused("--listen", WS, run_dir="loose")
    os.symlink(TMP, path("dirlink"))
    refused("--listen", WS, run_dir="dirlink")
    refused("--listen", WS, run_dir="no/parent")


def own_directories():
    env = {k: v for k, v in os.environ.items()
           if k != "EXECSRV_RUNTIME_DIR"}
    env["XDG_RUNTIME_DIR"] = TMP
    servers = []
    for i in range(3):
        p = subprocess.Popen([PROGRAM, "--listen", WS], env=env, text=True,
                             stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        servers.append((p, p.stdout.readline().strip()))
    try:
        for p, url in servers:
            check(url, "did not start")
            probe(url)
    finally:
        for p, url in servers:
            p.terminate()
            p.stdout.close()
    for p, url in servers:
        check(p.wait(LIMIT) == 0, "status")


# --- the daemon --------------------------------------------------------------

def daemon():
    sock, pidfile = path("daemon.sock"), path("daemon.pid")
    conf = write("daemon.conf", "Listen unix:%s\nPidFile %s\n"
                 "RuntimeDirectory %s\n" % (sock, pidfile, path("daemon")))
    began = time.monotonic()
    with open(path("daemon.out"), "w+", encoding="utf-8") as out:
        r = subprocess.run([PROGRAM, "-f", conf], stdin=subprocess.DEVNULL,
                           stdout=out, stderr=out, check=False,
                           timeout=LIMIT)
        out.seek(0)
        check(r.returncode == 0, "status %d: %s" % (r.returncode, out.read()))
    say("  in the background after %.3f s" % (time.monotonic() - began))
    with open(pidfile, encoding="ascii") as f:
        pid = int(f.read())
    try:
        with dial("unix:" + sock):      # ready means ready
            pass
        probe("unix:" + sock)
        check(os.getsid(pid) == pid, "it has no session of its own")
        check(os.readlink("/proc/%d/cwd" % pid) == "/", "its folder")
        refused("-f", conf, run_dir=None, text="another execsrvd")
        probe("unix:" + sock)
        with open(pidfile, encoding="ascii") as f:
            check(int(f.read()) == pid, "the pid file was overwritten")
        # Nothing of it holds what its starter may wait for the end of.
        for p in [pid, *children(pid)]:
            held = links_of(p)
            check(held or p != pid, "nothing was looked at")
            for fd in held.keys() & {0, 1, 2}:
                check(held[fd] == "/dev/null" or
                      held[fd].startswith("socket:"),
                      "%d of %d is still %s" % (fd, p, held[fd]))
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not is_alive(pid), LIMIT, "it is gone")
    check(not os.path.exists(pidfile) and not os.path.exists(sock) and
          not os.path.exists(path("daemon")), "files are left")
    write("daemon.conf", "Listen ws://0.0.0.0:0\nPidFile %s\n" % pidfile)
    refused("-f", conf, status=EX_CONFIG, text="loopback")
    check(not os.path.exists(pidfile), "a pid file of nobody")
    write("daemon.conf", "Nonsense\n")
    refused("-f", conf, status=EX_CONFIG)


main(one_line, several, socket_files, bad_addresses, configuration,
     what_cannot_be, command_line_first, same_directory, own_directories,
     daemon)
