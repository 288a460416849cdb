"""environmentConfig/read with and without files of configuration."""
import os
import socket

from client import Client, RpcError, Server, check, main, skip, TMP

NAME = "environmentConfigRead"
ASK = {"cwd": "file:///", "configPaths": [["mcp_servers"]],
       "requirementsPaths": [["mcp_servers"], ["a", "b"]]}
NONE = {"layers": [], "cloudInsertionIndex": 0}


def session(server):
    """A client, and whether the capability is announced."""
    c = Client(server.url)
    info = c.call("initialize", {"clientName": "t"})["environmentInfo"]
    c.send({"method": "initialized"})
    return c, info["capabilities"].get(NAME, False)


def is_none(server, home, codex):
    c, announced = session(server)
    with c:
        check(announced is True, "not announced")
        result = c.call("environmentConfig/read", ASK)
        check(result == {
            "userHomeDir": "file://" + home, "codexHomeDir": "file://" + codex,
            "hostname": socket.gethostname(),
            "config": NONE, "requirements": NONE}, "answer: %s" % result)
        # With keys for one of them only, and for a folder that is not there.
        check(c.call("environmentConfig/read", {
            "cwd": "file:///no/such", "configPaths": [],
            "requirementsPaths": [["x"]]}) == result, "another answer")
    return result


def is_refused(server, what):
    c, announced = session(server)
    with c:
        check(announced is False, "announced: " + what)
        try:
            c.call("environmentConfig/read", ASK)
        except RpcError as e:
            check(e.code == -32603, "%s: %s" % (what, e))
        else:
            check(False, "answered: " + what)


def by_home():
    home = TMP + "/home"
    os.mkdir(home)
    server = Server(env={"HOME": home, "CODEX_HOME": ""})
    is_none(server, home, home + "/.codex")
    os.mkdir(home + "/.codex")
    is_none(server, home, home + "/.codex")
    c, announced = session(server)
    with open(home + "/.codex/config.toml", "w", encoding="ascii") as f:
        f.write('[mcp_servers.x]\ncommand = "x"\n')
    is_refused(server, "a file")
    with c:                     # it was announced, and then there was one
        check(announced, "not announced")
        try:
            c.call("environmentConfig/read", ASK)
            check(False, "answered")
        except RpcError as e:
            check(e.code == -32603, "%s" % e)
    os.unlink(home + "/.codex/config.toml")
    os.mkdir(home + "/.codex/config.toml")
    is_refused(server, "a folder")
    os.rmdir(home + "/.codex/config.toml")
    is_none(server, home, home + "/.codex")
    os.rmdir(home + "/.codex")
    with open(home + "/.codex", "w", encoding="ascii"):
        pass
    is_refused(server, "a file in the folder's place")
    server.stop()


def by_codex_home():
    home, codex = TMP + "/home2", TMP + "/codex"
    os.makedirs(home + "/.codex")
    os.mkdir(codex)
    with open(home + "/.codex/config.toml", "w", encoding="ascii"):
        pass
    env = {"HOME": home, "CODEX_HOME": codex}
    server = Server(env=env)
    is_none(server, home, codex)
    with open(codex + "/config.toml", "w", encoding="ascii"):
        pass
    is_refused(server, "an empty file")
    server.stop()
    for env in ({"HOME": home, "CODEX_HOME": "relative"},
                {"HOME": "relative", "CODEX_HOME": ""}):
        server = Server(env=env)
        is_refused(server, "%s" % env)
        server.stop()


if os.path.exists("/etc/codex"):
    skip("there is a configuration on this machine")
main(by_home, by_codex_home)
