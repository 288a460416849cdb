"""environmentConfig/read: files of configuration, by whom, and in what order."""
import os
import socket
import subprocess

from client import Client, RpcError, Server, check, main, TMP

NAME = "environmentConfigRead"
ASK = {"cwd": "file:///no/such", "configPaths": [["mcp_servers"]],
       "requirementsPaths": [["mcp_servers"], ["allowed_sandbox_modes"]]}
NONE = {"layers": [], "cloudInsertionIndex": 0}


def session(server):
    c = Client(server.url)
    info = c.call("initialize", {"clientName": "t"})["environmentInfo"]
    c.send({"method": "initialized"})
    check(info["capabilities"].get(NAME) is True, "not announced")
    return c


def read(server, **more):
    with session(server) as c:
        return c.call("environmentConfig/read", {**ASK, **more})


def is_none(server, home, codex):
    result = read(server)
    check(result == {
        "userHomeDir": "file://" + home, "codexHomeDir": "file://" + codex,
        "hostname": socket.gethostname(),
        "config": NONE, "requirements": NONE}, "answer: %s" % result)


def is_refused(server, *words):
    try:
        read(server)
    except RpcError as e:
        check(e.code == -32603, "%s" % e)
        for word in words:
            check(word in e.text, "not in %r: %s" % (e.text, word))
    else:
        check(False, "answered: %s" % (words,))


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def by_home():
    home = TMP + "/home"
    codex, path = home + "/.codex", home + "/.codex/config.toml"
    os.mkdir(home)
    server = Server(env={"HOME": home, "CODEX_HOME": ""})
    is_none(server, home, codex)
    os.mkdir(codex)
    is_none(server, home, codex)
    write(path, "")
    is_none(server, home, codex)
    write(path, "# nothing that was asked for\nmodel = 'm'\n")
    is_none(server, home, codex)
    write(path, "[mcp_servers.x]\ncommand = 'x' # why\n[other]\na = 1\n")
    result = read(server)
    check(result["config"] == {"layers": [{
        "source": "user (%s)" % path, "baseDir": "file://" + codex,
        "toml": "[mcp_servers.x]\ncommand = \"x\"\n"}],
        "cloudInsertionIndex": 0}, "config: %s" % result)
    check(result["requirements"] == NONE, "requirements: %s" % result)
    # With many keys, which do not fit one packet to the agent.
    result = read(server, configPaths=[["k%d" % n] for n in range(3000)] + [
        ["other", "a"], ["mcp_servers", "no", "such"], ["x"] * 500])
    check(result["config"]["layers"][0]["toml"] ==
          "[mcp_servers]\n\n[other]\na = 1\n", "chosen: %s" % result)
    result = read(server, configPaths=[], requirementsPaths=[["mcp_servers"]])
    check(result["config"] == NONE, "not asked for: %s" % result)
    write(path, "a = 1\nb = [1,\n  2 3]\n")
    is_refused(server, path + ":3:5", "expected a comma")
    write(path, "x = '" + "y" * (1 << 20) + "'\n")
    is_refused(server, path, "larger than")
    os.unlink(path)
    os.mkfifo(path)
    is_refused(server, path, "not a file")
    os.unlink(path)
    os.mkdir(path)
    is_refused(server, path, "not a file")
    os.rmdir(path)
    write(home + "/else.toml", "mcp_servers.y.command = 'y'\n")
    os.symlink("../else.toml", path)
    result = read(server)
    check("command = \"y\"" in result["config"]["layers"][0]["toml"],
          "link: %s" % result)
    os.unlink(home + "/else.toml")
    is_none(server, home, codex)
    os.unlink(path)
    if os.geteuid() != 0:
        write(path, "")
        os.chmod(path, 0)
        is_refused(server, path, "Permission denied")
        os.unlink(path)
    os.rmdir(codex)
    write(codex, "")
    is_refused(server, path, "Not a directory")
    server.stop()


def by_codex_home():
    home, codex = TMP + "/home2", TMP + "/codex"
    os.makedirs(home + "/.codex")
    os.mkdir(codex)
    write(home + "/.codex/config.toml", "[mcp_servers.home]\n")
    os.symlink("codex", TMP + "/link")
    for named in codex, TMP + "/link":
        server = Server(env={"HOME": home, "CODEX_HOME": named})
        is_none(server, home, codex)
        write(codex + "/config.toml", "[mcp_servers.codex]\n")
        result = read(server)
        check([(x["baseDir"], x["toml"]) for x in
               result["config"]["layers"]] == [
                   ("file://" + codex, "[mcp_servers.codex]\n")],
              "%s: %s" % (named, result))
        os.unlink(codex + "/config.toml")
        server.stop()
    for env in ({"HOME": home, "CODEX_HOME": "relative"},
                {"HOME": home, "CODEX_HOME": TMP + "/none"},
                {"HOME": "relative", "CODEX_HOME": ""}):
        server = Server(env=env)
        is_refused(server, "HOME")
        server.stop()


def layers():
    """All files that there can be: /etc is one of our own."""
    home, etc = TMP + "/home3", TMP + "/etc"
    os.makedirs(home + "/.codex")
    os.makedirs(etc + "/codex")
    prefix = ("unshare", "-m", "sh", "-c", "mount -t overlay none -o "
              "lowerdir=%s:/etc /etc && exec \"$@\"" % etc, "sh")
    if subprocess.run([*prefix, "true"], check=False,
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("left out: layers of the system: no mounts here", flush=True)
        return
    for name, text in (
            ("config.toml", "mcp_servers.s.command = 's'\n"),
            ("managed_config.toml", "sandbox_mode = 'workspace-write'\n"
             "[mcp_servers.m]\ncommand = 'm'\n"),
            ("requirements.toml", "[mcp_servers.r.identity]\n")):
        write("%s/codex/%s" % (etc, name), text)
    write(home + "/.codex/config.toml", "mcp_servers.u.command = 'u'\n")
    server = Server(env={"HOME": home, "CODEX_HOME": ""}, prefix=prefix)
    result = read(server)
    managed = "/etc/codex/managed_config.toml"
    check([(x["source"], x["baseDir"], x["toml"]) for x in
           result["config"]["layers"]] == [
        ("system (/etc/codex/config.toml)", "file:///etc/codex",
         "[mcp_servers.s]\ncommand = \"s\"\n"),
        ("user (%s/.codex/config.toml)" % home, "file://%s/.codex" % home,
         "[mcp_servers.u]\ncommand = \"u\"\n"),
        ("legacy managed_config.toml (%s)" % managed, "file:///etc/codex",
         "[mcp_servers.m]\ncommand = \"m\"\n")], "config: %s" % result)
    check([(x["source"], x["toml"]) for x in
           result["requirements"]["layers"]] == [
        ("/etc/codex/requirements.toml", "[mcp_servers.r.identity]\n"),
        (managed, "allowed_sandbox_modes = "
         "[\"read-only\", \"workspace-write\"]\n")],
          "requirements: %s" % result)
    check(result["config"]["cloudInsertionIndex"] == 1 and
          result["requirements"]["cloudInsertionIndex"] == 1,
          "places: %s" % result)
    result = read(server, requirementsPaths=[["allowed_sandbox_modes"]])
    check(len(result["requirements"]["layers"]) == 1 and
          result["requirements"]["cloudInsertionIndex"] == 0,
          "one: %s" % result)
    server.stop()
    write(etc + "/codex/managed_config.toml", "sandbox_mode = 'none'\n")
    server = Server(env={"HOME": home, "CODEX_HOME": ""}, prefix=prefix)
    is_refused(server, managed, "sandbox_mode")
    server.stop()


main(by_home, by_codex_home, layers)
