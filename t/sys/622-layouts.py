"""622: the template is executed anew after TemplateMaxForks workers, and nobody
waits for that; without its program the old one goes on."""
import importlib
import os
import shutil

from client import (BUILD, TMP, Server, check, connect, main, say, skip,
                    wait_for, LIMIT)

client = importlib.import_module("client")


def layout(server):
    """Where the program of a new session's worker is."""
    with connect(server.url) as c:
        out, status = c.run("p", "sh", "-c", "echo $PPID")
        check(status == 0, "a command")
        with open("/proc/%d/maps" % int(out), encoding="ascii") as f:
            where = next(n for n in f if "/" in n).split("-")[0]
        c.call("session/close")
    return where


def anew():
    """Each has another layout, and sessions that there are go on."""
    server = Server("TemplateMaxForks=5", "LogLevel=debug")
    with connect(server.url) as old:
        seen, n = set(), 0
        while len(seen) < 4:
            seen.add(layout(server))
            n += 1
            check(n < 20000, "layouts: %s" % seen)
        say("  %d sessions, %d layouts" % (n, len(seen)))
        check(old.run("p", "echo", "x") == (b"x\n", 0), "an old session")
        check("template died" not in server.log(), server.log()[-2000:])
        old.call("session/close")
    # Those that were replaced do not stay: template and spare workers.
    client.settled(server)
    server.stop()


def never():
    """0: one for all."""
    server = Server("TemplateMaxForks=0")
    check(len({layout(server) for _ in range(60)}) == 1, "layouts")
    server.stop()


def no_program():
    """What cannot follow does not end what works."""
    folder = TMP + "/bin"
    os.mkdir(folder)
    for name in "execsrvd", "execsrv-worker", "execsrv-http":
        shutil.copy2(BUILD + "/" + name, folder)
    client.BUILD = folder
    server = Server("TemplateMaxForks=5")
    client.BUILD = BUILD
    os.rename(folder + "/execsrv-worker", folder + "/away")
    before = layout(server)

    def tried():
        layout(server)
        return server.has_logged("the new template died")
    wait_for(tried, LIMIT, "another one is tried")
    wait_for(lambda: server.has_logged("cannot execute"), LIMIT, "why")
    check(layout(server) == before, "the old one")
    os.rename(folder + "/away", folder + "/execsrv-worker")
    wait_for(lambda: layout(server) != before, LIMIT,
             "the next one")
    server.stop()


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("needs root")
    main(anew, never, no_program)
