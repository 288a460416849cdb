"""626: what tries the sandbox for the template leaves no zombie."""
from client import LIMIT, Server, children, main, wait_for, zombies


def probe():
    server = Server()
    wait_for(lambda: "not known" not in server.status()["sandbox"], LIMIT,
             "the probe's answer")
    wait_for(lambda: not any(zombies(p) for p in children(server.pid)),
             LIMIT / 6, "no zombie")
    server.stop()


main(probe)
