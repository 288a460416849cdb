#!/usr/bin/env python3
"""execsrv-hub and its secrets: wherever one is in the memory of its processes,
that memory is locked; and neither of them leaves a core."""
import base64
import importlib
import os
import re
import resource
import secrets
import signal
import subprocess
import tempfile

from client import LIMIT, SANITIZED, TMP, check, children, is_alive, main, \
    skip, wait_for

lib = importlib.import_module("8hub")
Hub = lib.Hub


def new_tls(hub, one_file):
    """A certificate and its key.  Ways in which a part of the key is in
    memory: text, DER, and a number of OpenSSL's."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout",
         hub.path("key"), "-out", hub.path("cert"), "-subj", "/CN=hub"],
        check=False, stderr=subprocess.DEVNULL).returncode
    check(made == 0, "openssl")
    with open(hub.path("key"), encoding="ascii") as f:
        text = f.read()
    os.chmod(hub.path("key"), 0o600)
    if one_file:
        with open(hub.path("cert"), encoding="ascii") as f:
            hub.put("both", f.read() + text)
    lines = text.splitlines()[1:-1]
    der = base64.b64decode("".join(lines))
    at = der.index(b"\x02\x01\x01\x04\x20") + 5
    number = der[at:at + 32]
    return {"PEM of the key": lines[1][:24].encode(),
            "DER of the key": number[8:24],
            "number of the key": number[8:24][::-1]}


def new_secrets(hub):
    hub.secret = secrets.token_hex(32)
    bearer = secrets.token_hex(32)
    hub.write()
    hub.put("bearer", bearer + "\n")
    return {"secret of the site": hub.secret.encode(),
            "secret of bearers": bearer.encode()}


def mappings(pid):
    """(begin, end, whether it is locked) of what can be read."""
    where = None
    with open("/proc/%d/smaps" % pid, encoding="ascii") as f:
        for line in f:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) (r?)", line)
            if match and line.split()[1][0] in "r-":
                where = match if match[3] and "[v" not in line else None
            elif line.startswith("VmFlags:") and where:
                yield (int(where[1], 16), int(where[2], 16),
                       "lo" in line.split())


def places(pid, needles):
    """Where each is: a set of (name, whether it is locked)."""
    out = set()
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as mem:
        for begin, end, locked in mappings(pid):
            try:
                mem.seek(begin)
                data = mem.read(end - begin)
            except OSError:
                continue
            out |= {(name, locked) for name, needle in needles.items()
                    if needle in data}
    return out


def look(hub, when, needles):
    for pid in (hub.process.pid, hub.ctl("status")[1]["pid"]):
        found = places(pid, needles)
        check(all(locked for _, locked in found), "%s, %s: %s" % (
            when, "master" if pid == hub.process.pid else "worker",
            sorted(found)))
        # Does it look?  Both have the key.
        check(("number of the key", True) in found, "%s: %s" % (when, found))


def locked(one_file):
    """From the start on, after a reload, and in another worker."""
    if os.getuid() != 0 or SANITIZED:
        skip("not root, or measured: memory cannot be read, or is not ours")
    hub = Hub("BearerSecretFile bearer\nCertificate %s" % (
        "both" if one_file else "cert\nCertificateKey key"), starts=False)
    hub.settings += "\nListen https://127.0.0.1:@SECURE@\nListen @URL@"
    needles = {**new_tls(hub, one_file), **new_secrets(hub)}
    with hub.start():
        look(hub, "at the start", needles)
        old = dict(needles)
        needles = {**new_tls(hub, one_file), **new_secrets(hub)}
        check(hub.ctl("reload")[1]["ok"], "reload")
        look(hub, "after a reload", needles)
        for pid in (hub.process.pid, hub.ctl("status")[1]["pid"]):
            check(not places(pid, old), "the old ones: %s" % places(pid, old))
        worker = hub.ctl("status")[1]["pid"]
        os.kill(worker, signal.SIGKILL)
        wait_for(lambda: worker not in children(hub.process.pid) and
                 hub.is_ready(), LIMIT, "another worker")
        look(hub, "in another worker", needles)


def in_two_files():
    locked(False)


def in_one_file():
    locked(True)


def no_core():
    """Where others leave one, as root or not."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as f:
        if SANITIZED or "/" in f.read().split()[0]:
            skip("core files go elsewhere here")
    folder = tempfile.mkdtemp(dir=TMP)
    os.chmod(folder, 0o777)
    before, limits = os.getcwd(), resource.getrlimit(resource.RLIMIT_CORE)
    os.chdir(folder)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (limits[1], limits[1]))
        subprocess.run(["sh", "-c", "kill -ABRT $$"], check=False)
        if not os.listdir(folder):
            skip("programs leave no core files here")
        for name in os.listdir(folder):
            os.unlink(name)
        with Hub() as hub:
            worker = hub.ctl("status")[1]["pid"]
            for pid in (worker, hub.process.pid):
                with open("/proc/%d/limits" % pid, encoding="ascii") as f:
                    line, = [x for x in f if x.startswith("Max core file")]
                check(line.split()[4:6] == ["0", "0"], line)
                os.kill(pid, signal.SIGABRT)
                wait_for(lambda p=pid: hub.process.poll() is not None if
                         p == hub.process.pid else not is_alive(p), LIMIT,
                         "the end of %d" % pid)
        check(not os.listdir(folder), "cores: %s" % os.listdir(folder))
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, limits)
        os.chdir(before)


if __name__ == "__main__":
    main(in_two_files, in_one_file, no_core)
