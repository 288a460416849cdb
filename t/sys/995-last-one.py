"""995: limits that are numbers hold to the number."""
from client import RpcError, Server, check, connect, main

REQUESTS = 16384


def requests():
    """That many wait; the next one is refused, and those go on waiting."""
    server = Server()
    c = connect(server.url)
    c.start("p", "cat", pipeStdin=True)
    wait = {"processId": "p", "waitMs": 600000}
    first = c.last_id + 1
    for _ in range(REQUESTS):
        c.request("process/read", wait)
    try:
        c.call("process/read", wait)
        check(False, "one more waits")
    except RpcError as e:
        check("too many requests are waiting" in e.text, "%s" % e)
    check(not c.answers, "answered: %.200s" % c.answers)
    c.call("process/write", {"processId": "p", "chunk": "eAo=",
                             "writeId": "w"})
    for number in range(first, first + REQUESTS):
        check(len(c.answer(number)["chunks"]) == 1, "number %d" % number)
    server.stop()


def processes():
    """The same of processes; one that ended counts no more."""
    server = Server("MaxProcesses=2")
    c = connect(server.url)
    for name in ("a", "b"):
        c.start(name, "sleep", "600")
    try:
        c.start("c", "true")
        check(False, "a third one runs")
    except RpcError as e:
        check("too many processes" in e.text, "%s" % e)
    c.call("process/terminate", {"processId": "a"})
    c.note("process/closed", "a")
    check(c.run("c", "echo", "x") == (b"x\n", 0), "it does not run")
    server.stop()


main(requests, processes)
