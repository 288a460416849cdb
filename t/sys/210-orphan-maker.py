"""210: orphans without end, made by a command: all else goes on beside it."""
import importlib
import os
import shutil
import time

from client import (BUILD, SCALE, TMP, Server, check, connect, in_time, main,
                    say, skip)

as_uid = importlib.import_module("2common").as_uid
# Of that many, ended ones included: each of them takes its share of the
# processors from the worker, too.
AT_MOST = 500
UID = 54798             # nobody's, and of no other test: all processes count


def forkers():
    if os.geteuid() != 0:
        skip("an ordinary user's other processes would count")
    program = TMP + "/forker"
    shutil.copy(BUILD + "/t/210-forker", program)
    os.chmod(program, 0o755)
    server = Server("RlimitNPROC=%d" % AT_MOST, "TerminateGrace=0",
                    listen=("unix:%s/socket" % TMP,))
    with as_uid(UID):
        both = connect(server.url), connect(server.url)
    with both[0] as c, both[1] as other:
        c.start("p", program, "2", pipeStdin=True)
        c.note("process/output", "p")
        longest = 0
        for _ in range(200):
            began = time.monotonic()
            c.call("environment/status")
            longest = max(longest, time.monotonic() - began)
            other.call("environment/status")
        say("  at most %.0f ms" % (longest * 1000))
        state = c.call("process/read", {"processId": "p"})
        check(not state["exited"], "it ended: %s" % state)
        c.call("process/terminate", {"processId": "p"})
        c.note("process/closed", "p")
    server.stop()
    # Some 100 ms; several seconds where they are reaped without a bound, or
    # answers wait until none is left.
    in_time(longest < 1 * SCALE, "answered after %.1f s" % longest)


main(forkers)
