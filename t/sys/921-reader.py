"""The process that reads what somebody sends who must show a token."""
import os

import tokens
from client import (Client, Closed, RpcError, Server, check, children, dial,
                    frame, in_groups, links_of, main, say, skip,
                    upgrade_request, wait_for, LIMIT)

NOBODY = 65534


def status_of(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return dict((k, v.split()) for k, v in
                        (line.split(":", 1) for line in f))
    except OSError:
        return {}


def readers(server):
    return [p for p in children(server.pid)
            if status_of(p).get("Seccomp") == ["2"]]


def limits_of(pid):
    with open("/proc/%d/limits" % pid, encoding="ascii") as f:
        next(f)
        return dict((line[:26].strip(), line[26:].split()[:2]) for line in f)


def wait_for_reader(server):
    pids = wait_for(lambda: readers(server) or
                    server.has_logged("not confined"), LIMIT, "a reader")
    if pids is True:
        skip("a build that is measured is not confined")
    return pids[0]


def confined():
    token = tokens.new()
    server = Server("RequireToken=always", tokens.option("ci", token),
                    "LogLevel=debug")
    check(not readers(server), "confined without a client")
    for sent in (b"", b"GET / HTTP/1.1\r\nHo", upgrade_request(
            more="Authorization: Bearer %s\r\n" % token)):
        with dial(server.url) as sock:
            sock.sendall(sent)
            pid = wait_for_reader(server)
            look_at(pid)
            if sent.endswith(b"\r\n\r\n"):
                check(b" 101 " in sock.recv(4096), "it does not work")
                check(readers(server) == [pid], "another one goes on")
                look_at(pid)
        wait_for(lambda: not readers(server), LIMIT, "its end")
    check("died" not in server.log(), "a reader died")
    server.stop()


def look_at(pid):
    s = status_of(pid)
    check(s["NoNewPrivs"] == ["1"], "new privileges")
    check(s["Threads"] == ["1"], "threads")
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        check(int(s[name][0], 16) == 0, "%s: %s" % (name, s[name]))
    if tokens.IS_ROOT:
        real, effective, saved, files = map(int, s["Uid"])
        check(effective == files == NOBODY, "uids %s" % s["Uid"])
        check(real == saved and 0x7fc00000 < real < 2 ** 31,
              "uids %s" % s["Uid"])
        check(s["Gid"] == [str(NOBODY)] * 4, "gids %s" % s["Gid"])
        check(s["Groups"] == [], "groups %s" % s["Groups"])
    limits = limits_of(pid)
    for name in ("Max file size", "Max processes", "Max core file size"):
        check(limits[name] == ["0", "0"], "%s: %s" % (name, limits[name]))
    if not tokens.IS_ROOT:
        return
    check(limits["Max open files"] == ["1", "1"], "%s" % limits)
    fds = links_of(pid)
    check([fds[n] for n in (0, 1)] == ["/dev/null"] * 2, "%s" % fds)
    rest = [v for n, v in fds.items() if n > 2]
    check(len(rest) == 2 and all(v.startswith("socket:") for v in rest),
          "more than the client and the master: %s" % fds)


def too_long():
    """An initialize that cannot be passed on: its error comes from here."""
    token = tokens.new()
    server = Server("RequireToken=always", tokens.option("ci", token))
    client = Client(server.url, token=token)
    for n in (70000, 1000000):
        try:
            client.call("initialize", {"clientName": "n" * n})
            check(False, "an initialize of %d bytes is taken" % n)
        except RpcError as e:
            check(e.code == -32602 and "64 KiB" in e.text, "%s" % e)
    check(len(client.call("initialize", {"clientName": "n"})["sessionId"]) > 0,
          "it does not go on")
    client.sock.close()
    client = Client(server.url, token=token)
    client.sock.sendall(frame(1, b"x" * 70000))
    try:
        client.answer(-1)
        check(False, "what is no request is taken")
    except RpcError as e:
        check(e.code == -32602, "%s" % e)
    client.sock.close()
    client = Client(server.url, token=token)
    try:
        client.call("initialize", {"clientName": "n" * (1 << 20)})
        check(False, "there is no limit")
    except Closed as e:
        check(e.code == 1009, "%s" % e)
    server.stop()


def alone():
    """Two of them are not one another's, and commands cannot reach them."""
    if not tokens.IS_ROOT:
        say("  left out: it takes root")
        return
    server = Server("RequireToken=always", tokens.option("ci", tokens.new()))
    with dial(server.url), dial(server.url):
        pids = wait_for(lambda: len(readers(server)) == 2 and
                        readers(server), LIMIT, "two readers")
        uids = {status_of(p)["Uid"][0] for p in pids}
        check(len(uids) == 2, "they share a user: %s" % uids)
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            for pid in pids:
                for attempt in (lambda p=pid: os.kill(p, 0),
                                lambda p=pid: open("/proc/%d/mem" % p, "rb"),
                                lambda p=pid: os.listdir("/proc/%d/fd" % p)):
                    try:
                        attempt()
                        os._exit(1)
                    except PermissionError:
                        pass
            os._exit(0)
        check(os.waitpid(child, 0)[1] == 0, "a nobody reaches a reader")
    server.stop()


in_groups()
main(confined, too_long, alone)
