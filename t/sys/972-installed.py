"""972: what is installed, and that the container's files want nothing else.

No container is built here: what a Dockerfile copies has to be in the sources,
what it and the examples start has to be installed, with switches that are known.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from client import BUILD, LIMIT, TMP, check, main, say

SRCDIR = os.environ.get("SRCDIR", os.getcwd())
DIRS = ["prefix=/usr", "exec_prefix=/usr", "sysconfdir=/etc",
        "libexecdir=/usr/lib", "localstatedir=/var", "runstatedir=/run"]
PLACES = ["systemdsystemunitdir", "sysusersdir", "tmpfilesdir", "initdir",
          "logrotatedir"]
SERVICE = {
    "/etc/init.d/execsrvd": 0o755,
    "/etc/logrotate.d/execsrvd": 0o644,
    "/usr/lib/systemd/system/execsrvd.service": 0o644,
    "/usr/lib/systemd/system/execsrvd.socket": 0o644,
    "/usr/lib/sysusers.d/execsrv.conf": 0o644,
    "/usr/lib/tmpfiles.d/execsrv.conf": 0o644}


def make(target, dest, *more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")
           and k not in ("MFLAGS", "T", "BUILD")}
    r = subprocess.run(["make", "-C", SRCDIR, "BUILD=" + BUILD, target,
                        "DESTDIR=" + dest, *DIRS, *more], env=env,
                       capture_output=True, text=True, check=False)
    check(r.returncode == 0, r.stdout + r.stderr)
    # A line, as for all that is made.
    lines = r.stdout.splitlines()
    check(len(lines) < 5 and any(dest in line for line in lines), r.stdout)
    check(not any("&&" in line for line in lines), r.stdout)


def files(dest):
    found = {}
    for folder, _, names in os.walk(dest):
        for name in names:
            path = os.path.join(folder, name)
            found[path[len(dest):]] = os.stat(path).st_mode & 0o7777
    return found


def installed():
    dest = tempfile.mkdtemp(dir=TMP)
    make("install", dest)
    there = files(dest)
    for path, mode in SERVICE.items():
        check(there.get(path) == mode, "%s: %s" % (path, there.get(path)))
    for path in there:
        # What is not filled in, in files that people read.
        if path not in SERVICE:
            continue
        with open(dest + path, encoding="utf-8") as f:
            check(not re.search(r"@[a-z]+@", f.read()), path)
    # What an administrator has changed stays, also when all else goes.
    mine = dest + "/etc/logrotate.d/execsrvd"
    with open(mine, "a", encoding="utf-8") as f:
        f.write("# mine\n")
    make("install", dest)
    make("uninstall", dest)
    left = files(dest)
    check(list(left) == ["/etc/logrotate.d/execsrvd"], "left: %s" % left)
    with open(mine, encoding="utf-8") as f:
        check(f.read().endswith("# mine\n"), "it was changed")


def afterwards():
    """What is to be done then, and which folders nothing looks into."""
    def said(*words):
        return subprocess.run(["sh", SRCDIR + "/contrib/build/installed",
                               *words], capture_output=True, text=True,
                              check=True).stdout.splitlines()
    lines = said("/x.conf", "/usr/local/lib/systemd/system",
                 "/usr/local/etc/init.d", "/usr/local/etc/logrotate.d")
    check(len(lines) == 4 and lines[0] == "Settings: /x.conf" and
          "systemctl enable --now execsrvd" in lines[1] and
          "--with-initdir=/etc/init.d" in lines[2] and
          "--with-logrotatedir=/etc/logrotate.d" in lines[3], lines)
    lines = said("/x.conf", "/lib/systemd/system", "/etc/init.d",
                 "/etc/logrotate.d")
    check(len(lines) == 2, lines)
    check(len(said("/x.conf", "", "", "")) == 1, "without services")


def narrow():
    """The samples of settings fit a terminal."""
    for name in "execsrvd.conf", "execsrv-hub.conf":
        with open("%s/contrib/%s" % (BUILD, name), encoding="utf-8") as f:
            wide = [line for line in f if len(line.expandtabs()) > 81]
        check(not wide, wide)


def without():
    """Places that are not wanted."""
    dest = tempfile.mkdtemp(dir=TMP)
    make("install", dest, *[p + "=" for p in PLACES])
    there = files(dest)
    check(not set(SERVICE) & set(there), "%s" % there)
    check("/usr/sbin/execsrvd" in there, "%s" % there)
    make("uninstall", dest, *[p + "=" for p in PLACES])
    check(not files(dest), "left: %s" % files(dest))


def rotation():
    """logrotate(8) can be told so, if it is here; the braces match anyway."""
    with open(BUILD + "/contrib/logrotate/execsrvd", encoding="utf-8") as f:
        text = f.read()
    check(text.count("{") == text.count("}") == 2, text)
    check("execsrvctl reopen-logs" in text and "copytruncate" not in text,
          text)
    tool = shutil.which("logrotate")
    if tool is None:
        say("  left out: no logrotate")
        return
    r = subprocess.run([tool, "--debug", "--state", TMP + "/state",
                        BUILD + "/contrib/logrotate/execsrvd"],
                       capture_output=True, text=True, check=False)
    check(r.returncode == 0 and "error" not in r.stderr, r.stderr)


# --- the container ------------------------------------------------------------

def source(name):
    return os.path.join(SRCDIR, "contrib/container", name)


def read(name):
    with open(source(name), encoding="utf-8") as f:
        return f.read()


def instructions():
    """[(WORD, rest)] of the Dockerfile, with lines joined."""
    text = re.sub(r"(?m)^#.*\n", "", read("Dockerfile"))
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [tuple(n.split(None, 1)) for n in lines if n.strip()]


def wants(path, there):
    check(path in there and there[path] & 0o111, path + " is not installed")


def accepted(args):
    """The server knows these switches (-t starts nothing)."""
    r = subprocess.run([BUILD + "/execsrvd", *args, "-t"], text=True,
                       stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=LIMIT * 3, check=False)
    # A root server also wants to know whom such sessions run as.
    good = r.returncode == 0 or "RemoteUser" in r.stderr
    check(good, "%s: %s" % (args, r.stderr))


def dockerfile():
    dest = tempfile.mkdtemp(dir=TMP)
    make("install", dest)
    there = files(dest)
    stages, users = [], []
    last = {}
    for word, rest in instructions():
        last[word] = rest
        if word == "FROM":
            words = rest.split()
            check(words[0] == "debian:12-slim", rest)
            stages.append(words[2] if words[1:2] == ["AS"] else "")
        elif word == "USER":
            users.append(rest)
        elif word == "COPY":
            *copied, _ = [w for w in rest.split() if not w.startswith("--")]
            if "--from=" in rest:
                check(re.search(r"--from=(\S+)", rest).group(1) in stages[:-1],
                      rest)
                continue
            for path in copied:
                check(os.path.exists(os.path.join(SRCDIR, path)),
                      "COPY %s: not there" % path)
    check(len(stages) == 2 and stages[-1] == "", "%s" % stages)
    check(users and re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]),
          "it runs as root: %s" % users)
    entry, args = json.loads(last["ENTRYPOINT"]), json.loads(last["CMD"])
    wants(entry[0], there)
    accepted(entry[1:] + args)
    check(entry[1:] == ["-D"], "%s" % entry)
    health = json.loads(last["HEALTHCHECK"].split("CMD", 1)[1])
    wants(health[0], there)
    check(health[1:] == ["status", "-q"], "%s" % health)
    # All that our own build is configured with is there for this one, too.
    known = subprocess.run([BUILD + "/configure", "--srcdir=" + SRCDIR,
                            "--help"], capture_output=True, text=True,
                           check=True).stdout
    asked = re.search(r'CONFIGURE_ARGS="([^"]*)"',
                      " ".join(r for _, r in instructions())).group(1)
    for switch in shlex.split(asked):
        name = switch.split("=")[0].replace("--without-", "--with-")
        check(name in known, "configure knows no " + name)


def linked():
    """The image has the packages of all libraries that we are linked with."""
    text = " ".join(r for w, r in instructions() if w == "RUN")
    try:
        with open("/etc/debian_version", encoding="ascii") as f:
            release = f.read().split(".")[0]
    except OSError:
        release = ""
    if release != "12":
        say("  left out: this is no Debian 12")
        return
    with open(BUILD + "/programs", encoding="ascii") as f:
        programs = f.read().split()
    check("execsrv-worker" in programs, programs)
    for program in programs:
        path = "%s/%s" % (BUILD, program)
        wanted = re.findall(r"NEEDED +(\S+)", subprocess.run(
            ["objdump", "-p", path], capture_output=True, text=True,
            check=True).stdout)
        where = dict(re.findall(r"(\S+) => (\S+)", subprocess.run(
            ["ldd", path], capture_output=True, text=True,
            check=True).stdout))
        for name in wanted:
            real = os.path.realpath(where.get(name, "/"))
            r = subprocess.run(["dpkg", "-S", real], capture_output=True,
                               text=True, check=False)
            package = r.stdout.split(":")[0]
            if r.returncode == 0 and package not in ("libc6",) and \
                    "san" not in package:
                check(" %s " % package in text + " ", "%s wants %s" %
                      (program, package))


def kubernetes():
    try:
        import yaml
    except ImportError:
        say("  left out: no python3-yaml")
        return
    d = yaml.safe_load(read("kubernetes.yaml"))
    check(d["kind"] == "Deployment", "%s" % d["kind"])
    spec = d["spec"]["template"]["spec"]
    check(d["spec"]["selector"]["matchLabels"].items() <=
          d["spec"]["template"]["metadata"]["labels"].items(), "the selector")
    check(spec["securityContext"]["runAsNonRoot"], "as root")
    one, = spec["containers"]
    check(one["securityContext"]["readOnlyRootFilesystem"], "writable")
    volumes = {v["name"] for v in spec["volumes"]}
    check({m["name"] for m in one["volumeMounts"]} <= volumes, "volumes")
    dest = tempfile.mkdtemp(dir=TMP)
    make("install", dest)
    there = files(dest)
    for probe in ("livenessProbe", "readinessProbe"):
        command = one[probe]["exec"]["command"]
        words = " ".join(command).split()
        path, = [w for w in words if w.startswith("/usr")]
        wants(path, there)
    check(one["livenessProbe"]["exec"]["command"][1:] == ["status", "-q"],
          "the probe")
    accepted(["-D", *one["args"]])


def hub_container(d, service):
    """What a deployment of a hub starts, for whom: its container."""
    template = d["spec"]["template"]
    for selector in (d["spec"]["selector"]["matchLabels"],
                     service["spec"]["selector"]):
        check(selector.items() <= template["metadata"]["labels"].items(),
              "the selector")
    one, = template["spec"]["containers"]
    check(one["securityContext"]["readOnlyRootFilesystem"], "writable")
    check({m["name"] for m in one.get("volumeMounts", [])} <=
          {v["name"] for v in template["spec"].get("volumes", [])}, "volumes")
    ports = {p["name"] for p in one["ports"]}
    for probe in one["readinessProbe"], one.get("livenessProbe", {}):
        for how in probe.values():
            check(how["port"] in ports, "ports")
    check({p["targetPort"] for p in service["spec"]["ports"]} <= ports,
          "ports")
    return one


def commented(name):
    """The settings that its first lines have, in a folder of our own."""
    text = re.findall(r"^#\t([A-Z]\w+ .*)$", read(name), re.M)
    dest = tempfile.mkdtemp(dir=TMP)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
         "/CN=hub.example.org", "-keyout", dest + "/hub.pem", "-out",
         dest + "/ca.pem"], check=True, stderr=subprocess.DEVNULL)
    with open(dest + "/hub.pem", "a", encoding="ascii") as f, \
            open(dest + "/ca.pem", encoding="ascii") as cert:
        f.write(cert.read())
    for file, line in (("hub.secret", "0" * 64), ("engine.token", "1" * 64),
                       ("hub.tokens", "x sha256:" + "0" * 64),
                       ("execsrv-hub.conf", "\n".join(text).replace(
                           "/etc/execsrv-hub/", dest + "/"))):
        with open(dest + "/" + file, "w", encoding="ascii") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(line + "\n")
    os.chmod(dest + "/ca.pem", 0o644)
    return dest


def with_comments(name, command):
    """What execsrv-hub takes of both: all settings."""
    folder = commented(name)
    path, *words = command
    check(path == "/usr/sbin/execsrv-hub", path)
    words = [w.replace("/etc/execsrv-hub", folder) for w in words]
    said = subprocess.run([BUILD + "/execsrv-hub", "-T", *words],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    check(said.returncode == 0, said)
    return said.stdout


def hub():
    """Hubs in Kubernetes: what they start is there, and takes these words."""
    try:
        import yaml
    except ImportError:
        say("  left out: no python3-yaml")
        return
    if shutil.which("openssl") is None:
        say("  left out: no openssl")
        return
    dest = tempfile.mkdtemp(dir=TMP)
    make("install", dest)
    d, service = yaml.safe_load_all(read("kubernetes-hub.yaml"))
    one = hub_container(d, service)
    wants(one["command"][0], files(dest))
    check("HubUser nobody" in with_comments("kubernetes-hub.yaml",
                                            one["command"]), "its user")
    d, service, budget, engine, inner, policy = yaml.safe_load_all(
        read("kubernetes-hubs.yaml"))
    one, nats = hub_container(d, service), hub_container(engine, inner)
    names = {"POD_NAME": "hub-x", "POD_IP": "10.1.2.3"}
    check({e["name"] for e in one["env"]} == set(names), "variables")
    command = [re.sub(r"\$\((\w+)\)", lambda m: names[m[1]], w)
               for w in one["command"]]
    said = with_comments("kubernetes-hubs.yaml", command)
    check("HubName hub-x\n" in said and
          "InternalUrl https://10.1.2.3:8443\n" in said, said)
    # What the engine is shown is what it asks for, by the name it has.
    (name, port), = re.findall(r"^Engine nats://([\w-]+):(\d+)$", said, re.M)
    check(inner["metadata"]["name"] == name and
          inner["spec"]["ports"][0]["port"] == int(port) and
          port in nats["args"], "the engine")
    token = nats["env"][0]["valueFrom"]["secretKeyRef"]
    check(token["name"] == d["spec"]["template"]["spec"]["volumes"][0][
        "secret"]["secretName"] and re.search(
            r"^EngineCredentials \S+/%s$" % token["key"], said, re.M), "token")
    labels = d["spec"]["template"]["metadata"]["labels"]
    check(budget["spec"]["selector"]["matchLabels"] == labels and
          policy["spec"]["ingress"][0]["from"][0]["podSelector"][
              "matchLabels"] == labels and
          policy["spec"]["podSelector"]["matchLabels"] ==
          engine["spec"]["template"]["metadata"]["labels"], "labels")
    (drain, unit), = re.findall(r"^DrainTime (\d+)(m?)$", said, re.M)
    check(int(drain) * (60 if unit else 1) + 10 < d["spec"]["template"][
        "spec"]["terminationGracePeriodSeconds"], "it is killed before")


def nomad():
    text = read("execsrv.nomad.hcl")
    bare = re.sub(r'"[^"\n]*"', '""', re.sub(r"(?m)^#.*\n", "", text))
    for pair in ("{}", "[]"):
        check(bare.count(pair[0]) == bare.count(pair[1]), "unbalanced")
    args = re.search(r"args = \[\n(.*?)\]", text, re.S).group(1)
    accepted(["-D", *re.findall(r'"([^"]*)"', args)])
    for path in re.findall(r'"(/usr/[^"]*)"', text):
        dest = tempfile.mkdtemp(dir=TMP)
        make("install", dest)
        wants(path, files(dest))


if __name__ == "__main__":
    main(installed, afterwards, narrow, without, rotation, dockerfile, linked, kubernetes,
     hub,
         nomad)
