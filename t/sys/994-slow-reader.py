"""994: what waits to be sent is bounded by itself, not by the window alone."""
import base64
import time

from client import LIMIT, Client, Server, check, main, say, wait_for

SIZE = 60 << 20


def written(pid):
    """The bytes that a process has written."""
    with open("/proc/%d/io" % pid, encoding="ascii") as f:
        return int(dict(line.split(": ") for line in f)["wchar"])


def held_back():
    """A command is not read of beyond what the connection takes."""
    server = Server("OutputWindow=64M")
    c = Client(server.url, rcvbuf=4096).initialize()
    c.start("p", "sh", "-c", "echo $$; exec head -c %d /dev/zero" % SIZE)
    # What follows may come along.
    line, _, rest = base64.b64decode(
        c.note("process/output")["chunk"]).partition(b"\n")
    pid = int(line)
    had = [0, -1]

    def stands_still():
        had.append(written(pid))
        time.sleep(0.5)
        return had[-1] > 0 and had[-1] == had[-2] == had[-3]
    wait_for(stands_still, LIMIT, "it waits")
    say("  %d KiB" % (had[-1] >> 10))
    check(had[-1] < SIZE / 2, "%d bytes are on their way" % had[-1])
    # It goes on when the client does.
    got = len(rest)
    while got < SIZE:
        got += len(base64.b64decode(c.note("process/output")["chunk"]))
    server.stop()


main(held_back)
