"""A daemon that was killed is started again by its monitor: no connection is
refused, and no session ends."""
import base64
import importlib
import os
import signal
import threading
import time

from client import (Client, Closed, RpcError, check, connect, in_time,
                    main, resume_in, say, stat_of, wait_for,
                    LIMIT)

lib = importlib.import_module("7common")
Daemon = importlib.import_module("5next").Daemon

KILLS = int(os.environ.get("KILLS", "4"))
COUNT = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done"


def comes_back():
    """Kills at any moment, under clients that come and go."""
    daemon = Daemon()
    some = [connect(daemon.urls[i % 2]) for i in range(4)]
    for c in some:
        c.start("p", "sh", "-c", COUNT)
    lost = connect(daemon.url)
    lost.start("p", "sh", "-c", COUNT)
    lost.reset()
    refused, took = [], []
    over = threading.Event()

    def knock():
        while not over.is_set():
            began = time.monotonic()
            try:
                connect(daemon.urls[1]).close()
                took.append(time.monotonic() - began)
            except (ConnectionRefusedError, FileNotFoundError) as e:
                refused.append(str(e))
            except (Closed, RpcError, OSError):
                pass            # it was being served when the master died
    thread = threading.Thread(target=knock)
    thread.start()
    for i in range(KILLS):
        before = daemon.kill()
        daemon.another(before)
        time.sleep(0.003 * (i * 7 % 31))
        # Not so often that the monitor pauses.
        rest = time.monotonic() + (10.1 if i % 4 == 3 and i + 1 < KILLS else 0)
        while time.monotonic() < rest:
            for c in some:
                c.pump()
            time.sleep(0.1)
    over.set()
    thread.join()
    check(not refused, "refused: %s" % refused[:3])
    say("  %d connections, the slowest after %.2f s" % (len(took), max(took)))
    for c in some:
        c.call("environment/status")
        out = b""
        while c.notes or c.ready(0.2):
            if not c.notes:
                c.take()
                continue
            m = c.notes.popleft()
            if m["method"] == "process/output":
                out += base64.b64decode(m["params"]["chunk"])
            else:
                check(False, "it ended: %s" % m)
            if len(out.split()) > 200:
                break
        numbers = [int(n) for n in out.split()]
        check(numbers == list(range(len(numbers))) and numbers, "%r" % out)
        c.close()
    again = resume_in(daemon.url, lost.session, LIMIT)
    read = again.call("process/read", {"processId": "p", "maxBytes": 1 << 16})
    out = b"".join(base64.b64decode(c["chunk"]) for c in read["chunks"])
    check([int(n) for n in out.split()] == list(range(len(out.split()))),
          "%r" % out)
    again.close()
    daemon.stop()


def ends_in_order():
    """By a signal to the master or to the monitor; it is not started again."""
    for whom in "master", "monitor":
        daemon = Daemon()
        # Whoever looks names up is one more, until it has begun or ended.
        wait_for(lambda: len(daemon.processes()) == 2, LIMIT, "two processes")
        both, master = daemon.processes(), daemon.pid()
        monitor = [p for p in both if p != master][0]
        check(int(stat_of(master)[1]) == monitor, "whose child is it?")
        os.kill(master if whom == "master" else monitor, signal.SIGTERM)
        wait_for(lambda: not daemon.processes(), LIMIT, "it ends")
        check(not os.path.exists(daemon.run), "something is left")


def pauses():
    """One that dies at once is not started as fast as it can die."""
    daemon, began = Daemon(), time.monotonic()
    for i in range(5):
        before = daemon.kill()
        if i < 4:
            daemon.another(before)
    wait_for(lambda: len(daemon.processes()) == 1, LIMIT, "it is dead")
    died = time.monotonic()
    in_time(died < began + 10, "so slow it may die for ever")
    # Not only until it is started again.
    while time.monotonic() < died + 1:
        check(len(daemon.processes()) == 1, "no pause")
    # Connections wait meanwhile.
    sock = Client(daemon.urls[1], upgrade=False)
    sock.close()
    os.kill(daemon.processes()[0], signal.SIGTERM)
    wait_for(lambda: not daemon.processes(), LIMIT, "it ends")


def respawn_no():
    daemon = Daemon("Respawn no")
    wait_for(lambda: len(daemon.processes()) == 1, LIMIT, "no monitor")
    daemon.kill()
    wait_for(lambda: not daemon.processes(), LIMIT, "it is gone")


main(ends_in_order, respawn_no, pauses, comes_back)
