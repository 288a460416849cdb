"""The listeners of MetricsListen."""
import contextlib
import importlib
import os
import socket
import subprocess

from client import (BUILD, TMP, Server, check, children, connect, dial,
                    in_groups, main, probe, say, upgrade_request, wait_for,
                    LIMIT)

lib = importlib.import_module("7common")
om = importlib.import_module("7metrics")
http = lib.http


def doors(server):
    return lib.ask(server, "status")["metrics"]


def served():
    """Figures and probes; no session, nothing else."""
    path = TMP + "/metrics.sock"
    server = Server("MetricsListen=127.0.0.1:0", "MetricsListen=unix:" + path,
                    "MetricsListen=[::1]:0", "HostName=box.example.org")
    urls = doors(server)
    check(len(urls) == 3 and urls[1] == "unix:" + path and
          urls[2].startswith("http://[::1]:"), "doors: %s" % urls)
    for url in urls:
        check(om.read(http(url, "/metrics")[2]), "no figures")
        status, head, body = http(url, "/metrics?x=y", "HEAD")
        check(status == 200 and body == b"" and
              int(head["content-length"]) > 1000, "HEAD: %s" % head)
        for probe_path in "/livez", "/readyz":
            check(http(url, probe_path)[0] == 200, probe_path)
        for wrong, status in (("/", 404), ("/metrics/", 404), ("/x", 404),
                              ("//metrics", 404), ("/Metrics", 404)):
            check(http(url, wrong)[0] == status, wrong)
        check(http(url, "/metrics", "POST")[0] == 405, "POST")
        status, _, body = http(url, "/metrics", host="evil.example")
        check(status == 403 and body ==
              b"Forbidden: Host evil.example is none of HostName\n",
              "Host: %s" % body)
        check(http(url, "/metrics", host="box.example.org:9")[0] == 200,
              "HostName")
        status, _, body = http(url, "/metrics", more="Origin: http://x\r\n")
        check(status == 403 and body ==
              b"Forbidden: web pages are not served (Origin http://x)\n",
              "Origin: %s" % body)
        with dial("ws:" + url[5:] if url[:5] == "http:" else url) as sock:
            sock.sendall(upgrade_request())
            check(sock.recv(100).startswith(b"HTTP/1.1 404 "), "an upgrade")
    # Where sessions are the log has it, too.
    check(http(server.url, "/livez", host="evil.example")[0] == 403, "Host")
    wait_for(lambda: server.has_logged("refused: Host evil.example is"),
             LIMIT, "the log")
    # And there are none where sessions are.
    check(http(server.url, "/metrics")[0] == 404, "figures for everybody")
    # Nor is its address what a starter waits for.
    server.stop()
    check(server.rest == b"", "more output: %r" % server.rest)
    check(not os.path.exists(path), "its socket is left")


def reader():
    """Who reads there is nobody."""
    server = Server("MetricsListen=127.0.0.1:0", "HandshakeTimeout=5m",
                    "LogLevel=debug")
    url = doors(server)[0]
    before = lib.ask(server, "status")["workers"]
    with dial("ws:" + url[5:]) as sock:
        wait_for(lambda: lib.ask(server, "status")["greeting"] == 1, LIMIT,
                 "somebody reads")
        readers = wait_for(lambda: [p for p in children(server.pid)
                                    if has_no_new_privs(p)], LIMIT,
                           "a reader who can get no privileges")
        check(len(readers) == 1, "readers: %s" % readers)
        fields = wait_for(lambda: confined(server, readers[0]), LIMIT,
                          "it can do no more than it should")
        check_uids([int(n) for n in fields["Uid"].split()])
        check(fields["Seccomp"] == "2" or
              server.has_logged("not confined"), "no list of system calls")
        check(os.geteuid() != 0 or fields["Groups"].split() == [],
              "groups: %s" % fields["Groups"])
        check(os.geteuid() != 0 or int(fields["CapEff"], 16) == 0,
              "capabilities: %s" % fields["CapEff"])
    with dial("ws:" + url[5:]) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 2000)
        check(b" 431 " in sock.recv(100), "a head that is too long")
    wait_for(lambda: lib.ask(server, "status")["greeting"] == 0, LIMIT,
             "nobody reads")
    wait_for(lambda: lib.ask(server, "status")["workers"] > before, LIMIT,
             "others in their place")
    status = lib.ask(server, "status")
    check(status["opened"] == 0 and
          status["violations"] == status["deaths"] == 0, "status: %s" % status)
    server.stop()


def half_a_head():
    """Nobody reads for ever."""
    server = Server("MetricsListen=127.0.0.1:0", "HandshakeTimeout=500ms")
    with dial("ws:" + doors(server)[0][5:]) as sock:
        sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(ConnectionResetError):     # it was not read
            check(sock.recv(1) == b"", "an answer to half a head")
    server.stop()


def status_fields(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return dict(line.rstrip("\n").split(":\t", 1) for line in f)
    except OSError:
        return {}


def confined(server, pid):
    """Its fields when it has taken the last step."""
    fields = status_fields(pid)
    return fields if fields.get("Seccomp") == "2" or \
        server.has_logged("not confined") else None


def check_uids(uids):
    """Nobody's files, and under root a real number of its own."""
    if os.geteuid() != 0:
        check(set(uids) == {os.geteuid()}, "uids: %s" % uids)
        return
    real, effective, saved, files = uids
    check(effective == files == 65534 and real == saved and
          0x7fc00000 < real < 2 ** 31, "uids: %s" % uids)


def has_no_new_privs(pid):
    return status_fields(pid).get("NoNewPrivs") == "1"


def crowd():
    """Those who only stand there keep nobody out."""
    server = Server("MetricsListen=127.0.0.1:0")
    url = doors(server)[0]
    silent = [dial("ws:" + url[5:]) for _ in range(120)]
    probe(server.url)
    check(om.read(http(url, "/metrics")[2]), "no figures")
    with connect(server.url) as c:
        check(c.run("p", "echo", "x") == (b"x\n", 0), "a command")
    for sock in silent:
        sock.close()
    server.stop()


def own_address():
    """An address of this machine that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return None
        host = sock.getsockname()[0]
    return None if host.startswith("127.") else host


def other_addresses():
    """One that is named is taken, also when it is not loopback."""
    host = own_address()
    if host is None:
        say("  left out: this machine has no other address")
        return
    server = Server("MetricsListen=%s:0" % host)
    url = doors(server)[0]
    check(om.read(http(url, "/metrics", host=host)[2]), "no figures")
    check(http(url, "/readyz", host=host)[0] == 200, "/readyz")
    check(http(url, "/", host=host)[0] == 404, "/")
    status = lib.ask(server, "status")
    check(status["refused"] == 0 and status["opened"] == 0, "status")
    server.stop()


def bad_settings():
    for value in ("127.0.0.1", "localhost:9090", "127.0.0.1:65536",
                  "127.0.0.1:x", "ws://127.0.0.1:0", "unix:relative", "*:1",
                  "[::1]", "unix:", "127.0.0.1:0 "):
        done = subprocess.run(
            [BUILD + "/execsrvd", "-D", "-o", "RuntimeDirectory=" + TMP +
             "/bad", "-o", "MetricsListen=" + value, "--listen",
             "ws://127.0.0.1:0"], capture_output=True, timeout=LIMIT,
            stdin=subprocess.DEVNULL, check=False)
        check(done.returncode == 78 and done.stdout == b"" and
              value.strip().encode() in done.stderr, "%s: %s" % (value, done))


if __name__ == "__main__":
    in_groups()
    main(served, reader, half_a_head, crowd, other_addresses, bad_settings)
