"""941: resumes of a session whose worker is stopped."""
import contextlib
import importlib
import os
import select
import signal
import socket
import time

from client import (Client, RpcError, Server, check, connect, freeze, in_time,
                    main, resume_in, wait_for, worker_of, LIMIT, SCALE)

lib = importlib.import_module("7common")


def is_detached(server, session):
    return any(row["id"] == session and row["state"] == "detached"
               for row in lib.ask(server, "sessions"))


def code_of(client, session):
    """What an attempt to resume gets: an error's code, or 0."""
    try:
        client.initialize(session)
    except RpcError as e:
        return e.code
    return 0


def stopped():
    server = Server()
    first = connect(server.url)
    session, owner = first.session, worker_of(server, first)
    first.start("p", "sh", "-c", "sleep 1000")
    first.reset()
    wait_for(lambda: is_detached(server, session), LIMIT, "detached")
    freeze(owner)
    with contextlib.ExitStack() as stack:
        stack.callback(os.kill, owner, signal.SIGCONT)
        tried = [Client(server.url) for _ in range(2)]
        for client in tried:
            began = time.monotonic()
            check(code_of(client, session) == -32010, "not asked to retry")
            in_time(time.monotonic() - began < 4 * SCALE, "an answer")
        # The client is still the greeter's, for something else as well.
        tried[0].initialize()
        tried[0].run("here", "true")
    # What was offered to it meanwhile is not taken any more.
    again = resume_in(server.url, session, LIMIT)
    read = again.call("process/read", {"processId": "p", "maxBytes": 0})
    check(not read["exited"], "its process is gone")
    check(tried[0].run("there", "echo", "x") == (b"x\n", 0), "another session")
    check(code_of(tried[1], session) == -32010, "two have it")
    again.close()
    server.stop()


def peeked(client):
    """What has come for a client that has not been looked at yet."""
    if not select.select([client.sock], [], [], 0)[0]:
        return b""
    return client.sock.recv(4096, socket.MSG_PEEK)


def given_up():
    """The client may be the owner's already: a greeter whose time is over
    leaves without a word to it."""
    server = Server("HandshakeTimeout=1", "LogLevel=debug")
    first = connect(server.url)
    session, owner = first.session, worker_of(server, first)
    first.start("p", "sh", "-c", "sleep 1000")
    first.reset()
    wait_for(lambda: is_detached(server, session), LIMIT, "detached")
    freeze(owner)
    with contextlib.ExitStack() as stack:
        stack.callback(os.kill, owner, signal.SIGCONT)
        client = Client(server.url)
        client.request("initialize", {"clientName": "t/sys",
                                      "resumeSessionId": session})
        wait_for(lambda: peeked(client) or
                 server.has_logged(": handing -> leaving"), LIMIT,
                 "the greeter's end")
        # A text: the master was faster, and the client has its answer.
        in_time(peeked(client)[:1] != b"\x81", "the greeter's end")
        check(peeked(client) == b"", "it says %r" % peeked(client))
    client.close()
    again = resume_in(server.url, session, LIMIT)
    check(not again.call("process/read", {"processId": "p", "maxBytes": 0})
          ["exited"], "its process is gone")
    again.close()
    server.stop()


main(stopped, given_up)
