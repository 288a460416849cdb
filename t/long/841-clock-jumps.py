"""841: the wall clock jumps again and again, by seconds or years, there and back:
output goes on, and what has a time limit ends at that limit and not before.

JUMPS=N is how many; SEED=N repeats a run.  The clock is the server's alone: its
programs find it in a library of the test's, which a /etc/ld.so.preload in a mount
namespace names.  As root, with a compiler."""
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "sys"))
import lines
from client import (TMP, LIMIT, RpcError, Server, a_word, check, connect,
                    main, probe, resume_in, say, skip, wait_for, with_word)

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 30)))
JUMPS = int(os.environ.get("JUMPS", 1000))
RNG = random.Random(SEED)
DAY = 86400
SHORT = 2                   # seconds
FAR = 1, 60, 3600, DAY, 365 * DAY, 30 * 365 * DAY       # seconds
LIBRARY, OFFSET = TMP + "/clock.so", TMP + "/offset"
SOURCE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const long long none, *offset = &none;

__attribute__((constructor)) static void
begin(void)
{
	void	*p = MAP_FAILED;
	int	 fd = open("%s", O_RDONLY | O_CLOEXEC);

	if (fd != -1) {
		p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (p != MAP_FAILED)
		offset = p;
}

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	int	 r = (int)syscall(SYS_clock_gettime, id, ts);

	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += *offset;
	return r;
}

int
gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec	 ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *out)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (out != NULL)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
"""
ENTER = """
mount -t tmpfs none "$0" && mkdir "$0/upper" "$0/work" &&
mount -t overlay -o "lowerdir=/etc,upperdir=$0/upper,workdir=$0/work" none /etc &&
printf '%s\\n' "$1" >/etc/ld.so.preload && shift && exec "$@"
"""


class Clock:
    """That of a server."""

    def __init__(self):
        with open(OFFSET, "wb") as f:
            f.write(bytes(mmap.PAGESIZE))
        os.chmod(OFFSET, 0o644)
        with open(OFFSET, "r+b") as f:
            self.page = mmap.mmap(f.fileno(), mmap.PAGESIZE)
        with open(TMP + "/clock.c", "w", encoding="ascii") as f:
            f.write(SOURCE % OFFSET)
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", LIBRARY,
                        TMP + "/clock.c"], check=True)
        os.chmod(LIBRARY, 0o755)
        os.makedirs(TMP + "/etc", exist_ok=True)
        self.prefix = ["unshare", "-m", "sh", "-c", ENTER, TMP + "/etc",
                       LIBRARY]

    def set(self, seconds):
        struct.pack_into("q", self.page, 0, seconds)

    def jump(self):
        self.set(RNG.choice(FAR) * RNG.choice([-1, 1]))


def begin(*options):
    clock = Clock()
    server = Server(*options, prefix=clock.prefix)
    # It is the clock that its commands and its log have.
    clock.set(-20 * 365 * DAY)
    with connect(server.url) as c:
        year = int(c.run("p", "date", "+%Y")[0])
    check(year < time.gmtime().tm_year - 18, "the year is %d" % year)
    return clock, server


def streams():
    """Every line once; who waits for output waits as long as it said."""
    clock, server = begin()
    c = connect(server.url)
    output = lines.Output()
    output.begin(c)
    c.start("quiet", "sleep", "%d" % DAY)
    worst, resumed = 0.0, 0
    for n in range(JUMPS):
        clock.jump()
        had = output.bytes
        while output.bytes == had:
            c.until(lambda: c.notes, LIMIT, "output after jump %d" % n)
            while c.notes:
                output.note(c.notes.popleft())
        if n % 20 == 0:
            began = time.monotonic()
            c.call("process/read", {"processId": "quiet", "afterSeq": 0,
                                    "waitMs": 100})
            took = time.monotonic() - began
            # A loop counts from when it woke, a little before it was asked.
            check(took >= 0.09, "it waited for %.3f s" % took)
            worst = max(worst, took)
        if n % 50 == 49:
            session = c.session
            c.reset()
            clock.jump()
            c = resume_in(server.url, session, LIMIT)
            output.read(c, LIMIT)
            resumed += 1
    output.end(c, LIMIT)
    c.call("session/close")
    say("  %d jumps, %d lines, %d times resumed, the longest wait %.2f s of "
        "0.10" % (JUMPS, output.lines, resumed, worst))
    lines.well(server)
    probe(server.url)
    server.stop()


def detached(clock, server, far):
    """A session that nobody is attached to; its command's word."""
    word = a_word("detached")
    with connect(server.url) as c:
        session = c.session
        c.start("p", "sleep", word)
        c.reset()
    wait_for(lambda: server.has_logged("detached"), LIMIT, "detached")
    clock.set(far)
    return session, word


def kept(far):
    """A detached session stays."""
    clock, server = begin("DetachedTtl=60s")
    session, word = detached(clock, server, far)
    probe(server.url)           # the master has seen the time
    with resume_in(server.url, session, LIMIT) as c:
        check(with_word(word), "its command is gone")
        c.call("session/close")
    server.stop()


def over(far):
    """A detached session ends."""
    clock, server = begin("DetachedTtl=1s")
    session, word = detached(clock, server, far)
    wait_for(lambda: not with_word(word), LIMIT, "its end")
    try:
        connect(server.url, session).close()
        raise AssertionError("it can be resumed")
    except RpcError:
        pass
    server.stop()


def ended(far, setting):
    """One that somebody is attached to has the time that a setting gives it."""
    clock, server = begin("%s=%ds" % (setting, SHORT))
    clock.set(0)
    began = time.monotonic()
    with connect(server.url) as c:
        clock.set(far)
        check(c.wait_closed(LIMIT), "%s is not heeded" % setting)
    took = time.monotonic() - began
    check(took >= SHORT, "%s: over in %.2f s" % (setting, took))
    server.stop()


def limits():
    for far in (-30 * 365 * DAY, -DAY, DAY, 30 * 365 * DAY):
        kept(far)
        over(far)
        ended(far, "IdleTimeout")
        ended(far, "MaxSessionTime")


if os.geteuid() != 0 or shutil.which("cc") is None:
    skip("wants root and a compiler")
say("SEED=%d" % SEED)
main(streams, limits)
