"""
usage: userns.py USERS GROUPS COMMAND...

Run a command in a user namespace of its own, whose maps are what newuidmap(1)
would write: lines of "first inside, first outside, how many", with ";" between
them.  As root.
"""
import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000
users, groups, *argv = sys.argv[1:]
pid = os.getpid()
ready, begin = os.pipe()
mapped, done = os.pipe()
if os.fork() == 0:
    # Only from outside may more than one's own number be put in.
    os.close(begin)
    os.read(ready, 1)
    for name, lines in (("uid_map", users), ("gid_map", groups)):
        with open("/proc/%d/%s" % (pid, name), "w", encoding="ascii") as f:
            f.write(lines.replace(";", "\n") + "\n")
    os.write(done, b"1")
    os._exit(0)
os.close(done)
if ctypes.CDLL(None).unshare(CLONE_NEWUSER) != 0:
    sys.exit("userns.py: there are no user namespaces")
os.write(begin, b"1")
if os.read(mapped, 1) != b"1":
    sys.exit("userns.py: no maps")
os.wait()
os.execvp(argv[0], argv)
