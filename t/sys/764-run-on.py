"""execsrvctl run --on: a command on several servers, so many at a time; whose
line each is; what became of it all, in a line and a status."""
import collections
import os
import signal
import subprocess
import tempfile

from client import (BUILD, LIMIT, TMP, Server, check, held_port, settled,
                    wait_for)

CTL = BUILD + "/execsrvctl"


def start(*words, **how):
    return subprocess.Popen([CTL, "run", *words], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            **how)


def run(*words, status=0, **how):
    child = start(*words, **how)
    out, err = child.communicate(timeout=LIMIT * 2)
    check(child.returncode == status, "%s: status %d: %r" % (
        words, child.returncode, err[-500:]))
    return out, err


def summary(err, *numbers):
    """The last line: succeeded, of, failed, did not end, left out."""
    last = err.decode().splitlines()[-1]
    got = [int(word) for word in last.replace(",", "").split()
           if word.isdigit()]
    check(got == list(numbers), last)


def lines(urls):
    """Each with its server, in its order; those that have no end; long ones;
    output and errors apart."""
    out, err = run("--on", ",".join(urls), "--", "sh", "-c",
                   "echo a; echo; echo err >&2; printf 'b%70000s' x")
    got = collections.defaultdict(list)
    for line in out.decode().splitlines():
        url, _, text = line.partition(": ")
        got[url].append(text)
    long = "b" + " " * 69999 + "x"
    check(dict(got) == {url: ["a", "", long[:65536], long[65536:]]
                        for url in urls}, {u: len(g) for u, g in got.items()})
    check(sorted(err.decode().splitlines()[:-1]) == sorted(
        url + ": err" for url in urls), err)
    summary(err, len(urls), len(urls), 0, 0, 0)
    out, err = run("--on", urls[0], "--on", urls[1], "--", "seq", "200000")
    check(sorted(out.split(b"\n")[:-1]) == sorted(
        b"%s: %d" % (url.encode(), i) for url in urls[:2]
        for i in range(1, 200001)), "%d bytes" % len(out))


def statuses(urls):
    """Failed; not there; both."""
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o777)
    some = "mkdir %s/x 2>/dev/null || exit 7" % folder
    out, err = run("--on", ",".join(urls), "--parallel", "1", "--", "sh", "-c",
                   some, status=4)
    check([line.split(b": ")[1] for line in err.splitlines()[:-1]] ==
          [b"exit status 7"] * (len(urls) - 1), err)
    summary(err, 1, len(urls), len(urls) - 1, 0, 0)
    port, kept = held_port()
    with kept:
        out, err = run("--on", "ws://127.0.0.1:%d" % port, "--on",
                       ",".join(urls), "--", "sh", "-c", some, status=3)
    summary(err, 0, len(urls) + 1, len(urls), 1, 0)
    check(b"refused" in err, err)
    out, err = run("--on", urls[0], "--", "/no/such", status=3)
    summary(err, 0, 1, 0, 1, 0)
    for words in (["--on", ""], ["--on", urls[0] + ","],
                  ["--on", urls[0], "--url", urls[1]],
                  ["--on", urls[0], "-t"], ["--on", urls[0], "-d"],
                  ["--parallel", "0", "--on", urls[0]],
                  ["--parallel", "1001", "--on", urls[0]],
                  ["--max-fail", "101%", "--on", urls[0]],
                  ["--max-fail", "-1", "--on", urls[0]],
                  ["--max-fail", "x", "--on", urls[0]]):
        out, err = run(*words, "--", "echo", "no", status=125)
        check(out == b"" and err.count(b"\n") == 1, err)


def at_a_time(urls):
    """As many as were asked for, and never more."""
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o777)
    out, _ = run("--on", ",".join(urls * 2), "--parallel", "3", "--", "sh",
                 "-c", "cd %s && : >$$.a && ls *.a | wc -l && mv $$.a $$.b && "
                 "until [ $(ls *.[ab] | wc -l) -ge 3 ]; do sleep 0.02; done" %
                 folder)
    check(max(int(line.split()[-1]) for line in out.splitlines()) <= 3, out)
    check(len(os.listdir(folder)) == 2 * len(urls), out)


def failing(urls):
    """No more of it when it has failed often enough."""
    for most in ("2", "40%"):
        _, err = run("--on", ",".join(urls[:1] * 5), "--parallel", "1",
                     "--max-fail", most, "--", "false", status=3)
        summary(err, 0, 5, 3, 0, 2)
    _, err = run("--on", ",".join(urls[:1] * 5), "--max-fail", "5", "--",
                 "false", status=4)
    summary(err, 0, 5, 5, 0, 0)


def stopped(urls):
    """A signal goes to all, and nothing new begins; so does the end of the
    reader."""
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o777)
    child = start("--on", ",".join(urls), "--parallel", "2", "--", "sh", "-c",
                  "trap 'exit 9' INT; : >%s/$$; while :; do sleep 0.02; done" %
                  folder, preexec_fn=lambda: signal.signal(
                      signal.SIGINT, signal.SIG_DFL))
    wait_for(lambda: len(os.listdir(folder)) == 2, LIMIT, "two run")
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=LIMIT)
    check(child.returncode == 3, err)
    summary(err, 0, len(urls), 2, 0, len(urls) - 2)
    child = start("--on", ",".join(urls), "--", "yes")
    child.stdout.read(100)
    child.stdout.close()
    check(child.wait(LIMIT) == 141, child.returncode)
    child.stderr.close()


def main():
    servers = [Server() for _ in range(3)]
    urls = [server.url for server in servers]
    for case in (lines, statuses, at_a_time, failing, stopped):
        case(urls)
        print(case.__name__, flush=True)
    for server in servers:
        settled(server)
        server.stop()


main()
