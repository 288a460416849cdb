"""The process behind http/request: what it may do, and its ends."""
import base64
import os
import shutil
import signal
import time

from client import (RpcError, Server, a_word, check, children, connect,
                    is_alive, links, main, rss, say, skip, wait_for, with_word, worker_of,
                    BUILD, LIMIT, SANITIZED, TMP)
from upstream import Upstream, answer

DELTA = "http/request/bodyDelta"
NOBODY = 65534


def ask(c, url, **more):
    return c.request("http/request", {
        "requestId": "r", "method": "GET", "url": url, **more})


def get(c, url, **more):
    return c.answer(ask(c, url, **more))


def error_of(c, number):
    try:
        result = c.answer(number)
    except RpcError as e:
        return e.code, str(e)
    raise AssertionError(str(result)[:200])


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def helpers(worker):
    return [p for p in children(worker)
            if comm(p) == "execsrv-http" and is_alive(p)]


def helper(worker):
    """The one that there is."""
    found = wait_for(lambda: helpers(worker), LIMIT, "execsrv-http")
    check(len(found) == 1, "several: %s" % found)
    return found[0]


def status(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return {k: v.strip() for k, v in
                (line.split(":", 1) for line in f)}


def programs(folder, http):
    """The programs in a folder of their own, another execsrv-http."""
    os.mkdir(folder, 0o755)
    for name in ("execsrvd", "execsrv-worker"):
        shutil.copy("%s/%s" % (BUILD, name), folder)
    if http:
        shutil.copy(http, folder + "/execsrv-http")
    return os.path.relpath(folder, BUILD) + "/execsrvd"


def on_demand():
    """There is none before the first request, and one for all."""
    up, server = Upstream(lambda r: r.send(answer())), Server()
    with connect(server.url) as c:
        worker = worker_of(server, c)
        check(not helpers(worker), "one that nobody needs")
        for _ in range(3):
            get(c, up.url)
        pid = helper(worker)
        with open("/proc/%d/environ" % pid, "rb") as f:
            names = {v.split(b"=")[0] for v in f.read().split(b"\0") if v}
        check(b"HOME" not in names and b"PATH" not in names, str(names))
        s = status(pid)
        check(s["NoNewPrivs"] == "1", "new privileges")
        if not SANITIZED and "__gcov" not in os.environ.get("CFLAGS", ""):
            check(s["Seccomp"] == "2", "no filter")
        fds = sorted(links(pid))
        odd = [f for f in fds if not f.startswith(
            ("socket:", "pipe:", "anon_inode:", "/dev/null")) and f != server.log_path]
        check(fds and not odd, "descriptors: %s" % fds)
        with open("/proc/%d/limits" % pid, encoding="ascii") as f:
            core = [line.split() for line in f if "core file" in line][0]
        check(core[4:6] == ["0", "0"], str(core))


def its_death():
    """Requests in flight fail, streams end once; the next one starts anew."""
    def handler(r):
        if r.path == "/s":
            r.send(b"HTTP/1.1 200 OK\r\n\r\nx")
        if r.path != "/quick":
            return not r.is_closed(LIMIT)
        r.send(answer())
        return True
    up, server = Upstream(handler), Server()
    with connect(server.url) as c:
        worker = worker_of(server, c)
        for _ in range(3):
            get(c, up.url + "/s", requestId="s", streamResponse=True)
            waits = [ask(c, up.url + "/w") for _ in range(5)]
            wait_for(lambda: up.connections - up.closed >= 6, LIMIT, "6")
            old = helper(worker)
            os.kill(old, signal.SIGKILL)
            for number in waits:
                check(error_of(c, number)[0] == -32603, "in flight")
            ends = []
            while not ends:
                p = c.until(lambda: c.notes and c.notes.popleft())["params"]
                if p.get("done"):
                    ends.append(p)
            check(ends[0]["error"], str(ends))
            check(get(c, up.url + "/quick")["status"] == 200, "the next one")
            check(helper(worker) != old, "a ghost")
            wait_for(lambda: old not in children(worker), LIMIT, "reaped")
        check(not [m for m in c.notes if m["method"] == DELTA], "more ends")


def others_ends():
    """It ends with its worker, and with the session."""
    up, server = Upstream(lambda r: r.send(answer())), Server()
    for how in ("worker", "session"):
        c = connect(server.url)
        worker = worker_of(server, c)
        get(c, up.url)
        pid = helper(worker)
        if how == "worker":
            os.kill(worker, signal.SIGKILL)
        else:
            c.call("session/close")
        wait_for(lambda: not is_alive(pid), LIMIT, "gone with the " + how)
        c.close()


def of_no_command():
    """terminate spares it; a session with it alone owns nothing."""
    up, server = Upstream(lambda r: not r.is_closed(LIMIT)), Server()
    c = connect(server.url)
    worker = worker_of(server, c)
    word = a_word("tree")
    c.start("p", "sh", "-c", "setsid sleep %s & sleep %s" % (word, word))
    wait_for(lambda: len(with_word(word)) == 2, LIMIT, "2 sleepers")
    ask(c, up.url)
    wait_for(lambda: up.connections == 1, LIMIT, "the request")
    pid = helper(worker)
    c.call("process/terminate", {"processId": "p"})
    wait_for(lambda: not with_word(word), LIMIT, "no sleepers")
    # The passes that look for what is left are over when it is forgotten.
    time.sleep(0.1)
    check(is_alive(pid) and up.closed == 0, "terminated as well")
    c.close()
    wait_for(lambda: up.closed == 1, LIMIT, "closed with the client")
    server.process.terminate()
    server.process.wait(LIMIT)
    wait_for(lambda: not is_alive(pid), LIMIT, "it is not left behind")


def release():
    """A session that had nothing but this gives its worker back."""
    up = Upstream(lambda r: r.send(answer()))
    server = Server("ClosedProcessTtl=1")
    c = connect(server.url)
    c.run("p", "true")
    get(c, up.url)
    wait_for(lambda: not c.call("process/list")["processes"], LIMIT,
             "forgotten")
    c.close()
    wait_for(lambda: server.has_logged("released: owns nothing"), LIMIT,
             "the worker is given back")


def not_installed():
    """A clear error, and the rest works."""
    server = Server(program=programs(TMP + "/without", None))
    with connect(server.url) as c:
        for stream in (False, True):
            code, text = error_of(c, ask(c, "http://127.0.0.1:1/",
                                         streamResponse=stream))
            check(code == -32603 and "not installed" in text, text)
        check(c.run("p", "echo", "x") == (b"x\n", 0), "commands")


LIES = ("status", "status-large", "twice", "field-late", "fields",
        "piece-early", "piece-empty", "piece-long", "foreign", "zero", "ask-much",
        "done-early", "refused-late", "garbage", "exit", "crash")


def not_believed():
    """Whatever it says: one error, a dead liar, and the session goes on."""
    server = Server(program=programs(TMP + "/liar", BUILD + "/t/402-liar"))
    with connect(server.url) as c:
        worker = worker_of(server, c)
        for lie in LIES:
            url = "http://x/" + lie
            code, text = error_of(c, ask(c, url))
            check(code == -32603 and "execsrv-http" in text, lie + ": " + text)
            number = ask(c, url, streamResponse=True)
            m = c.until(lambda: c.answers.pop(number, None))
            while "result" in m:
                p = c.until(lambda: c.notes and c.notes.popleft())["params"]
                if p["done"]:
                    check("execsrv-http" in p["error"], lie + ": " + str(p))
                    break
            good = get(c, "http://x/good")
            check(base64.b64decode(good["bodyBase64"]) == b"\0\0\0", lie)
            wait_for(lambda: len(helpers(worker)) == 1, LIMIT, lie)
        # Not wrong, or only too late.
        get(c, "http://x/good", bodyBase64="YWJj", method="POST")
        code, text = error_of(c, ask(c, "http://x/more"))
        check((code, "early" in text) == (-32603, True), text)
        pid = helper(worker)
        get(c, "http://x/good")
        check(helper(worker) == pid, "replaced without need")
        # More than it was allowed, for a client that does not read.
        number = ask(c, "http://x/flood", streamResponse=True)
        wait_for(lambda: not is_alive(pid), LIMIT, "thrown out")
        check(rss(worker) < 64 << 20, "%d bytes" % rss(worker))
        c.answer(number)
        while True:
            p = c.until(lambda: c.notes and c.notes.popleft())["params"]
            if p["done"]:
                break
        check("execsrv-http" in p["error"], str(p))
        text = error_of(c, ask(c, "http://x/silence", timeoutMs=100))[1]
        check("timed out" in text, text)
        c.call("environment/status")
    check(not server.has_logged("assert"), "an assertion")


def another_user():
    """As the client's user, from a folder that is closed to him."""
    if os.getuid() != 0:
        skip("not root")
    folder = TMP + "/closed"
    program = programs(folder, BUILD + "/execsrv-http")
    os.chmod(folder, 0o700)
    up = Upstream(lambda r: r.send(answer()))
    path = "%s/s%d" % (TMP, os.getpid())
    # Who looks for leaks traces himself: not without rights, not dumpable.
    Server(listen=("unix:" + path,), program=program, env={
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
        ":detect_leaks=0"})
    os.chmod(path, 0o666)
    # Who connects is who this thread is at that moment.
    os.seteuid(NOBODY)
    try:
        c = connect("unix:" + path)
    finally:
        os.seteuid(0)
    get(c, up.url)
    out, _ = c.run("p", "sh", "-c", "id -u; echo $PPID")
    uid, worker = map(int, out.split())
    check(uid == NOBODY, "uid %d" % uid)
    check(status(helper(worker))["Uid"].split() == [str(NOBODY)] * 4, "uid")
    say("  as %d" % uid)
    c.close()


main(on_demand, its_death, others_ends, of_no_command, release, not_installed,
     not_believed, another_user)
