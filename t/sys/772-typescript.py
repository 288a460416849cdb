"""The TypeScript client (contrib/typescript): types and schema are made of the
rows; with npm's compiler it is compiled, and talks to execsrvd and, if it is here,
the reference, by a connection that is cut.
"""
import importlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from client import BUILD, LIMIT, TMP, Server, check, main, skip

common = importlib.import_module("77common")

MADE = BUILD + "/contrib/typescript"
NPM = BUILD + "/npm"
FETCH = 180


def schema():
    """Each method is there, with its parameters; nothing refers to nothing."""
    with open(MADE + "/protocol.schema.json", encoding="utf-8") as f:
        text = f.read()
    made = json.loads(text)
    with open(os.environ.get("SRCDIR", ".") + "/proto/rpc.def",
              encoding="utf-8") as f:
        methods = re.findall(r'^RPC\("([^"]+)"', f.read(), re.M)
    check(len(methods) > 20 and [r["properties"]["method"]["const"]
                                 for r in made["oneOf"]] == methods, methods)
    names = set(re.findall(r'"#/\$defs/(\w+)"', text))
    check(names and names <= set(made["$defs"]), names - set(made["$defs"]))
    check(all(name in made["$defs"] for result in made["x-results"].values()
              for name in result), "results")
    start = made["$defs"]["ProcessStartParams"]
    check("argv" in start["required"] and "arg0" not in start["required"],
          start["required"])
    with open(MADE + "/protocol.ts", encoding="utf-8") as f:
        types = f.read()
    check(all('"%s": { params: ' % m in types for m in methods), "types")


def tool(*argv, seconds=LIMIT, cwd=None):
    done = subprocess.run(argv, cwd=cwd, timeout=seconds, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.decode(errors="replace")


def fetch():
    """What npm has to bring, once for each build folder."""
    if not shutil.which("node") or not shutil.which("npm"):
        skip("no node and npm here")
    version = tool("node", "--version")[1].strip()
    if int(re.match(r"v(\d+)", version).group(1)) < 20:
        skip("node is %s, not 20" % version)
    os.makedirs(NPM, exist_ok=True)
    lock = MADE + "/package-lock.json"
    with open(lock, encoding="utf-8") as f:
        wanted = f.read()
    try:
        with open(NPM + "/installed", encoding="utf-8") as f:
            if f.read() == wanted:
                return
    except FileNotFoundError:
        pass
    for name in "package.json", "package-lock.json":
        shutil.copy(MADE + "/" + name, NPM)
    try:
        status, text = tool("npm", "ping", "--fetch-retries=0",
                            "--fetch-timeout=15000", seconds=30, cwd=NPM)
        if status == 0:
            status, text = tool("npm", "ci", "--ignore-scripts", "--no-audit",
                                "--no-fund", seconds=FETCH, cwd=NPM)
    except subprocess.TimeoutExpired:
        status, text = 1, "it takes too long"
    if status != 0:
        skip("npm cannot fetch the compiler: " + text.strip()[-300:])
    with open(NPM + "/installed", "w", encoding="utf-8") as f:
        f.write(wanted)


def compiled():
    """A copy of the package, with what was fetched."""
    folder = TMP + "/package"
    shutil.copytree(MADE, folder, ignore=shutil.ignore_patterns(
        "node_modules", "dist"))
    os.symlink(NPM + "/node_modules", folder + "/node_modules")
    # The compiler finds its types beside the real folder.
    status, text = tool("node", NPM + "/node_modules/typescript/bin/tsc",
                        "-p", folder, seconds=LIMIT * 4)
    check(status == 0, text)
    for name in "client.js", "client.d.ts", "protocol.d.ts":
        check(os.path.exists(folder + "/dist/" + name), name)
    return folder


def converse(url, kind):
    status, text = tool("node", TMP + "/package/dist/test/test.js", url, kind,
                        seconds=LIMIT * 4)
    check(status == 0, text)
    check(int(text.split()[0]) > 20, text)


def with_ours():
    compiled()
    server = Server()
    converse(server.url, "ours")
    server.stop()


def with_the_reference():
    with common.reference() as url:
        if url:
            converse(url, "reference")


schema()
fetch()
main(schema, with_ours, with_the_reference)
