"""937: what the answer to a refused client says of the reason."""
import importlib
import os

import tokens
from client import (Server, TMP, check, dial, main, skip, upgrade_request)

lib = importlib.import_module("2common")
NOBODY, OTHER = 65534, 23457
OWN = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
       "--clear-groups")
SECRET = b"k" * 32


def answer(url, uid, token=None, head=False):
    """Status and body of the answer to a user's request."""
    more = "" if token is None else "Authorization: Bearer %s\r\n" % token
    request = upgrade_request(more=more)
    if head:
        request = b"HEAD" + request[3:]
    with lib.as_uid(uid), dial(url) as sock:
        sock.sendall(request)
        data = b""
        while True:
            piece = sock.recv(4096)
            data += piece
            if not piece or data.startswith(b"HTTP/1.1 101"):
                break
    top, _, body = data.partition(b"\r\n\r\n")
    return int(top.split()[1]), body.decode()


def says(url, uid, status, body, token=None, head=False):
    got = answer(url, uid, token, head)
    check(got == (status, body), "%s by %s: %s" % (uid, url, got))


def of_users():
    """A server of an ordinary user; by TCP and a socket open to all."""
    server = Server(prefix=OWN, listen=("ws://127.0.0.1:0",
                                        "unix:%s/sock" % TMP))
    os.chmod(TMP + "/sock", 0o777)
    for url in server.urls:
        says(url, OTHER, 403, "Forbidden: not a user of this server\n")
        says(url, OTHER, 403, "", head=True)
    server.stop()
    server = Server("PermitRootSession=no")
    says(server.url, 0, 403, "Forbidden: sessions as root are not permitted (PermitRootSession)\n")
    server.stop()


def of_tokens():
    key = tokens.secret_file("key", SECRET)
    os.chown(key, NOBODY, NOBODY)
    token = tokens.new()
    server = Server(tokens.option("ci", token), "BearerSecretFile=" + key,
                    "BearerClockSkew=0", "TokenUser=nobody", prefix=OWN)
    url = server.url
    says(url, OTHER, 401, "Unauthorized: not a user of this server, and no "
         "token\n")
    # What is not signed by the secret is wrong, and nothing else.
    for wrong in (token[:-1] + "g", "x", tokens.jwt(b"l" * 32, {
            "exp": 1, "sub": "ann"})):
        says(url, OTHER, 401, "Unauthorized: wrong token\n", wrong)
    says(url, OTHER, 401, "Unauthorized: expired\n",
         tokens.jwt(SECRET, {"exp": 1, "sub": "ann"}))
    says(url, OTHER, 401, "Unauthorized: no subject\n",
         tokens.jwt(SECRET, {"exp": tokens.in_seconds(600)}))
    says(url, OTHER, 101, "", token)
    server.stop()
    server = Server("RequireToken=always", tokens.option("ci", token))
    says(server.url, OTHER, 401, "Unauthorized: no token\n")
    server.stop()


if __name__ == "__main__":
    if os.geteuid() != 0:
        skip("wants root")
    os.chmod(TMP, 0o777)
    main(of_users, of_tokens)
