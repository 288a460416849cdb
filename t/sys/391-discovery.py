"""Discovery: skills and plugins on disk, to both methods."""
import json
import os

from client import Client, RpcError, Server, check, main, TMP

HOME, CODEX = TMP + "/home", TMP + "/codex"
FRONT = "---\nname: %s\ndescription: about %s\n---\nbody\n"
CACHE = CODEX + "/plugins/cache/market"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def uri(path):
    return "file://" + path


def session(server):
    c = Client(server.url)
    info = c.call("initialize", {"clientName": "t"})["environmentInfo"]
    c.send({"method": "initialized"})
    for name in "capabilityDiscoveryV2", "capabilityDiscoverySandbox":
        check(info["capabilities"].get(name) is True, "not announced")
    return c


def started():
    os.makedirs(HOME, exist_ok=True)
    return Server(env={"HOME": HOME, "CODEX_HOME": CODEX})


def discover(c, **more):
    result = c.call("capabilities/discoverV2", {"cwd": "file:///no", **more})
    check(sorted(result) == ["plugins", "skills", "warnings"], str(result))
    return result


def names(result):
    return [s["name"] for s in result["skills"]]


def skills():
    server = started()
    c = session(server)
    empty = {"plugins": [], "skills": [], "warnings": []}
    check(discover(c) == empty, "found something")
    root = CODEX + "/skills"
    write(root + "/z/SKILL.md", FRONT % ("zed", "z"))
    write(root + "/z/agents/openai.yaml",
          "policy: {allow_implicit_invocation: false}\n")
    write(root + "/a/b/c/d/e/f/SKILL.md", FRONT % ("six", "6"))
    write(root + "/a/b/c/d/e/f/g/SKILL.md", FRONT % ("seven", "7"))
    write(root + "/.hidden/SKILL.md", FRONT % ("hidden", "h"))
    write(HOME + "/.agents/skills/u/SKILL.md", FRONT % ("mine", "m"))
    write(TMP + "/elsewhere/SKILL.md", FRONT % ("linked", "l"))
    os.symlink(TMP + "/elsewhere", root + "/link")
    os.symlink("..", root + "/loop")
    os.mkdir(root + "/fifo")
    os.mkfifo(root + "/fifo/SKILL.md")
    write(root + "/big/SKILL.md", FRONT % ("big", "b") + "x" * (1 << 20))
    write(root + "/bad/SKILL.md", "nothing in front\n")
    write(root + "/bytes/SKILL.md", b"---\nname: \xff\n---\n")
    result = discover(c)
    check(names(result) == ["hidden", "six", "linked", "zed", "mine"],
          "skills: %s" % result)
    check(result["skills"][3] == {
        "name": "zed", "description": "about z", "shortDescription": None,
        "path": uri(root + "/z/SKILL.md"), "discoveryRoot": {
            "id": "codex-home-skills", "path": uri(root)},
        "dependencies": None, "policy": {
            "allowImplicitInvocation": False, "products": []}},
        "zed: %s" % result["skills"][3])
    check(result["skills"][4]["discoveryRoot"] == {
        "id": "user-agent-skills", "path": uri(HOME + "/.agents/skills")},
        "mine: %s" % result["skills"][4])
    check(len(result["warnings"]) == 3 and all(
        name in warning for name, warning in
        zip(["/bad/", "/big/", "/bytes/"], result["warnings"])),
        "warnings: %s" % result["warnings"])
    # A file that changes is read anew.
    write(root + "/z/SKILL.md", FRONT % ("zet", "z"))
    check("zet" in names(discover(c)), "not read anew")
    c.sock.close()
    server.stop()


def plugins():
    write(CACHE + "/plug/1.0/.codex-plugin/plugin.json", json.dumps(
        {"name": "plug", "interface": {"displayName": "A Plug"},
         "mcpServers": "./m.json", "skills": "./more"}))
    write(CACHE + "/plug/1.0/m.json", '{"x":1}')
    write(CACHE + "/plug/1.0/skills/s/SKILL.md", FRONT % ("s", "s"))
    write(CACHE + "/plug/1.0/more/m/SKILL.md", FRONT % ("m", "m"))
    write(CACHE + "/plug/0.9/.codex-plugin/plugin.json", '{"name":"old"}')
    for version in "0.9.0", "1.0.0-rc", "1.0.0":
        write(CACHE + "/inside/%s/.claude-plugin/plugin.json" % version,
              '{"mcpServers": {"i": 1}, "apps": "../../../../../secret"}')
    write(CACHE + "/inside/1.0.0/.app.json", "{}")
    write(CACHE + "/inside/1.0.0/any/where/SKILL.md", FRONT % ("any", "a"))
    write(CACHE + "/inside/1.0.0/any/.codex-plugin/plugin.json", '{"name":"n"}')
    write(CACHE + "/typed/1/.codex-plugin/plugin.json",
          '{"name":"typed","interface":5}')
    write(CACHE + "/broken/1/.codex-plugin/plugin.json", '{"name":')
    os.makedirs(CACHE + "/no name/1")
    server = started()
    with session(server) as c:
        result = discover(c)
    check([p["id"] for p in result["plugins"]] ==
          ["inside@market", "plug@market"], "plugins: %s" % result)
    inside, plug = result["plugins"]
    check(inside["displayName"] == "1.0.0" and
          inside["files"]["mcpConfig"]["contents"] == '{"i": 1}' and
          inside["files"]["appsConfig"]["contents"] == "{}" and
          [s["name"] for s in inside["skills"]] == ["n:any"],
          "inside: %s" % inside)
    check(plug["displayName"] == "A Plug" and plug["version"] == "1.0" and
          plug["root"] == uri(CACHE + "/plug/1.0") and
          plug["remotePluginId"] is None and
          plug["files"]["mcpConfig"] == {
              "path": uri(CACHE + "/plug/1.0/m.json"), "contents": '{"x":1}'}
          and plug["files"]["manifest"]["path"].endswith("/plugin.json"),
          "plug: %s" % plug)
    check([s["name"] for s in plug["skills"]] == ["plug:m", "plug:s"] and
          "discoveryRoot" not in plug["skills"][0], "skills: %s" % plug)
    check(len(result["warnings"]) == 3 + 4, "warnings: %s" % result)
    server.stop()


def namespaces():
    """Skills are named after the plugin of the nearest folder that has one."""
    root = HOME + "/.agents/skills"
    manifest = "/.codex-plugin/plugin.json"
    write(HOME + manifest, '{"name":"far"}')
    for folder, text in (("out", '{"name":"out","interface":5}'),
                         ("out/in", "{}"), ("out/bad", '{"name":5}')):
        write(root + "/" + folder + manifest, text)
    write(root + "/out/.claude-plugin/plugin.json", '{"name":"second"}')
    for folder in "out", "out/in/deep/er", "out/bad":
        write(root + "/" + folder + "/SKILL.md", FRONT % ("s", "s"))
    write(root + "/long" + manifest, json.dumps({"name": "n" * 128}))
    write(root + "/long/SKILL.md", FRONT % ("s", "s"))
    server = started()
    with session(server) as c:
        result = discover(c)
        found = [s["name"] for s in result["skills"]
                 if s["path"].startswith(uri(root))]
        check(found == ["out:s", "out:s", "in:s", "far:mine"],
              "names: %s" % found)
        check(any("/long/SKILL.md: the name" in w for w in
                  result["warnings"]), "warnings: %s" % result)
        result = c.call("capabilityRoots/discoverV1", {"roots": [
            {"id": "a", "path": uri(root)},
            {"id": "b", "path": uri(root + "/out/in/deep")}]})
        listed = [[m["path"].replace(uri(HOME), "")
                   for m in r["namespaceManifests"]] for r in result["roots"]]
        check(listed == [
            [manifest] + ["/.agents/skills/" + p + manifest for p in
                          ("long", "out", "out/bad", "out/in")],
            ["/.agents/skills/out/in" + manifest]], "V1: %s" % listed)
    server.stop()


def roots():
    server = started()
    many = [{"id": "r%d" % n, "path": uri(TMP + "/none%d" % n)}
            for n in range(64)]
    with session(server) as c:
        result = c.call("capabilityRoots/discoverV1", {"roots": [
            {"id": "p", "path": uri(CACHE + "/plug/1.0")},
            {"id": "", "path": uri(CACHE + "/plug/1.0/m.json")},
            {"id": "s", "path": uri(CODEX + "/skills"), "sandbox": None},
            {"id": "l", "path": uri(CODEX + "/skills/link")}]})
        plug, none, some, link = result["roots"]
        check(plug["id"] == "p" and plug["error"] is None and
              plug["plugin"]["mcpConfig"]["contents"] == '{"x":1}' and
              len(plug["namespaceManifests"]) == 1 and
              [os.path.dirname(s["instructions"]["path"])[-2:]
               for s in plug["skills"]] == ["/m", "/s"], "plug: %s" % plug)
        check(none["error"] and none["plugin"] is None and
              none["skills"] == [], "a file: %s" % none)
        paths = [s["instructions"]["path"] for s in some["skills"]]
        linked = uri(CODEX + "/skills/link/SKILL.md")
        check(paths == sorted(paths) and linked in paths and len(paths) == 5,
              "some: %s" % paths)
        check([s["instructions"]["path"] for s in link["skills"]] == [linked],
              "a root that is a link: %s" % link)
        check(some["skills"][-1]["metadata"]["contents"].startswith("policy"),
              "metadata: %s" % some)
        result = c.call("capabilityRoots/discoverV1", {"roots": many})
        check([r["id"] for r in result["roots"]] == [r["id"] for r in many]
              and all(r["error"] for r in result["roots"]), "many")
        try:
            c.call("capabilityRoots/discoverV1", {"roots": many + many[:1]})
            check(False, "65 roots were taken")
        except RpcError as e:
            check(e.code == -32602, "%s" % e)
        # The connection ends meanwhile: nothing is left of it.
        for _ in range(20):
            c.request("capabilityRoots/discoverV1", {"roots": many})
    with session(server) as c:
        check(len(discover(c)["plugins"]) == 2, "after that")
    server.stop()


def sandboxed():
    """What a sandbox hides is not found."""
    server = started()
    read = {"type": "managed", "network": "enabled", "file_system": {
        "type": "restricted", "entries": [
            {"path": {"type": "special", "value": {"kind": "root"}},
             "access": "read"},
            {"path": {"type": "path", "path": uri(CODEX + "/skills/z")},
             "access": "deny"}]}}
    sandbox = {"permissions": read, "cwd": uri(TMP),
               "windowsSandboxLevel": "disabled"}
    with session(server) as c:
        try:
            result = discover(c, sandbox=sandbox)
        except RpcError as e:
            print("left out: a sandbox: %s" % e, flush=True)
            return
        check("zet" not in names(result) and "six" in names(result),
              "V2: %s" % names(result))
        root = {"id": "s", "path": uri(CODEX + "/skills")}
        result = c.call("capabilityRoots/discoverV1", {"roots": [
            {**root, "sandbox": sandbox}, root]})
        hidden, seen = ([s["instructions"]["path"] for s in r["skills"]]
                        for r in result["roots"])
        check(uri(CODEX + "/skills/z/SKILL.md") in seen and
              uri(CODEX + "/skills/z/SKILL.md") not in hidden and
              len(hidden) == len(seen) - 1, "V1: %s %s" % (hidden, seen))
    server.stop()


main(skills, plugins, namespaces, roots, sandboxed)
