"""Reads and runs one script; the language is described in README."""
import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

from conn import Conn, OPS, frame
from pattern import PatternError, compile_pattern, expand, match, short, \
    unescape

LINE = re.compile(r"(>>|>frame|>ping|>pong|>close|>|<\?|<frames|<ping|<pong|"
                  r"<close|<eof|<exit|<|http>|http<|@[a-z]+)(?:\s+(.*))?$",
                  re.S)
# Lines that make no sense where a message is a line and there is one peer.
SOCKET_ONLY = {">frame", ">ping", ">pong", ">close", "<frames", "<ping",
               "<pong", "http>", "http<", "@conn", "@raw", "@resume", "@attach",
               "@reset", "@nopong", "@drop", "@hold", "@url"}
HEADER = {"@ours", "@transport", "@needs", "@alone"}


class Failure(Exception):
    pass


class Late(Failure):
    """As it should be, but not in time: perhaps the machine stood still."""


class Skip(Exception):
    pass


class Step:
    def __init__(self, line, op, arg):
        self.line, self.op, self.arg, self.body = line, op, arg, []


def seconds(text):
    m = re.fullmatch(r"([0-9.]+)(ms|s)", text)
    if not m:
        raise PatternError("no duration: " + text)
    return float(m.group(1)) / (1000 if m.group(2) == "ms" else 1)


class Script:
    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path)
        self.header, self.steps, self.title = {}, [], ""
        with open(path, encoding="utf-8") as f:
            self.read(f.read())
        used = {s.op for s in self.walk(self.steps)}
        default = "ws unix" if used & SOCKET_ONLY else "ws unix stdio"
        self.transports = self.header.get("@transport", default).split()

    def walk(self, steps):
        for s in steps:
            yield s
            yield from self.walk(s.body)

    def read(self, text):
        flat = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.startswith("#"):
                self.title = self.title or line.strip("# ")
            elif line[:1].isspace() and line.strip():
                flat[-1].arg += "\n" + line.strip()
            elif line.strip():
                m = LINE.match(line.rstrip())
                if not m:
                    raise PatternError("%s:%d: what is this? %s" % (
                        self.name, number, line))
                flat.append(Step(number, m.group(1), m.group(2) or ""))
        stack = [self.steps]
        for s in flat:
            if s.op in HEADER:
                self.header[s.op] = s.arg
            elif s.op == "@end":
                stack.pop()
            else:
                stack[-1].append(s)
                if s.op == "@repeat":
                    stack.append(s.body)
        if len(stack) != 1:
            raise PatternError(self.name + ": @repeat without @end")


class Output:
    """All that is known of one process: events by number, however learned."""

    def __init__(self):
        self.events, self.last, self.trouble = {}, None, []

    def add(self, seq, event):
        # A number means one event for ever: resent or read again, it is equal.
        if self.events.setdefault(seq, event) != event:
            self.trouble.append("seq %d came with two contents" % seq)
        if event[0] == "closed":
            self.last = seq

    def cursor(self):
        n = 0
        while n + 1 in self.events:
            n += 1
        return n

    def is_complete(self):
        return self.last is not None and self.cursor() == self.last

    def summary(self):
        out = {"stdout": b"", "stderr": b"", "pty": b""}
        result = {"events": len(self.events), "exit": None, "denied": None}
        for seq in sorted(self.events):
            e = self.events[seq]
            if e[0] == "output":
                out[e[1]] += base64.b64decode(e[2], validate=True)
            elif e[0] == "exited":
                if result["exit"] is not None:
                    self.trouble.append("exited twice")
                result["exit"], result["denied"] = e[1], e[2]
        data = out["stdout"] + out["pty"]
        result["bytes"], result["sha256"] = len(data), \
            hashlib.sha256(data).hexdigest()
        for stream, text in out.items():
            result[stream] = text.decode("utf-8", "surrogateescape")
        if max(self.events) != self.last:
            self.trouble.append("an event after closed")
        return result


class Run:
    """One run of a script on one transport."""

    def __init__(self, script, server, transport, options):
        self.script, self.server, self.transport = script, server, transport
        self.scale, self.theirs = options.scale, options.reference is not None
        self.slow = options.slow
        self.verbose = options.verbose
        self.log, self.conns, self.current = [], {}, "a"
        self.dead, self.outputs, self.clock = [], {}, time.monotonic()
        self.deadline, self.due, self.ids = None, None, 0
        self.late = False           # what failed was the time alone
        self.tmp = tempfile.mkdtemp(prefix="wire-")
        self.names = {"T": self.tmp, "UID": os.getuid()}
        self.url = server.url(transport)

    # Running

    def run(self):
        """None, or the reason of the failure. Skip when not for us."""
        step = None
        try:
            self.check_needs()
            for step in self.script.steps:
                self.step(step)
            self.check_faults()
        except (Failure, ConnectionError, PatternError, OSError) as e:
            at = getattr(e, "line", step.line if step else 0)
            self.late = isinstance(e, Late)
            return "%s:%d: %s" % (self.script.name, at, e)
        finally:
            for c in list(self.conns.values()) + self.dead:
                c.close()
            shutil.rmtree(self.tmp, ignore_errors=True)
        return None

    def check_needs(self):
        head = self.script.header
        if "@ours" in head and self.theirs:
            raise Skip("ours only: " + head["@ours"])
        for need in head.get("@needs", "").split():
            if need == "server":
                good = self.server.is_own
            elif need == "slow":
                good = self.slow
            elif need in ("root", "user"):
                good = (os.getuid() == 0) == (need == "root")
            else:
                good = shutil.which(need)
            if not good:
                raise Skip("needs " + need)

    def check_faults(self):
        for c in list(self.conns.values()) + self.dead:
            for f in c.faults:
                if not (self.theirs and ": order:" in f):
                    raise Failure(f)
        for key, out in self.outputs.items():
            if out.trouble:
                raise Failure("process %s: %s" % (key[1], out.trouble[0]))

    def step(self, s):
        if s.op == "@repeat":
            for i in range(int(s.arg)):
                self.names["I"] = i
                for inner in s.body:
                    self.step(inner)
            return
        name = "do_" + WORDS.get(s.op, s.op.lstrip("@"))
        if not hasattr(self, name):
            raise PatternError("unknown line " + s.op)
        try:
            getattr(self, name)(s.arg)
            due, self.due = self.due, None
            if due is not None and time.monotonic() > due:
                raise Late("late by %.3f s" % (time.monotonic() - due))
        except (Failure, ConnectionError, PatternError, OSError) as e:
            e.line = getattr(e, "line", s.line)
            raise

    # Helpers

    def trace(self, name, arrow, data):
        text = data if isinstance(data, str) else short(data) \
            if not isinstance(data, bytes) else repr(data)
        self.log.append("%8.3f %s %s %s" % (
            time.monotonic() - self.clock, name, arrow, text[:1500]))

    def limit(self, default=60.0):
        """Seconds for the next expectation; @within holds for one, and what
        comes after that is late."""
        self.due, self.deadline = self.deadline, None
        left = 0 if self.due is None else self.due - time.monotonic()
        return max(left, default * self.scale)

    def fill(self, arg):
        return expand(" ".join(arg.split("\n")), self.names)

    def open(self, name, upgrade=True):
        c = Conn(name, self.trace if self.verbose else None)
        c.on_note = self.on_note
        self.conns[name] = c
        if self.transport == "stdio":
            c.open_stdio(*self.server.stdio())
        else:
            c.open_socket(self.url)
            self.names["HOST"] = c.host
            if upgrade:
                c.upgrade(60 * self.scale)
        return c

    def conn(self):
        return self.conns.get(self.current) or self.open(self.current)

    def retire(self):
        """The current connection is over; its name is free for another."""
        self.dead.append(self.conns.pop(self.current))

    def output(self, session, pid):
        return self.outputs.setdefault((session, pid), Output())

    def on_note(self, session, method, p):
        kind = method.split("/")[1]
        if kind == "output":
            event = ("output", p["stream"], p["chunk"])
        elif kind == "exited":
            event = ("exited", p["exitCode"], p["sandboxDenied"])
        else:
            event = (kind,)
        self.output(session, p["processId"]).add(p["seq"], event)

    def call(self, method, params):
        """A request of the runner's own; its answer, taken from the queue."""
        c = self.conn()
        self.ids += 1
        rid = "run-%d" % self.ids
        c.send_text(json.dumps({"id": rid, "method": method,
                                "params": params}))
        node = compile_pattern('{"id":"%s",...}' % rid, {})
        return self.take(node, True, self.limit()).data

    def take(self, node, anywhere, limit):
        """The next event, or with anywhere the next that fits."""
        c = self.conn()
        deadline = time.monotonic() + limit
        seen = ["nothing came"]

        def look():
            for i, e in enumerate(c.events):
                bad = match(node, e.data, self.names) if e.kind == "msg" \
                    else "%s %s" % (e.kind, e.data)
                if not bad:
                    del c.events[i]
                    return e
                seen[0] = bad
                if not anywhere or e.kind != "msg":
                    return False
            return None

        got = c.wait(look, deadline)
        if not got:
            raise Failure("%s%s" % (seen[0], "" if got is False else
                                    " (%.2f s)" % limit))
        # When it came counts, not when we had a look.
        due, self.due = self.due, None
        if due is not None and got.when > due:
            raise Late("late by %.3f s" % (got.when - due))
        return got

    def next_event(self, limit):
        c = self.conn()
        e = c.wait(lambda: c.events[0] if c.events else None,
                   time.monotonic() + limit)
        if e is None:
            raise Failure("nothing came (%.2f s)" % limit)
        if e.kind == "msg":
            raise Failure("a message came: " + short(e.data))
        c.events.popleft()
        return e

    # Lines: messages

    def do_send(self, arg):
        self.conn().send_text(self.fill(arg))

    def do_expect(self, arg):
        self.take(compile_pattern(arg, self.names), False, self.limit())

    def do_expect_any(self, arg):
        self.take(compile_pattern(arg, self.names), True, self.limit())

    def do_frames(self, arg):
        """<frames N PATTERN: as "<", and it came in N frames or more."""
        n, _, pattern = arg.partition(" ")
        e = self.take(compile_pattern(pattern, self.names), True, self.limit())
        if e.info["frames"] < int(n):
            raise Failure("came in %d frames" % e.info["frames"])

    # Lines: bytes and frames

    def do_bytes(self, arg):
        self.conn().send(unescape(self.fill(arg)))

    def do_frame(self, arg):
        options, _, data = self.fill(arg).partition("|")
        how = {"op": 1}
        for word in options.split():
            key, _, value = word.partition("=")
            if key in OPS:
                how["op"] = OPS[key]
            elif key == "nofin":
                how["fin"] = False
            elif key == "nomask":
                how["masked"] = False
            elif key == "mask":
                how["mask"] = bytes.fromhex(value)
            elif key in ("op", "rsv", "size", "form"):
                how[key] = int(value, 0)
            else:
                raise PatternError("unknown frame option " + word)
        self.conn().send(frame(data=unescape(data.lstrip(" ")), **how))

    def do_ping_out(self, arg):
        self.conn().send(frame(9, unescape(self.fill(arg))))

    def do_pong_out(self, arg):
        self.conn().send(frame(10, unescape(self.fill(arg))))

    def do_close_out(self, arg):
        code, _, reason = arg.partition(" ")
        c = self.conn()
        c.close_sent = True
        c.send(frame(8, int(code).to_bytes(2, "big") + unescape(reason)
                     if code else b""))

    def do_pong_in(self, arg):
        c, limit = self.conn(), self.limit()
        got = c.wait(lambda: c.pongs[0] if c.pongs else
                     b"" if c.ended else None, time.monotonic() + limit)
        if got is None or not c.pongs:
            raise Failure("no pong" + (", but the end" if c.ended else ""))
        c.pongs.popleft()
        if got != unescape(self.fill(arg)):
            raise Failure("pong with %r" % got)

    def do_ping_in(self, arg):
        c, limit = self.conn(), self.limit()
        if not c.wait(lambda: c.pings or None, time.monotonic() + limit):
            raise Failure("no ping (%.2f s)" % limit)
        c.pings = 0

    def do_close_in(self, arg):
        """A close frame with this code, and then the end of the stream."""
        limit = self.limit()
        e = self.next_event(limit)
        if e.kind == "close":
            if arg and str(e.data) not in arg.split("|"):
                raise Failure("close %s %r" % (e.data, e.info))
            e = self.next_event(limit)
        elif not self.theirs and self.transport != "stdio":
            # The reference never sends one: its end is as good.
            raise Failure("ended without a close frame")
        if e.kind != "eof":
            raise Failure("after the close frame: " + e.kind)
        self.retire()

    def do_eof(self, arg):
        """The end, with or without a close frame; "any": after messages."""
        limit, c = self.limit(), self.conn()
        if arg == "any":
            c.wait(lambda: True if c.ended else None,
                   time.monotonic() + limit)
            with c.cond:
                while c.events and c.events[0].kind == "msg":
                    c.events.popleft()
        e = self.next_event(limit)
        if e.kind == "close":
            e = self.next_event(limit)
        if e.kind != "eof":
            raise Failure("no end, but " + e.kind)
        self.retire()

    def do_exit(self, arg):
        """stdio: the server ended with this exit code."""
        c = self.conns.get(self.current) or self.dead[-1]
        try:
            code = c.child.wait(self.limit())
        except subprocess.TimeoutExpired:
            raise Failure("still running")
        if code != int(arg):
            raise Failure("exit code %d" % code)

    def do_http_out(self, arg):
        lines = [self.fill(x) for x in arg.split("\n")]
        self.conn().send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def do_http_in(self, arg):
        status, *wanted = arg.split("\n")
        got, fields, body = self.conn().http_answer(self.limit())
        if str(got) not in status.split("|"):
            raise Failure("status %d %s %r" % (got, fields, body[:200]))
        for line in wanted:
            key, _, value = line.partition(":")
            key, value = key.lower(), self.fill(value.strip())
            if key == "body":
                if body.decode("latin-1") != value:
                    raise Failure("body %r" % body)
            elif key.startswith("!"):
                if key[1:] in fields:
                    raise Failure("%s: %s" % (key[1:], fields[key[1:]]))
            elif value != "..." and fields.get(key) != value or \
                    key not in fields:
                raise Failure("%s: %s" % (key, fields.get(key)))

    # Lines: connections

    def do_conn(self, arg):
        self.current = arg
        self.conn()

    def do_raw(self, arg):
        self.current = arg or self.current
        self.open(self.current, upgrade=False)

    def do_url(self, arg):
        """Talk to another address of the same server (HTTP tests)."""
        self.url = self.fill(arg)

    def do_session(self, arg):
        self.current = arg or self.current
        m = self.call("initialize", {"clientName": "wire"})
        if "result" in m:
            self.names["SID"] = m["result"]["sessionId"]
            self.do_initialized()

    def do_initialized(self, _=""):
        self.conn().send_text('{"method":"initialized","params":{}}')

    def do_attach(self, arg):
        """@resume without the notification at its end."""
        self.current = arg or self.current
        deadline = time.monotonic() + self.limit()
        due = self.due
        while True:
            m = self.call("initialize", {"clientName": "wire",
                                         "resumeSessionId": self.names["SID"]})
            if "result" in m:
                break
            if m["error"]["code"] != -32010 or time.monotonic() > deadline:
                raise Failure("not resumed: " + short(m))
            time.sleep(0.1)
        if m["result"]["sessionId"] != self.names["SID"]:
            raise Failure("another session: " + short(m))
        self.due = due

    def do_resume(self, arg):
        """Attach to $SID on the named connection, as the stock client does."""
        self.do_attach(arg)
        self.do_initialized()

    def do_drop(self, arg):
        self.conn().drop(60 * self.scale)
        self.retire()

    def do_reset(self, arg):
        self.conn().flush(60 * self.scale)
        self.conn().reset()
        self.retire()

    def do_halfclose(self, arg):
        self.conn().half_close(60 * self.scale)

    def do_nopong(self, arg):
        self.conn().nopong = True

    def do_hold(self, arg):
        """off: read again; else stop reading."""
        event = self.conn().reading
        (event.set if arg == "off" else event.clear)()

    # Lines: processes

    def do_start(self, arg):
        """@start ID {PARAMS}: with defaults, and the answer checked."""
        pid, _, rest = self.fill(arg).partition(" ")
        params = {"processId": pid, "cwd": "file://" + self.tmp, "env": {},
                  "tty": False}
        params.update(json.loads(rest))
        m = self.call("process/start", params)
        if m.get("result", {}).get("processId") != pid:
            raise Failure("not started: " + short(m))

    def do_sh(self, arg):
        """@sh ID SCRIPT: @start with /bin/sh -c and a PATH."""
        pid, _, rest = arg.partition(" ")
        text = expand(rest, {k: v for k, v in self.names.items()
                             if k in ("T", "I")})
        self.do_start(pid + " " + json.dumps({
            "argv": ["/bin/sh", "-c", text], "env": {"PATH": "/usr/bin:/bin"}}))

    def do_collect(self, arg):
        """@collect ID PATTERN: wait for all its events, compare the sum."""
        pid, pattern = self.split(arg)
        c, limit = self.conn(), self.limit()
        out = self.output(c.session, pid)
        done = c.wait(lambda: True if out.is_complete() else
                      False if c.ended else None, time.monotonic() + limit)
        if not done:
            raise Failure("%s is not complete (%s): %d events, %d in a row, "
                          "closed %s" % (pid, "ended" if done is False else
                                         "%.2f s" % limit, len(out.events),
                                         out.cursor(), out.last))
        self.forget(pid)
        self.compare(pattern, out.summary())

    def forget(self, pid):
        """Drop the events of a process from the queue of its connection."""
        c = self.conn()
        with c.cond:
            kept = [e for e in c.events if e.kind != "msg" or
                    "id" in e.data or
                    e.data.get("params", {}).get("processId") != pid]
            c.events.clear()
            c.events.extend(kept)

    def split(self, arg):
        pid, _, pattern = arg.partition(" ")
        return self.fill(pid), pattern

    def compare(self, pattern, value):
        if pattern:
            bad = match(compile_pattern(pattern, self.names), value, self.names)
            if bad:
                raise Failure(bad + " in " + short(value))

    def do_read(self, arg):
        """@read ID [PATTERN]: process/read from where we are; add to it."""
        pid, pattern = self.split(arg)
        out = self.output(self.conn().session, pid)
        after = out.cursor()
        m = self.call("process/read", {"processId": pid, "afterSeq": after})
        if "result" not in m:
            raise Failure("not read: " + short(m))
        r = m["result"]
        for x in r["chunks"]:
            if x["seq"] <= after:
                raise Failure("chunk %d, asked for > %d" % (x["seq"], after))
            out.add(x["seq"], ("output", x["stream"], x["chunk"]))
        self.add_ends(out, r)
        self.compare(pattern, r)

    def add_ends(self, out, r):
        """Exit and close have numbers too: those that no chunk has."""
        if not r["closed"]:
            return
        last = r["nextSeq"] - 1
        out.add(last, ("closed",))
        free = [n for n in range(1, last) if n not in out.events]
        if len(free) == 1 and not any(e[0] == "exited"
                                      for e in list(out.events.values())):
            out.add(free[0], ("exited", r["exitCode"], r["sandboxDenied"]))
        elif free:
            raise Failure("lost: events %s of %d" % (free[:5], last))

    def do_text(self, arg):
        """@text ID PATTERN: wait until its output so far fits."""
        pid, pattern = self.split(arg)
        c, limit = self.conn(), self.limit()
        out, seen = self.output(c.session, pid), [""]

        def look():
            data = b"".join(base64.b64decode(out.events[n][2])
                            for n in sorted(out.events)
                            if out.events[n][0] == "output")
            seen[0] = data.decode("utf-8", "surrogateescape")
            fits = not match(compile_pattern(pattern, self.names), seen[0],
                             self.names)
            return True if fits else False if c.ended else None

        if not c.wait(look, time.monotonic() + limit):
            raise Failure("output is %s" % short(seen[0]))
        self.forget(pid)

    # Lines: time, this machine

    def do_within(self, arg):
        self.deadline = time.monotonic() + seconds(arg) * self.scale

    def do_clock(self, arg):
        self.since = time.monotonic()

    def do_elapsed(self, arg):
        """@elapsed MIN [MAX] since @clock."""
        least, *most = arg.split()
        t = time.monotonic() - self.since
        if t < seconds(least):
            raise Failure("only %.3f s" % t)
        if most and t > seconds(most[0]) * self.scale:
            raise Late("%.3f s" % t)

    def do_sleep(self, arg):
        time.sleep(seconds(arg))

    def do_quiet(self, arg):
        c = self.conn()
        if c.wait(lambda: c.events[0] if c.events else None,
                  time.monotonic() + seconds(arg)):
            raise Failure("came: %s %s" % (c.events[0].kind,
                                           short(c.events[0].data)))

    def shell(self, arg):
        names = {k: shlex.quote(str(v)) for k, v in self.names.items()}
        text = re.sub(r"\$([A-Z][A-Z0-9_]*)", lambda m: names.get(
            m.group(1), m.group(0)), arg)
        return subprocess.run(["/bin/sh", "-c", text],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60 * self.scale)

    def do_here(self, arg):
        """@here COMMAND: run it on this side; it must succeed."""
        r = self.shell(arg)
        if r.returncode:
            raise Failure("exit %d: %s" % (r.returncode, r.stdout.decode()))

    def do_wait(self, arg):
        """@wait COMMAND: until it succeeds."""
        limit = self.limit()
        deadline = self.due or time.monotonic() + limit
        while self.shell(arg).returncode:
            if time.monotonic() > deadline:
                raise (Late if self.due else Failure)("not in time")
            time.sleep(0.03)

    def do_let(self, arg):
        """@let NAME COMMAND: its output, without the last newline."""
        name, _, command = arg.partition(" ")
        self.names[name] = self.shell(command).stdout.decode().rstrip("\n")

    def do_unset(self, arg):
        for name in arg.split():
            self.names.pop(name, None)


WORDS = {">": "send", "<": "expect", "<?": "expect_any", "<frames": "frames",
         ">>": "bytes", ">frame": "frame", ">ping": "ping_out",
         ">pong": "pong_out", ">close": "close_out", "<ping": "ping_in",
         "<pong": "pong_in", "<close": "close_in", "<eof": "eof",
         "<exit": "exit", "http>": "http_out", "http<": "http_in"}
