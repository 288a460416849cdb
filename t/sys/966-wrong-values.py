"""966: what is said of a wrong option, file, value, name or address, word for
word: 966-wrong-values.txt, which is to be read as somebody would who is tired.

Each row of our options, settings and commands that takes a value is in it.  After
a change "BUILD=... python3 t/sys/966-wrong-values.py --write" writes it anew.
"""
import os
import re
import subprocess
import sys
import tempfile

from client import BUILD, LIMIT, TMP, Server, check, main, say, skip, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = HERE + "/966-wrong-values.txt"
PROTO = HERE + "/../../proto/"
# A reason, and perhaps where more is told.
LINE = re.compile(r"execsrv(d|ctl|-hub)(\[\d+\])?: \S.*")
MORE = re.compile(r"execsrv(d|ctl|-hub): see execsrv(d|ctl|-hub) --help|"
                  r"usage: execsrvctl .*|execsrvctl: name a server with .*")
# Those of a session are its own, and those that its command could have.
STATUS = {"execsrvd": (2, 78), "execsrv-hub": (2, 78),
          "execsrvctl": (1, 2, 3, 4, 78, 125, 127)}


# A word of any kind, or nothing is said before a start.
ANY_VALUE = {"RuntimeDirectory", "UplinkUser", "AuditLog", "BearerAudience",
             "BearerIssuer", "DenySubject", "Engine", "EngineSubject",
             "InternalUrl", "HubName", "HubUrl", "HubUser",
             "LogTo", "RemoteUser"}


def blocks(text):
    """Commands, each with what is expected of it; and comments."""
    for part in text.split("\n\n"):
        lines = part.strip("\n").split("\n")
        yield lines[0], lines[1:]


def rows(name, pattern):
    with open(PROTO + name, encoding="utf-8") as f:
        found = re.findall(pattern, f.read(), re.M)
    check(found, "no rows in " + name)
    return found


def covered(commands):
    """Each that takes a value has a wrong one."""
    text = "\n".join(commands)
    for name, kind in ("conf.def", "CONF"), ("uplink.def", "UPLINK"), \
            ("hub.def", "HUB"), ("hub.def", "HUB_RULE"):
        for keyword in rows(name, r"^%s\((\w+)," % kind):
            check(keyword in ANY_VALUE or re.search(
                r"[ =\n]%s[ =\\]|\\n%s\b" % (keyword, keyword), text),
                "%s: no wrong %s" % (name, keyword))
    for name in rows("switch.def", r'^SWITCH\("([\w-]+)",\s*\w+,\s*"[A-Z]'):
        check("--" + name in text, "no wrong --" + name)
    for letter in rows("switch.def", r'^LETTER\("(\w)",\s*"[A-Z]'):
        check("execsrvd -%s" % letter in text, "no wrong -" + letter)
    for name in rows("ctl.def", r'^(?:CTL|LOCAL)\("([\w-]+)"'):
        check("execsrvctl %s" % name in text, "no wrong " + name)
    for name, letter in rows(
            "client.def", r'^CLIENT_OPT\(\w+, "([\w-]+)", (\S+), "[A-Z]'):
        check("--" + name in text or " -%s " % letter.strip("'") in text,
              "no wrong --" + name)


def run(command, folder, env):
    r = subprocess.run(["sh", "-c", command], env=env, cwd=folder,
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=LIMIT * 3,
                       check=False)
    text = r.stdout.decode().replace(folder, "DIR")
    return ["= %d" % r.returncode, *re.sub(
        r"(?m)^(execsrvd)\[\d+\]", r"\1", text).rstrip("\n").split("\n")]


def is_well_said(command, lines):
    """It names the program, in one line, and ends with the right status."""
    program = re.search(r"execsrv(d|ctl|-hub)|\$HUB", command).group(0)
    program = program.replace("$HUB", "execsrv-hub")
    reasons = [text for text in lines[1:] if not MORE.fullmatch(text)]
    return (int(lines[0][2:]) in STATUS[program] and len(reasons) == 1 and
            LINE.fullmatch(reasons[0]) and len(lines) <= 3)


def wrong_values():
    if os.getuid() != 0:
        skip("not root: other words")
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o755)
    with open(folder + "/secret", "w", encoding="ascii") as f:
        os.fchmod(f.fileno(), 0o600)
        f.write("%064x\n" % 1)
    server = Server(listen=("unix:%s/sock" % folder,))
    env = {"PATH": BUILD + ":/usr/bin:/bin:/usr/sbin:/sbin", "DIR": folder,
           "HOME": folder, "LC_ALL": "C", "EXECSRV_RUNTIME_DIR": server.run,
           "HUB": "execsrv-hub -t -f none -o SecretFile=%s/secret "
                  "-o FleetUrl=https://h.example "
                  "-o Listen=http://127.0.0.1:1" % folder}
    wait_for(lambda: run("execsrvctl status -q", folder, env)[0] == "= 0",
             LIMIT, "the server")
    with open(FILE, encoding="utf-8") as f:
        all_blocks = list(blocks(f.read()))
    covered([head for head, _ in all_blocks if head[0] == "$"])
    written, wrong = [], []
    for head, want in all_blocks:
        got = want
        if head[0] == "$":
            got = [line.replace(server.run, "RUN")
                   for line in run(head[2:], folder, env)]
            if not is_well_said(head, got):
                wrong.append("not well said: %s\n%s" % (
                    head, "\n".join(got)))
        if got != want and "--write" not in sys.argv:
            wrong.append("\n".join([head, *("- " + line for line in want),
                                    *("+ " + line for line in got)]))
        written.append("\n".join([head, *got]))
    if "--write" in sys.argv:
        with open(FILE, "w", encoding="utf-8") as f:
            f.write("\n\n".join(written) + "\n")
    check(not wrong, "\n\n".join(wrong))
    say("  %d of them" % sum(head[0] == "$" for head, _ in all_blocks))
    server.stop()


main(wrong_values)
