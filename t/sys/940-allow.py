"""940: AllowUsers, DenyUsers, AllowGroups, DenyGroups."""
import grp
import importlib
import json
import os
import pwd
import subprocess

import tokens
from client import (BUILD, LIMIT, TMP, Client, Server, check, main, resume_in,
                    skip, wait_for)

ctl = importlib.import_module("7common").ctl
as_uid = importlib.import_module("2common").as_uid

says = importlib.import_module("937-reasons").says

DAEMON, BIN, STRANGER = 1, 2, 54321
DENIED = "Forbidden: DenyUsers names this user\n"


def refused(server):
    return json.loads(ctl(server, "--json", "status"))["not_allowed"]


def conf_file(text):
    path = "%s/conf%d" % (TMP, Server.count)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    return path


def each():
    """One server for each keyword: who comes in, who is told what."""
    daemon, other = pwd.getpwuid(DAEMON).pw_name, pwd.getpwuid(BIN).pw_name
    group = grp.getgrgid(pwd.getpwuid(BIN).pw_gid).gr_name
    cases = (
        ("DenyUsers " + other, {BIN: DENIED, DAEMON: None}),
        ("DenyUsers no-such-user " + other[:-1] + "?", {
            BIN: DENIED, DAEMON: None, STRANGER: "Forbidden: DenyUsers is "
            "set, and the name of this user is not known\n"}),
        ("AllowUsers root, %s" % daemon, dict.fromkeys(
            (BIN, STRANGER),
            "Forbidden: AllowUsers does not name this user\n") |
         {DAEMON: None, 0: None}),
        ("DenyGroups " + group, {
            BIN: "Forbidden: DenyGroups names a group of this user\n",
            DAEMON: None, STRANGER: "Forbidden: DenyGroups is set, and the "
            "groups of this user are not known\n"}),
        ("AllowGroups " + group, dict.fromkeys(
            (DAEMON, STRANGER),
            "Forbidden: AllowGroups names no group of this user\n") |
         {BIN: None}),
        ("Match Address unix\nDenyUsers *", {BIN: DENIED}),
    )
    for text, who in cases:
        server = Server(args=("-f", conf_file(text)), listen=(
            "unix:%s/sock%d" % (TMP, Server.count), "ws://127.0.0.1:0"))
        os.chmod(server.urls[0][len("unix:"):], 0o777)
        for url in server.urls[:1] if "Match" in text else server.urls:
            for uid, body in who.items():
                says(url, uid, 101 if body is None else 403, body or "")
        if "Match" in text:
            says(server.urls[1], BIN, 101, "")
        some = sum(body is not None for body in who.values())
        check(refused(server) == some * (1 if "Match" in text else 2), text)
        server.stop()


def of_tokens():
    """A token is of a user, too: it may be one who is kept out, or not."""
    other = pwd.getpwuid(BIN).pw_name
    good, bad = tokens.new(), tokens.new()
    log = TMP + "/audit"
    server = Server("DenyUsers=" + other, "AuditLog=" + log,
                    tokens.option("good", good, user="daemon"),
                    tokens.option("bad", bad, user=other))
    says(server.url, BIN, 401,
         "Unauthorized: DenyUsers names this user, and no token\n")
    says(server.url, BIN, 101, "", good)
    says(server.url, DAEMON, 403, DENIED, bad)
    says(server.url, BIN, 403, DENIED, bad)
    check(refused(server) == 2, "counted")
    check(server.has_logged("refused: DenyUsers names this user"), "the log")

    def is_told():
        with open(log, encoding="ascii") as f:
            return any(d["event"] == "session-refused" and
                       d["why"] == "DenyUsers names this user"
                       for d in map(json.loads, f))
    wait_for(is_told, LIMIT, "an audit event")
    server.stop()


def at_reload():
    """Who is kept out from now on cannot resume, either."""
    path = conf_file("DetachedTtl 10m\n")
    server = Server(args=("-f", path))
    with as_uid(BIN):
        client = Client(server.url)
    client.initialize()
    session = client.session
    with open(path, "a", encoding="ascii") as f:
        f.write("DenyUsers %s\n" % pwd.getpwuid(BIN).pw_name)
    ctl(server, "reload")
    client.run("true", "true")                  # it goes on
    client.reset()
    says(server.url, BIN, 403, DENIED)
    with open(path, "w", encoding="ascii") as f:
        f.write("DetachedTtl 10m\n")
    ctl(server, "reload")
    with as_uid(BIN):
        resume_in(server.url, session, LIMIT).close()
    server.stop()


def warnings():
    path = conf_file("AllowUsers root nobody-at-all\nMatch Group no-group,*\n"
                     "DenyUsers nope-* , nope2\n")
    done = subprocess.run([BUILD + "/execsrvd", "-t", "-f", path], text=True,
                          check=False, stderr=subprocess.PIPE)
    lines = sorted(line[len("execsrvd: warning: " + path):]
                   for line in done.stderr.splitlines()
                   if "nothing to listen on" not in line)
    check(done.returncode == 0 and lines == [
        ':1: AllowUsers: there is no user "nobody-at-all"',
        ':2: DenyUsers: there is no user "nope2"',
        ':2: Match Group: there is no group "no-group"'], done.stderr)


if os.geteuid() != 0:
    skip("wants root")
os.chmod(TMP, 0o777)
main(each, of_tokens, at_reload, warnings)
