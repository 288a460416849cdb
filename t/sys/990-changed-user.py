"""990: a token's user= changes at a reload, while it has sessions."""
import os
import pwd

import tokens
from client import (LIMIT, TMP, Client, RpcError, Server, check,
                    connect, main, skip, told, wait_for)

UNKNOWN = -32600
TOKEN = tokens.new()
FILE = TMP + "/tokens"
if not tokens.IS_ROOT:
    skip("only root has sessions of other users")
OTHER = next((p.pw_name for p in pwd.getpwall()
              if p.pw_uid not in (0, tokens.UID)), None)
if OTHER is None:
    skip("no third user")


def belongs_to(user):
    with open(FILE, "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write(tokens.line("ci", TOKEN, user=user) + "\n")


def reload(server):
    told("-R", server.run, "reload")


def cannot(url, session):
    """It looks as if there were no such session."""
    errors = []
    for wanted in (session, "01234567-89ab-4def-8123-456789abcdef"):
        with Client(url, token=TOKEN) as c:
            try:
                c.call("initialize", {"clientName": "t",
                                      "resumeSessionId": wanted})
                check(False, "%s was resumed" % wanted)
            except RpcError as e:
                errors.append((e.code, e.text.replace(wanted, "ID")))
    check(errors[0] == errors[1] and errors[0][0] == UNKNOWN, "%s" % errors)


def one(busy):
    """With a process, in a worker; without one, kept by the master."""
    belongs_to(tokens.USER)
    server = Server("RequireToken=always", "TokenFile=" + FILE)
    c = connect(server.url, token=TOKEN)
    session, uid = c.session, c.run("who", "id", "-u")
    check(int(uid[0]) == tokens.UID, "uid %s" % (uid,))
    if busy:
        c.start("p", "sleep", "600")
    belongs_to(OTHER)
    reload(server)
    if busy:
        cannot(server.url, session)
    c.reset()
    cannot(server.url, session)
    # A new one is the new user's.
    with connect(server.url, token=TOKEN) as new:
        out = new.run("who", "id", "-un")
        check(out[0].strip() == OTHER.encode(), "%s" % (out,))
    belongs_to(tokens.USER)
    reload(server)
    wait_for(lambda: resumes(server.url, session), LIMIT,
             "its own user's token")
    server.stop()


def resumes(url, session):
    try:
        connect(url, resume=session, token=TOKEN).close()
    except RpcError as e:
        check(e.code == -32010, "%s" % e)
        return False
    return True


def with_a_process():
    one(True)


def without():
    one(False)


main(with_a_process, without)
