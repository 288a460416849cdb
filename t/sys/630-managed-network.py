"""The boundary of a managed network; see 630-managed-network.sh."""
import base64
import hashlib
import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from client import (Server, check, children, connect, is_alive, main,
                    resume_in, say, skip, wait_for, BUILD, LIMIT, TMP)

lib = importlib.import_module("7common")
nextlib = importlib.import_module("5next")

NOBODY = 65534
HERE = os.path.dirname(os.path.abspath(__file__))
SETTINGS = {
    "enabled": True, "enableSocks5": True, "enableSocks5Udp": True,
    "allowUpstreamProxy": False, "dangerouslyAllowAllUnixSockets": False,
    "mode": "full", "domains": None, "unixSockets": None,
    "allowLocalBinding": False}
AS_NOBODY = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
             "--clear-groups")


def sh(*argv):
    subprocess.run(argv, check=True)


class World:
    """The other network namespace, and what is known of it here."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["unshare", "-n", sys.executable, HERE + "/630world.py"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reached = 0
        pid = str(self.process.pid)
        ours = os.readlink("/proc/self/ns/net")
        wait_for(lambda: os.readlink("/proc/%s/ns/net" % pid) != ours, LIMIT,
                 "another network namespace")
        sh("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        sh("ip", "link", "set", "v1", "netns", pid)
        sh("ip", "address", "add", "7.7.7.1/24", "dev", "v0")
        sh("ip", "link", "set", "v0", "up")
        for argv in (("link", "set", "lo", "up"),
                     ("address", "add", "7.7.7.2/24", "dev", "v1"),
                     ("link", "set", "v1", "up")):
            sh("nsenter", "-t", pid, "-n", "ip", *argv)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == "ready\n", "no world")
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for _ in self.process.stdout:
            self.reached += 1


class Canary:
    """A server that nobody may reach."""

    def __init__(self, family, address):
        self.sock = socket.socket(family)
        self.sock.bind(address)
        self.sock.listen(64)
        self.reached = 0
        threading.Thread(target=self.serve, daemon=True).start()

    def port(self):
        return self.sock.getsockname()[1]

    def serve(self):
        while True:
            c, _ = self.sock.accept()
            self.reached += 1
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ncanary")
            c.close()


def names(folder):
    """Name resolution of the world, for this mount namespace. Where there is no
    /etc/hosts, in a copy of /etc."""
    if not os.path.exists("/etc/hosts"):
        sh("cp", "-a", "/etc", folder)
        open(folder + "/etc/hosts", "w", encoding="ascii").close()
        sh("mount", "--bind", folder + "/etc", "/etc")
    for name, text in (("resolv.conf", "nameserver 7.7.7.2\n"),
                       ("hosts", "127.0.0.1 localhost\n")):
        path = "%s/%s" % (folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        sh("mount", "--bind", path, os.path.realpath("/etc/" + name))


def read_only(cwd):
    return {"permissions": {"type": "managed", "network": "restricted",
                            "file_system": {"type": "restricted", "entries": [
                                {"path": {"type": "special", "value":
                                          {"kind": "root"}},
                                 "access": "read"}]}},
            "cwd": "file://" + cwd, "workspaceRoots": ["file://" + cwd],
            "windowsSandboxLevel": "disabled",
            "windowsSandboxProxySettingsMode": "reconcile",
            "useLegacyLandlock": False}


def managed(domains, cwd=None, **more):
    out = {"networkProxy": {"proxy": {**SETTINGS, "domains": domains,
                                      **more}}}
    if cwd is not None:
        out["enforceManagedNetwork"] = True
        out["sandbox"] = read_only(cwd)
    return out


def output(c, process):
    """What it wrote until it was closed, and what was decided for it."""
    text, decisions = b"", []
    while True:
        c.until(lambda: c.notes, LIMIT * 3)
        m = c.notes.popleft()
        p = m["params"]
        if p.get("processId") != process:
            continue
        if m["method"] == "process/output":
            text += base64.b64decode(p["chunk"])
        elif m["method"] == "network/policyDecision":
            decisions.append(p)
        elif m["method"] == "process/closed":
            return text.decode(), decisions


def line(c, process):
    return base64.b64decode(
        c.note("process/output", process)["chunk"]).decode().strip()


def attacks():
    folder = TMP + "/boundary"
    os.mkdir(folder, 0o755)
    names(folder)
    world = World()
    script = folder + "/attacks.py"
    shutil.copy(HERE + "/630attacks.py", script)
    os.chmod(script, 0o644)
    canaries = [Canary(socket.AF_INET, ("127.0.0.1", 0)),
                Canary(socket.AF_INET, ("7.7.7.1", 0)),
                Canary(socket.AF_UNIX, folder + "/socket")]
    os.chmod(folder + "/socket", 0o777)
    server = Server(prefix=AS_NOBODY, run=False)
    c = join(server)
    # Another command may do what the one under attack may not.
    c.start("free", "/bin/sh", "-c", "echo $HTTP_PROXY; exec sleep 1000",
            **managed({"*": "allow"}, folder))
    other = line(c, "free").rsplit(":", 1)[1]
    python = "/usr/bin/python3"
    c.start("p", python, "-I", script, str(canaries[0].port()),
            str(canaries[1].port()), folder + "/socket", other,
            **managed({"*": "allow", "other.test": "deny",
                       "7.7.7.3": "deny"}, folder))
    text, decisions = output(c, "p")
    last = text.strip().rsplit("\n", 1)[-1]
    check(last.startswith("{"), "the attacks ended early: " + text[-2000:])
    result = json.loads(last)
    good = {k: v for k, v in result.items() if k.startswith("good ")}
    bad = {k: v for k, v in result.items() if k not in good and v is not None}
    say("%d attacks, %d got through; %d decisions" % (
        len(result) - len(good), len(bad), len(decisions)))
    check(all(v is True for v in good.values()), "does not work: %s" % good)
    check(not bad, "got through: %s" % bad)
    check(len(result) - len(good) >= 40, "too few attacks")
    check([k.reached for k in canaries] == [0, 0, 0] and world.reached == 0,
          "reached: %s, %d" % ([k.reached for k in canaries], world.reached))
    denied = [d for d in decisions if d["decision"] == "deny"]
    check(len(denied) >= 40 and all(d["host"] for d in denied),
          "refusals are told: %d" % len(denied))
    c.close()
    server.stop()


def join(server):
    """A session of the server's user."""
    os.seteuid(NOBODY)
    try:
        return connect(server.url)
    finally:
        os.seteuid(0)


def helper_of(server):
    for worker in server.workers():
        for p in children(worker):
            try:
                with open("/proc/%d/comm" % p, encoding="ascii") as f:
                    if f.read().strip() == "execsrv-proxy" and is_alive(p):
                        return p
            except OSError:
                pass
    return None


def dead_proxy():
    """Its commands have no network then; the next one has again."""
    folder = TMP + "/dead"
    os.mkdir(folder, 0o755)
    server = Server(prefix=AS_NOBODY, run=False)
    c = join(server)
    bash = ("exec 2>/dev/null; ask() { exec 3<>/dev/tcp/127.0.0.1/"
            "${HTTP_PROXY##*:} || { echo closed; return; }; "
            "printf 'GET http://no.test/ HTTP/1.1\\r\\nHost: no.test\\r\\n"
            "Connection: close\\r\\n\\r\\n' >&3; head -n 1 <&3; }; "
            "(ask); read x; (ask); ")
    c.start("p", "/bin/bash", "-c", bash, **{
        **managed({}, folder), "pipeStdin": True})
    check(line(c, "p") == "HTTP/1.1 403 Forbidden", "the proxy answers")
    pid = helper_of(server)
    os.kill(pid, 9)
    wait_for(lambda: server.has_logged("have none any more"), LIMIT,
             "a log line")
    c.call("process/write", {"processId": "p", "chunk": "Cg==",
                             "writeId": "w"})
    check(line(c, "p") == "closed", "no network")
    c.start("q", "/bin/bash", "-c", bash, **{
        **managed({}, folder), "pipeStdin": True})
    check(line(c, "q") == "HTTP/1.1 403 Forbidden", "the next one answers")
    check(server.log().count("have none any more") == 1, "told once")
    c.close()
    server.stop()


def of_another_user():
    """Without a sandbox the proxy serves the session's user only."""
    server = Server(prefix=AS_NOBODY, run=False)
    c = join(server)
    c.start("p", "/bin/sh", "-c", "echo $HTTP_PROXY; exec sleep 1000",
            **managed({}))
    port = int(line(c, "p").rsplit(":", 1)[1])
    ask = ("import socket,sys; s=socket.create_connection(('127.0.0.1',%d));"
           "s.sendall(b'GET http://no.test/ HTTP/1.1\\r\\nHost: no.test\\r\\n"
           "Connection: close\\r\\n\\r\\n'); print(s.recv(12))" % port)
    for uid, want in ((NOBODY, "b'HTTP/1.1 403'"), (NOBODY - 1, "b''")):
        done = subprocess.run(
            ["setpriv", "--reuid", str(uid), "--regid", str(uid),
             "--clear-groups", "/usr/bin/python3", "-I", "-c", ask],
            capture_output=True, text=True, check=False)
        got = done.stdout.strip() or "b''"
        check(got == want, "uid %d: %s %s" % (uid, got, done.stderr))
    wait_for(lambda: server.has_logged("of another user"), LIMIT,
             "it is logged")
    c.close()
    server.stop()


def proxy_of(c):
    """Where a proxy is that leads to this machine."""
    c.start("p", "/bin/sh", "-c", "echo $HTTP_PROXY; exec sleep 1000",
            **managed({"127.0.0.1": "allow"}))
    return "127.0.0.1", int(line(c, "p").rsplit(":", 1)[1])


def to_proxy(proxy):
    """A connection of the session's user."""
    os.seteuid(NOBODY)
    try:
        end = socket.socket()
    finally:
        os.seteuid(0)
    end.settimeout(LIMIT)
    end.connect(proxy)
    return end


def read_to(end, what=None):
    """Until that has come, or else to the end."""
    got = b""
    while what is None or what not in got:
        if not (data := end.recv(65536)):
            break
        got += data
    return got


def last_of_answers():
    """Answers that end with their connection, that break off, or are none."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(LIMIT)
    port = listener.getsockname()[1]
    server = Server(prefix=AS_NOBODY, run=False)
    c = join(server)
    proxy, failed = proxy_of(c), b"upstream failure"
    for said, status, body in (
            (b"HTTP/1.0 200 OK\r\n\r\nabc", b"200", b"abc"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", b"200",
             b"abc"),
            (b"", b"502", failed),
            (b"HTTP/1.1 200 OK\r\n", b"502", failed),
            (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"502", failed),
            (b"nonsense\r\n\r\n", b"502", failed)):
        end = to_proxy(proxy)
        end.sendall(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\n"
                    b"Host: 127.0.0.1:%d\r\n\r\n" % (port, port))
        there = listener.accept()[0]
        there.settimeout(LIMIT)
        read_to(there, b"\r\n\r\n")
        there.sendall(said)
        there.close()
        head, _, got = read_to(end).partition(b"\r\n\r\n")
        check((head[9:12], got) == (status, body), "%s: %s, %s" % (said, head,
                                                                  got))
        end.close()
    c.close()
    server.stop()


BULK = 64 << 20


def bulk():
    """Much through a tunnel, both ways at once, to ones that are slow."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = Server(prefix=AS_NOBODY, run=False)
    c = join(server)
    ends = [to_proxy(proxy_of(c))]
    ends[0].sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port)
    ends.append(listener.accept()[0])
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += ends[0].recv(1)
    check(head.startswith(b"HTTP/1.1 200"), "no tunnel: %s" % head)
    block = os.urandom(1 << 20)
    got = []

    def take(end):
        """Stops for a while now and then, so that queues fill."""
        digest, n = hashlib.sha256(), 0
        while data := end.recv(1 << 18):
            digest.update(data)
            if n // (8 << 20) != (n + len(data)) // (8 << 20):
                time.sleep(0.05)
            n += len(data)
        got.append((n, digest.hexdigest()))

    def give(end):
        for _ in range(BULK // len(block)):
            end.sendall(block)
        end.shutdown(socket.SHUT_WR)

    threads = [threading.Thread(target=fn, args=(end,), daemon=True)
               for end in ends for fn in (take, give)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(LIMIT)
    want = hashlib.sha256(block * (BULK // len(block))).hexdigest()
    check(got == [(BULK, want)] * 2, "what came: %s" % got)
    c.close()
    server.stop()


ASK = ("exec 2>/dev/null; ask() { exec 3<>/dev/tcp/127.0.0.1/"
       "${HTTP_PROXY##*:} || { echo closed; return; }; "
       "printf 'GET http://%s/ HTTP/1.1\\r\\nHost: %s\\r\\n"
       "Connection: close\\r\\n\\r\\n' $1 $1 >&3; head -n 1 <&3; }; ")


def bound():
    """What the administrator does not allow no client can."""
    folder = TMP + "/bound"
    os.mkdir(folder, 0o755)
    tests = "(ask pub.test); (ask other.test); (ask denied.test); " \
        "(ask 7.7.7.2); exec 3<>/dev/tcp/7.7.7.2/80 || echo no; "
    ok, no = "HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden"
    for options, params, want in (
            # Without a word of the client, with all files, and with a sandbox.
            ((), {}, None),
            (("DefaultNetwork=managed",), {}, [no, no, no, no, "no"]),
            (("DefaultNetwork=managed", "AllowDomain=*.test",
              "DenyDomain=denied.*"), {}, [ok, ok, no, no, "no"]),
            (("DefaultNetwork=managed", "AllowDomain=**.pub.test"),
             {"sandbox": read_only(folder)}, [ok, no, no, no, "no"]),
            # The client's rules, and the administrator's around them.
            (("DefaultNetwork=managed", "AllowDomain=**.pub.test"),
             managed({"*": "allow"}), [ok, no, no, no, "no"]),
            (("AllowDomain=**.pub.test",), managed(
                {"*": "allow"}, folder, allowLocalBinding=True),
             [ok, no, no, no, "no"]),
            (("DenyDomain=other.test", "DenyDomain=7.7.7.3"), managed(
                {"*": "allow"}, folder), [ok, no, no, ok, "no"])):
        server = Server(*options, prefix=AS_NOBODY, run=False)
        c = join(server)
        c.start("p", "/bin/bash", "-c", "test -n \"$HTTP_PROXY\" || "
                "{ echo none; exit; }; " + ASK + tests, **params)
        got = output(c, "p")[0].replace("\r", "").split("\n")[:-1]
        check(got == (want or ["none"]), "%s: %s" % (options, got))
        c.close()
        server.stop()
    for bad in ("AllowDomain=a b", "DenyDomain=**", "AllowDomain=*."):
        done = subprocess.run([BUILD + "/execsrvd", "-t", "-o", bad],
                              capture_output=True, text=True, check=False)
        check(done.returncode != 0 and "domain" in done.stderr,
              "%s: %s" % (bad, done.stderr))
    # Together 16 KiB, of which each takes four bytes more.
    full = [("a" * 62 + ".") * 3 + "a" * 63] * 63 + ["b" * 61 + "." + "b" * 62]
    for last, why in (62, ""), (63, "too many of them"):
        done = subprocess.run(
            [BUILD + "/execsrvd", "-t", *("-oAllowDomain=" + name for name in
             [*full, "c" * 61 + "." + "c" * last])],
            capture_output=True, text=True, check=False)
        check((done.returncode != 0) == bool(why) and why in done.stderr,
              "%s bytes: %s" % (last, done.stderr))


def told():
    """What is refused, in the audit log and for operators."""
    folder = TMP + "/told"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    audit = folder + "/audit"
    server = Server("AuditLog=" + audit, prefix=AS_NOBODY)
    c = join(server)
    c.start("p", "/bin/bash", "-c", ASK + "(ask a.test); (ask b.test); "
            "(ask a.test); (ask a.test)", **managed({"b.test": "deny"}))
    output(c, "p")
    for want in ("3 a.test:80 not_allowed", "1 b.test:80 denied"):
        wait_for(lambda want=want: want in subprocess.run(
            [*AS_NOBODY, BUILD + "/execsrvctl", "-R", server.run, "show",
             "1"], check=False, capture_output=True, text=True).stdout, LIMIT,
            want)
    c.close()
    server.stop()
    with open(audit, encoding="utf-8") as f:
        events = [json.loads(line) for line in f]
    got = [(e["host"], e["port"], e["why"], e["count"]) for e in events
           if e["event"] == "network-refused"]
    check(sorted(got) == [("a.test", 80, "not_allowed", 1),
                          ("a.test", 80, "not_allowed", 2),
                          ("b.test", 80, "denied", 1)], str(got))


def next_master():
    """The boundary is the session's: it holds without a master, and when the
    next one has adopted it, which is told what was refused meanwhile."""
    folder = TMP + "/next"
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    options = ("AuditLog=%s/audit" % folder,)
    server = Server(*options, prefix=AS_NOBODY)
    c = join(server)
    c.start("p", "/bin/bash", "-c", ASK + "for i in 1 2 3; do (ask pub.test); "
            "(ask no$i.test); read x; done", pipeStdin=True,
            **managed({"**.pub.test": "allow"}, folder))

    def judge(turn):
        want, got = "HTTP/1.1 200 OK HTTP/1.1 403 Forbidden", ""
        while len(got.split()) < len(want.split()):
            got += " " + line(c, "p")
        check(" ".join(got.split()) == want, got)
        c.call("process/write", {"processId": "p", "chunk": "Cg==",
                                 "writeId": turn})
    judge("before")
    nextlib.kill(server)
    judge("without")
    server = nextlib.Next(server, *options, prefix=AS_NOBODY)
    nextlib.adopted(server, 1)
    judge("after")
    lib.ctl(server, "kill", "1")
    server.stop()
    with open(folder + "/audit", encoding="utf-8") as f:
        events = [json.loads(text) for text in f]
    hosts = {e["host"] for e in events if e["event"] == "network-refused"}
    check(hosts >= {"no2.test", "no3.test"}, "%s" % hosts)


def answers():
    """What a program reads that is refused, and one with a bad request."""
    server = Server(prefix=AS_NOBODY)
    c = join(server)
    c.start("p", "/bin/bash", "-c", ASK.replace("head -n 1", "cat") +
            "(ask b.test); (ask 'b.test x')", **managed({"b.test": "deny"}))
    got = output(c, "p")[0]
    body = '{"status":"blocked","host":"b.test","reason":"denied",' \
        '"decision":"deny","source":"baseline_policy","protocol":"http",' \
        '"port":80,"message":"The domain is denied."}'
    check(got == "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\n"
          "content-length: %d\r\nx-proxy-error: blocked-by-denylist\r\n"
          "connection: close\r\n\r\n%s"
          "HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n"
          "content-length: 0\r\nconnection: close\r\n\r\n" %
          (len(body), body), "%r" % got)
    c.close()
    server.stop()


def by_hand():
    """execsrvctl run --allow-domain, with a sandbox and without."""
    server = Server(prefix=AS_NOBODY, run=False)
    for option in (), ("--sandbox", "read-only"):
        done = subprocess.run(
            [*AS_NOBODY, BUILD + "/execsrvctl", "run", "-u", server.url,
             *option, "--allow-domain", "**.pub.test", "--allow-domain",
             "denied.test", "-C", "/", "--", "/bin/bash", "-c",
             ASK + "(ask pub.test); (ask other.test)"],
            capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL)
        check(done.stdout.replace("\r", "") == "HTTP/1.1 200 OK\n"
              "HTTP/1.1 403 Forbidden\n", "%s: %s" % (option, done))
    server.stop()


def question(c):
    """The next one: its id and the host."""
    def found():
        while c.notes:
            m = c.notes.popleft()
            if m["method"] == "network/policyRequest":
                return m["id"], m["params"]["request"]["host"]
        return None
    return c.until(found, LIMIT)


def questions():
    """The client is asked, and nobody waits for one that has gone."""
    server = Server(prefix=AS_NOBODY, run=False)
    c = join(server)
    params = managed({})
    params["networkProxy"]["policyDecisionTimeoutMs"] = 600000
    c.start("p", "/bin/bash", "-c", ASK + "for h in a pub b c d; do "
            "(ask $h.test); done; exec sleep 1000", **params)
    number, host = question(c)
    check((number, host) == (1, "a.test"), "the first: %s" % host)
    c.send({"id": 1, "result": {"decision": {"type": "deny",
                                             "reason": "because"}}})
    d = c.note("network/policyDecision", "p")
    check((d["source"], d["reason"], d["decision"], d["policyOverride"]) ==
          ("decider", "because", "deny", False), str(d))
    # What no rule lists, allowed by the client alone.
    check(question(c) == (2, "pub.test"), "the second")
    c.send({"id": 2, "result": {"decision": {"type": "allow"}}})
    d = c.note("network/policyDecision", "p")
    check((d["source"], d["decision"], d["policyOverride"]) ==
          ("decider", "allow", True), str(d))
    check(question(c) == (3, "b.test"), "the third")
    # The connection is lost while it is open: b, c and d are refused.
    session = c.session
    c.close()
    os.seteuid(NOBODY)
    try:
        c = resume_in(server.url, session, LIMIT)
    finally:
        os.seteuid(0)

    def refused():
        got = c.call("process/read", {"processId": "p", "afterSeq": 0})
        text = b"".join(base64.b64decode(k["chunk"]) for k in got["chunks"])
        return text.count(b"HTTP/1.1 403")

    def is_asked():
        """What came up after the resume is asked, as 1, 2, ..."""
        while c.notes:
            m = c.notes.popleft()
            if m["method"] == "network/policyRequest":
                c.send({"id": m["id"], "error": {"code": 1, "message": "x"}})
                check(m["params"]["request"]["host"] != "b.test",
                      "asked once more")
        return refused() == 4

    wait_for(is_asked, LIMIT, "all are refused")
    c.send({"id": 7, "result": {}})
    check(c.wait_closed(LIMIT), "an id that was never used")
    server.stop()


if not os.path.exists("/usr/bin/python3"):
    skip("no Python for other users")
main(attacks, dead_proxy, of_another_user, last_of_answers, bulk, bound, told,
     answers, next_master, by_hand, questions)
