"""951: socket activation, by an own launcher and by systemd's."""
import os
import shutil
import signal
import socket
import subprocess
import sys

from client import (BUILD, LIMIT, TMP, Client, Closed, Server, check, connect,
                    main, say, told, wait_for)

# Descriptors first, then what to run: as the manager leaves them, 3 and on.
LAUNCHER = """
import fcntl, os, sys
count, rest = len(sys.argv[1].split(',')), sys.argv[2:]
high = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 20)
        for n in sys.argv[1].split(',')]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ.setdefault('LISTEN_FDS', str(count))
os.environ.setdefault('LISTEN_PID', str(os.getpid()))
os.execvp(rest[0], rest)
"""


def launcher(socks):
    return (sys.executable, "-I", "-c", LAUNCHER,
            ",".join(str(s.fileno()) for s in socks))


def tcp(family=socket.AF_INET, host="127.0.0.1"):
    s = socket.socket(family)
    s.bind((host, 0))
    s.listen()
    return s


def url_of(sock):
    return "ws://127.0.0.1:%d" % sock.getsockname()[1]


def at_path(name="s"):
    path = "%s/%s" % (TMP, name)
    if os.path.exists(path):
        os.unlink(path)
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    os.chmod(path, 0o666)
    s.listen()
    return s, path


def fds_of(socks):
    return [s.fileno() for s in socks]


def start(socks, *options, env=None):
    server = Server("PermitRootSession=yes", *options, listen=(),
                    args=("-D",), env=env,
                    prefix=launcher(socks), pass_fds=fds_of(socks))
    wait_for(lambda: os.path.exists(server.run + "/control.sock"), LIMIT,
             "the server")
    return server


def adopted():
    """TCP and Unix; a connection made before the server is served as well."""
    one = tcp()
    two, path = at_path()
    socks = [one, two]
    early = socket.create_connection(one.getsockname())
    server = start(socks, env={"LISTEN_FDNAMES": "web:local"})
    check(server.line(LIMIT) == url_of(one), "another address")
    check("(web): " + url_of(one) in server.log(), server.log())
    check("(local): unix:" + path in server.log(), server.log())
    for url in (url_of(one), "unix:" + path):
        with connect(url) as c:
            out, _ = c.run("p", "sh", "-c", "echo $LISTEN_FDS-$LISTEN_PID-"
                           "$LISTEN_FDNAMES; ls /proc/$$/fd | wc -l")
            words = out.decode().split()
            check(words[0] == "--", "left in the environment: %s" % words)
    early.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    early.settimeout(LIMIT)
    check(early.recv(100).startswith(b"HTTP/1.1 200"), "the early one")
    early.close()
    server.stop()
    check(os.path.exists(path), "the socket's file is its maker's")
    # And again: the sockets outlive a server.
    server = start(socks)
    with connect(url_of(one)) as c:
        c.run("p", "true")
    server.stop()
    for s in socks:
        s.close()


def not_inherited():
    """A command has no way to a listener."""
    one = tcp()
    server = start([one])
    inode = os.fstat(one.fileno()).st_ino
    with connect(url_of(one)) as c:
        out, _ = c.run("p", "sh", "-c", "ls -l /proc/self/fd /proc/$PPID/fd")
    check("socket:[%d]" % inode not in out.decode(), out.decode())
    server.stop()
    one.close()


def reloaded():
    """Somewhere to listen is there, also where the settings name nothing."""
    one = tcp()
    server = start([one])
    told("-R", server.run, "reload")
    with connect(url_of(one)) as c:
        c.run("p", "true")
    server.stop()
    one.close()


def listed_too():
    """A Listen of the same address is that socket; others are opened."""
    one = tcp()
    two, path = at_path()
    server = start([one, two], "Listen=" + url_of(one),
                   "Listen=unix:" + path, "Listen=ws://127.0.0.1:0")
    urls = [server.line(LIMIT), server.line(LIMIT)]
    check(urls[0] == url_of(one) and urls[1] != urls[0], "%s" % urls)
    for url in [*urls, "unix:" + path]:
        with connect(url) as c:
            c.run("p", "true")
    server.stop()
    one.close()
    two.close()


def roots():
    """Root comes in by --listen, not by what was passed beside it."""
    if os.geteuid() != 0:
        say("  left out: not root")
        return
    one = tcp()
    server = Server("PermitRootSession=local", args=("-D",),
                    prefix=launcher([one]), pass_fds=fds_of([one]))
    check(server.url == url_of(one), server.url)
    with connect(server.line(LIMIT)) as c:
        c.run("p", "true")
    try:
        Client(server.url)
        check(False, "root came in")
    except Closed as e:
        check(" 403 " in str(e), str(e))
    server.stop()
    one.close()


def others():
    """What was passed to somebody else is left alone."""
    one = tcp()
    for env in ({"LISTEN_PID": "1234567"}, {"LISTEN_PID": "x"},
                {"LISTEN_PID": ""}, {"LISTEN_FDS": "0"}):
        r = subprocess.run(
            [*launcher([one]), BUILD + "/execsrvd", "-D", "-o",
             "RuntimeDirectory=%s/other" % TMP],
            pass_fds=fds_of([one]), env={**os.environ, **env},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT * 3)
        # Nothing is left to listen on.
        check(r.returncode == 2 and b"nothing to listen" in r.stderr,
              "%s: %r" % (env, r))
    one.close()


def refused():
    """No start with what cannot be, or must not be, accepted from."""
    plain, datagram = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
    a, b = socket.socketpair()
    packet = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    packet.bind("\0execsrv-951-%d" % os.getpid())
    packet.listen()
    with open(os.devnull, "rb") as null:
        cases = [([plain], "not a listening"), ([datagram], "not a listening"),
                 ([a], "not a listening"), ([packet], "not a listening"),
                 ([null], "not a listening"),
                 ([tcp(host="0.0.0.0")], "not a loopback address"),
                 ([tcp(), tcp(host="0.0.0.0")], "not a loopback address")]
        if socket.has_ipv6:
            try:
                cases.append(([tcp(socket.AF_INET6, "::")],
                              "not a loopback address"))
            except OSError:
                say("  left out: no IPv6")
        good = [tcp()]
        cases += [(good, "LISTEN_FDS", {"LISTEN_FDS": "65"}),
                  (good, "LISTEN_FDS", {"LISTEN_FDS": "-1"}),
                  (good, "descriptor 4", {"LISTEN_FDS": "2"}),
                  (good, "LISTEN_FDNAMES", {"LISTEN_FDNAMES": "a:b"}),
                  ([*good, tcp()], "LISTEN_FDNAMES",
                   {"LISTEN_FDNAMES": "a"})]
        for socks, why, *env in cases:
            r = subprocess.run(
                [*launcher(socks), BUILD + "/execsrvd", "-D", "-o",
                 "RuntimeDirectory=%s/refused" % TMP], pass_fds=fds_of(socks),
                env={**os.environ, **(env[0] if env else {})},
                stdin=subprocess.DEVNULL, capture_output=True,
                timeout=LIMIT * 3)
            check(r.returncode == 1 and why in r.stderr.decode(),
                  "%s: %r" % (why, r))
            say("  " + r.stderr.decode().splitlines()[0])
    b.close()


def abstract():
    name = "execsrv-951-%d" % os.getpid()
    s = socket.socket(socket.AF_UNIX)
    s.bind("\0" + name)
    s.listen()
    server = start([s])
    wait_for(lambda: server.has_logged("unix:@" + name), LIMIT, "its name")
    dialled = socket.socket(socket.AF_UNIX)
    dialled.settimeout(LIMIT)
    dialled.connect("\0" + name)
    dialled.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
    check(dialled.recv(100).startswith(b"HTTP/1.1 200"), "no answer")
    dialled.close()
    server.stop()
    s.close()


def says(path, text):
    with open(path, encoding="utf-8") as f:
        return text in f.read()


def by_systemd():
    """systemd-socket-activate(1): starts us at the first connection."""
    tool = shutil.which("systemd-socket-activate")
    if tool is None:
        say("  left out: no systemd-socket-activate")
        return
    path = TMP + "/activated"
    argv = [tool, "-l", path, "--fdname=door"]
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TMPDIR"):
        if name in os.environ:
            argv += ["-E", "%s=%s" % (name, os.environ[name])]
    argv += [BUILD + "/execsrvd", "-D", "-o",
             "RuntimeDirectory=%s/activated.run" % TMP]
    with open(TMP + "/activated.log", "w+", encoding="utf-8") as log:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=log)
        try:
            wait_for(lambda: says(log.name, "Listening on"), LIMIT,
                     "its socket")
            with connect("unix:" + path) as c:
                out, _ = c.run("p", "echo", "activated")
            check(out == b"activated\n", "%r" % out)
            p.send_signal(signal.SIGTERM)
            check(p.wait(LIMIT) == 0, "ended with %s" % p.returncode)
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()
            log.seek(0)
            text = log.read()
            say("  " + text.replace("\n", "\n  "))
        check("(door): unix:" + path in text, "no word of the name")


if __name__ == "__main__":
    main(adopted, not_inherited, reloaded, listed_too, roots, others, refused,
         abstract, by_systemd)
