"""What the tests about tokens share."""
import base64
import contextlib
import hashlib
import hmac
import json
import os
import pwd
import secrets
import socket
import time

from client import TMP, dial, upgrade_request

ME = pwd.getpwuid(os.geteuid()).pw_name
IS_ROOT = os.geteuid() == 0
# Whom sessions run as: under a root server somebody else.
USER = "nobody" if IS_ROOT else ME
UID = pwd.getpwnam(USER).pw_uid


def new():
    """A token that occurs nowhere else."""
    return secrets.token_hex(24)


def line(name, token, user=USER):
    return "%s sha256:%s user=%s" % (
        name, hashlib.sha256(token.encode()).hexdigest(), user)


def option(name, token, user=USER):
    return "Token=" + line(name, token, user)


def secret_file(name, content, mode=0o600):
    path = os.path.join(TMP, name)
    with open(path, "wb") as f:
        os.fchmod(f.fileno(), mode)
        f.write(content)
    os.chmod(path, mode)
    return path


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(key, claims, header=None, digest=hashlib.sha256):
    """A signed token; claims and header are objects or raw bytes."""
    if header is None:
        header = {"alg": "HS256", "typ": "JWT"}
    parts = [p if isinstance(p, bytes) else json.dumps(p).encode()
             for p in (header, claims)]
    body = ".".join(b64(p) for p in parts)
    return body + "." + b64(hmac.new(key, body.encode(), digest).digest())


def in_seconds(n):
    return int(time.time()) + n


def read_answer(sock):
    """The head of an answer, or what came of it."""
    out = b""
    while b"\r\n\r\n" not in out:
        try:
            piece = sock.recv(4096)
        except (ConnectionError, socket.timeout):
            break
        if not piece:
            break
        out += piece
    return out.decode("latin-1")


def ask(url, *lines, host="localhost", source=None, path=None):
    """The status of an upgrade with these header lines, and the head.

    0: the connection was closed without an answer.
    """
    request = upgrade_request(host, "".join(l + "\r\n" for l in lines))
    if path is not None:
        request = request.replace(b"GET / ", b"GET %s " % path.encode())
    with dial(url, source) as s:
        with contextlib.suppress(ConnectionError):      # refused before its end
            s.sendall(request)
        head = read_answer(s)
    return int(head.split(" ")[1]) if head else 0, head


def status(url, token, **more):
    """The status for a bearer token."""
    return ask(url, "Authorization: Bearer " + token, **more)[0]


def secret(text):
    """A file with a token, which nobody else may read."""
    path = "%s/token-%s" % (TMP, hashlib.sha256(text.encode()).hexdigest()[:8])
    with open(path, "w", encoding="ascii") as f:
        f.write(text + "\n")
    os.chmod(path, 0o600)
    return path
