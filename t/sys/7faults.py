"""What 7xx tests do to the line between client and server, and a command whose
output shows whether that was noticed. A fault says of each connection, by its
number, what to do with a piece from the server: a function that returns what to
pass on, and whether to go on.

CUTS=1000 for a long run; SEED=N repeats a run.
"""
import hashlib
import os
import random

from client import check, say

CUTS = int(os.environ.get("CUTS", "10"))
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
FOREVER = 1 << 62
# Options of execsrvctl for half_open, and in what time that is found at most.
SOON, SOON_LIMIT = ["--silence", "3"], 30
rng = random.Random(SEED)
# The reference keeps the newest 1 MiB only: what comes while nobody listens
# must fit it.  What comes at once is one event, which a line that is always cut
# before its end never carries.
AT_ONCE = 1200
LINES = 5 * AT_ONCE * CUTS
COMMAND = ("i=0; while [ $i -lt %d ]; do seq $((i + 1)) $((i + %d)); "
           "i=$((i + %d)); sleep 0.05; done; exit 7" %
           (LINES, AT_ONCE, AT_ONCE))


def ck_output(out, err):
    """It is all there, nothing twice, and no word was said."""
    want = b"".join(b"%d\n" % i for i in range(1, LINES + 1))
    check(err == b"", err)
    check(hashlib.sha256(out).digest() == hashlib.sha256(want).digest(),
          "%d bytes of %d" % (len(out), len(want)))


def cut(_, number):
    """At any byte of what the server says, in the handshake too; but not before
    it has answered the start, which may come behind output: a start of which
    nobody knows is an error."""
    if number == 1:
        say("  SEED=%d" % SEED)
    left = [rng.randrange(100, 100000) if 1 < number <= CUTS
            else 20000 if number == 1 else FOREVER]
    said = [b""]

    def change(data):
        if number == 1 and said[0].count(b'"result"') < 2:
            said[0] += data
            return data, True
        data = data[:left[0]]
        left[0] -= len(data)
        return data, left[0] > 0
    return change


def half_open(_, number):
    """From some byte on nothing more, and no end either."""
    left = [30000 if number == 1 else FOREVER]

    def change(data):
        left[0] -= len(data)
        return data if left[0] > 0 else b"", True
    return change


def garbage(_, number):
    """Bytes that are no frames, in the middle."""
    left = [20000 if number <= 3 else FOREVER]

    def change(data):
        left[0] -= len(data)
        return data if left[0] > 0 else rng.randbytes(len(data)), True
    return change
