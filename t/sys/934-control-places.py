"""934: connections to the control socket: so many for each user, root's always
free, and none for who says nothing."""
import grp
import os
import select
import socket
import subprocess
import time

from client import (BUILD, LIMIT, Server, check, in_time, main, skip,
                    wait_for)

USER = 65534
PLACES = 8              # USER_MAX of master/ctl/ctl.c
SILENCE = 9             # seconds; IDLE_MS there is more


class Crowd:
    """Connections of that user, in a process of his."""
    def __init__(self, path, count):
        asks, self.asks = os.pipe()
        self.answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.asks)
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            self.serve(path, count, asks, answers)
        os.close(asks)
        os.close(answers)
        self.left()             # all of them are connected now

    @staticmethod
    def serve(path, count, asks, answers):
        crowd = []
        try:
            for _ in range(count):
                crowd.append(socket.socket(socket.AF_UNIX,
                                           socket.SOCK_SEQPACKET))
                crowd[-1].connect(path)
            while os.read(asks, 1):
                ended = select.select(crowd, (), (), 0)[0]
                crowd = [s for s in crowd if s not in ended]
                os.write(answers, bytes([len(crowd)]))
        finally:
            os._exit(0)

    def left(self):
        os.write(self.asks, b"?")
        answer = os.read(self.answers, 1)
        check(answer != b"", "it cannot connect")
        return answer[0]

    def end(self):
        os.close(self.asks)
        os.waitpid(self.pid, 0)
        os.close(self.answers)


def places():
    if os.geteuid() != 0:
        skip("not root")
    try:
        group = grp.getgrgid(USER).gr_name
    except KeyError:
        skip("no group %d" % USER)
    server = Server("ControlGroup=" + group)
    os.chmod(server.run, 0o755)
    began = time.monotonic()
    crowd = Crowd(server.run + "/control.sock", 60)
    wait_for(lambda: crowd.left() <= PLACES, LIMIT, "the others are sent away")
    # At once, that is, and not one after another for their silence.
    in_time(time.monotonic() - began < SILENCE, "the others are sent away")
    check(crowd.left() == PLACES, "fewer than it may have")
    for _ in range(3):
        server.status()
    wait_for(lambda: crowd.left() == 0, LIMIT + 10, "it says nothing")
    crowd.end()
    server.stop()


def mine():
    """Of the daemon's own user there is room for many, and no more."""
    server = Server()
    crowd = []
    for _ in range(64):
        crowd.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        crowd[-1].connect(server.run + "/control.sock")
    last = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    last.settimeout(LIMIT)
    last.connect(server.run + "/control.sock")
    check(last.recv(1) == b"", "one more")
    for s in crowd:
        s.close()
    wait_for(lambda: subprocess.run(
        [BUILD + "/execsrvctl", "-R", server.run, "status"], check=False,
        stdout=subprocess.DEVNULL).returncode == 0, LIMIT, "room again")
    last.close()
    server.stop()


main(mine, places)
