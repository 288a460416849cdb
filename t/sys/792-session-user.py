"""Who is mapped to another user keeps his sessions to himself.

792-session-user.py URL: uids 1 and 2 have their sessions as the same user.
"""
import os
import sys

import client as lib
from client import check


def as_uid(uid, work):
    """What work() returns, done by a process of that user: an integer."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def resume(url, session):
    """0 if it is taken up, 1 if it is as one that never was."""
    try:
        lib.resume_in(url, session, lib.LIMIT).close()
    except lib.RpcError:
        return 2
    except AssertionError as e:
        return 1 if "unknown session id" in str(e) else 3
    return 0


def main(url):
    ends = os.pipe()

    def open_one():
        with lib.connect(url) as client:
            client.start("p", "sleep", "1000")
            os.write(ends[1], client.session.encode())
        return 0

    check(as_uid(1, open_one) == 0, "no session of uid 1")
    session = os.read(ends[0], 100).decode()
    nobody = as_uid(2, lambda: resume(url, "0" * 36))
    check(nobody == 1, "an unknown session: %d" % nobody)
    other = as_uid(2, lambda: resume(url, session))
    check(other == 1, "uid 2 and a session of uid 1: %d" % other)
    owner = as_uid(1, lambda: resume(url, session))
    check(owner == 0, "uid 1 and his own session: %d" % owner)


main(sys.argv[1])
