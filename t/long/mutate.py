"""Messages for 838: those of the wire scripts and one of each method, changed
at random.  What may be asked for is harmless by itself: commands are a few that
do nothing, paths lie below a scratch folder, and fs/remove gets names in a
folder of its own there only, never a changed path."""
import copy
import glob
import json
import os
import struct

COMMANDS = [["/bin/true"], ["/bin/echo", "x"], ["/bin/cat"],
            ["/bin/sleep", "0.05"], ["/nowhere/x"], ["/bin/true", ""]]
NUMBERS = [0, -1, 1, 2, 255, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
           2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**31, -2**63, 0.5,
           1e308, -0.0, 10**40]
TEXTS = ["", "x", "a" * 100, "\0", "a\0b", "\ud800", "\udc00\ud800", "\u20ac",
         "\U0001f600", "eA==", "eA=", "=", "p", "q", "none", "all", "core",
         "write", "read", "replace", "stdout", "SIGTERM", "interrupt",
         "error", "follow",
         "%s%n", "*", "**/*", "{a,b}", "[", "[!a", "a" * 5000, "\n", "\x7f"]
TOKENS = [b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"0",
          b"-", b"1e9", b"\\u0000", b"\\ud800", b"\\", b"\xff", b"\xc0\x80",
          b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\0", b"\x1f", b" ", b"\n",
          b'"id":', b'"method":', b'"params":', b'"result":', b"[[[[[[[["]
REMOVE = "remove"
GOOD = ["", "/f", "/d", "/l", "/d/e", "/g", "/k", "/new", "/w",
        "/f", "/f", "/d/x"]
# Where a path stands.
PLACES = {"path", "cwd", "sourcePath", "destinationPath", "present", "target",
          "userHomeDir", "sandboxPolicyCwd"}


def sandbox(top):
    def entry(path, access):
        return {"path": path, "access": access}
    return {"permissions": {"type": "managed", "network": "restricted",
            "file_system": {"type": "restricted", "glob_scan_max_depth": 3,
                            "entries": [
        entry({"type": "special", "value": {"kind": "root"}}, "read"),
        entry({"type": "path", "path": top + "/f"}, "write"),
        entry({"type": "glob_pattern", "pattern": "**/*.x"}, "none")]}},
            "cwd": top, "workspaceRoots": [top], "useLegacyLandlock": False,
            "windowsSandboxLevel": "disabled"}


def legacy(top):
    return {"sandboxPolicy": {"type": "workspace-write",
                              "writable_roots": [top[7:]],
                              "network_access": False,
                              "exclude_slash_tmp": True},
            "sandboxPolicyCwd": top}


def whole(top):
    """One of each method, with all that it takes."""
    f, box = top + "/f", {"sandbox": sandbox(top)}
    for method, params in [
            ("initialize", {"clientName": "t", "resumeSessionId": "x",
                            "execsrvHold": True, "execsrvReceipts": True}),
            ("initialized", {}), ("environment/info", {}),
            ("environment/status", {}), ("process/list", {}),
            ("session/retain", {"ttlMs": 1000}),
            ("session/received", {"bytes": 1}),
            ("environmentConfig/read", {"cwd": top, "configPaths": [f],
                                        "requirementsPaths": [f]}),
            ("capabilities/discoverV2", {"cwd": top, **box}),
            ("capabilityRoots/discoverV1", {"roots": [
                {"id": "a", "path": top, **box}]}),
            ("fs/canonicalize", {"path": f, "followSymlinks": True, **box}),
            ("fs/copy", {"sourcePath": f, "destinationPath": top + "/g",
                         "recursive": True}),
            ("fs/createDirectory", {"path": top + "/d/e", "recursive": True,
                                    "mode": 0o755}),
            ("fs/createSymlink", {"path": top + "/l", "target": "f"}),
            ("fs/getMetadata", {"path": f, "attributes": True}),
            ("fs/open", {"handleId": "h", "path": f, "mode": "replace",
                         "permissions": 0o644}),
            ("fs/readBlock", {"handleId": "h", "offset": 0, "len": 10}),
            ("fs/writeBlock", {"handleId": "h", "offset": 0,
                               "chunk": "eHg="}),
            ("fs/close", {"handleId": "h"}),
            ("fs/readDirectory", {"path": top, "attributes": True, **box}),
            ("fs/readFile", {"path": f, **box}),
            ("fs/rename", {"sourcePath": top + "/g",
                           "destinationPath": top + "/k"}),
            ("fs/setAttributes", {"path": f, "mode": 0o700,
                                  "modifiedAtNs": 1}),
            ("fs/walk", {"path": top, "options": {
                "maxDepth": 3, "maxDirectories": 10, "maxEntries": 100,
                "followDirectorySymlinks": False,
                "pruneHiddenDirectories": True}, **box}),
            ("fs/watchMissing", {"watchId": 1, "missing": [top + "/w"],
                                 "present": f}),
            ("fs/writeFile", {"path": f, "dataBase64": "eHg=",
                              "mode": 0o644, **box}),
            ("fs/" + REMOVE, {"path": top + "/gone/a", "recursive": True,
                              "force": True}),
            ("http/request", {"requestId": "r", "method": "GET",
                              "url": "http://127.0.0.1:9/", "headers": [
                                  {"name": "a", "value": "b"}],
                              "bodyBase64": "eA==", "timeoutMs": 50,
                              "redirectPolicy": "follow",
                              "streamResponse": True}),
            ("process/start", {
                "processId": "p", "argv": ["/bin/cat"], "cwd": top,
                "env": {"A": "b"}, "tty": False, "pipeStdin": True,
                "arg0": "x", "metadata": {
                    "threadId": "00000000-0000-4000-8000-000000000000"},
                "envPolicy": {"inherit": "all",
                              "ignoreDefaultExcludes": False,
                              "exclude": ["*KEY*"], "set": {"B": "c"},
                              "includeOnly": []},
                "ptySize": {"rows": 24, "cols": 80}}),
            ("process/start", {"processId": "q", "argv": ["/bin/cat"],
                               "cwd": top, "env": {}, "tty": True, **box}),
            ("process/start", {"processId": "r", "argv": ["/bin/true"],
                               "cwd": top, "env": {}, "tty": False,
                               "sandbox": legacy(top)}),
            ("process/read", {"processId": "p", "afterSeq": 0,
                              "maxBytes": 100, "waitMs": 5}),
            ("process/write", {"processId": "p", "chunk": "eHgK",
                               "writeId": "w"}),
            ("process/resize", {"processId": "q", "rows": 24, "cols": 80}),
            ("process/signal", {"processId": "p", "signal": "SIGUSR1"}),
            ("process/closeStdin", {"processId": "p"}),
            ("process/terminate", {"processId": "p", "graceMs": 10})]:
        yield {"id": 1, "method": method, "params": params}


def of_scripts(folder):
    """What the wire scripts send, as far as it is JSON without repetitions."""
    for path in sorted(glob.glob(folder + "/*.wire")):
        with open(path, encoding="utf-8") as f:
            text = f.read().replace("\n  ", " ")
        for line in text.split("\n"):
            if line.startswith("> ") and "{{" not in line:
                try:
                    m = json.loads(line[2:])
                except ValueError:
                    continue
                if isinstance(m, dict) and REMOVE not in line:
                    yield m


class Mutator:
    """MUTANT(): a message as bytes.  TOP is a file URI."""

    def __init__(self, rng, top, scripts):
        self.rng, self.top = rng, top
        self.paths = [top + p for p in (
            "", "/", "/f", "/d", "/l", "/d/e", "//f", "/./f", "/%66", "/%00",
            "/%zz", "/%", "/\ud800", "/" + "n" * 300, "/d" * 300,
            "/f?x", "/f#x",
            "/k", "/x\0y", "/new")]
        self.gone = [top + "/gone/" + n for n in ("a", "b", "c", "d/e")]
        self.seeds = [self.tame(m) for m in [*whole(top), *of_scripts(scripts)]]
        self.whole = self.seeds[:sum(1 for _ in whole(top))]
        self.methods = sorted({m["method"] for m in self.seeds
                               if isinstance(m.get("method"), str)
                               and REMOVE not in m["method"]} | {""})

    # What is asked for

    def tame(self, m):
        """Nothing in it but commands and paths of ours."""
        return self.bounded(self.walked(m, None))

    def walked(self, v, key):
        if isinstance(v, dict):
            return {k: self.walked(x, k) for k, x in v.items()}
        if isinstance(v, list):
            if key == "argv" and v:
                return list(self.rng.choice(COMMANDS))
            return [self.walked(x, key) for x in v]
        if isinstance(v, str):
            if v.startswith("file:") or v.startswith("/") or key in PLACES:
                return self.rng.choice(self.paths)
            if v.startswith("http"):
                return "http://127.0.0.1:9/"
            if len(v) > 5000:
                return v[:5000]
        return v

    def bounded(self, m):
        """Whatever happened to it: only what may be removed is."""
        if isinstance(m, dict) and REMOVE in str(m.get("method")):
            params = m.get("params")
            m["params"] = {**(params if isinstance(params, dict) else {}),
                           "path": self.rng.choice(self.gone)}
        return m

    # Changes of what it means

    def value(self):
        r, kind = self.rng, self.rng.randrange(8)
        if kind == 0:
            return r.choice([None, True, False])
        if kind < 3:
            return r.choice(NUMBERS)
        if kind < 5:
            return r.choice(TEXTS)
        if kind == 5:
            return r.choice(self.paths)
        if kind == 6:
            v = r.choice([[], {}, 0])
            for _ in range(r.choice([1, 3, 100])):
                v = [v] if r.random() < 0.5 else {"a": v}
            return v
        return [r.choice(TEXTS)] * r.choice([1, 2, 300])

    def holders(self, v, out):
        """All that has members."""
        if isinstance(v, (dict, list)) and v:
            out.append(v)
            for x in v.values() if isinstance(v, dict) else v:
                self.holders(x, out)
        return out

    def change(self, m):
        r = self.rng
        v = r.choice(self.holders(m, []) or [m])
        keys = list(v) if isinstance(v, dict) else range(len(v))
        if not keys:
            return
        k, how = r.choice(list(keys)), r.randrange(7)
        if how == 0:
            del v[k]
        elif how == 1 and isinstance(v, dict):
            v[r.choice(TEXTS + ["id", "method", "params", "jsonrpc"])] = \
                self.value()
        elif how == 2 and isinstance(v, dict):
            v[r.choice(TEXTS)] = v.pop(k)
        elif how == 3:
            v[k] = copy.deepcopy(r.choice(self.holders(
                r.choice(self.whole), [])))
        elif how == 4 and isinstance(v, list):
            v.extend(copy.deepcopy(v[:200]))
        elif "method" in m and r.random() < 0.1:
            m["method"] = r.choice(self.methods)
        else:
            v[k] = self.value()

    # Changes of what it is made of

    def spoil(self, data):
        r = self.rng
        for _ in range(r.choice([1, 1, 2, 5])):
            at = r.randrange(len(data) + 1)
            how = r.randrange(6)
            if how == 0 and at < len(data):
                data[at] ^= 1 << r.randrange(8)
            elif how == 1 and at < len(data):
                data[at] = r.randrange(256)
            elif how == 2:
                del data[at:at + r.choice([1, 2, 10, 1000])]
            elif how == 3:
                data[at:at] = r.choice(TOKENS)
            elif how == 4:
                data[at:at] = data[at:at + r.choice([1, 5, 50])]
            else:
                del data[at:]
        return data

    def message(self):
        """One that means something, perhaps nonsense."""
        r = self.rng
        m = copy.deepcopy(r.choice(self.whole if r.random() < 0.5
                                   else self.seeds))
        for _ in range(r.choice([0, 0, 0, 1, 1, 1, 2, 3, 6])):
            if isinstance(m, dict):
                self.change(m)
        if isinstance(m, dict) and "id" in m and r.random() < 0.9:
            m["id"] = r.randrange(1 << 20)
        params = m.get("params") if isinstance(m, dict) else None
        if isinstance(params, dict) and r.random() < 0.5:
            for k, v in params.items():
                if k in PLACES and v in self.paths:
                    params[k] = self.top + r.choice(GOOD)
                elif k in ("processId", "handleId", "requestId") and \
                        isinstance(v, str):
                    params[k] = r.choice("pqrst")
        return self.bounded(m)

    def mutant(self):
        r = self.rng
        m = self.message()
        if r.random() < 0.75:
            return json.dumps(m, ensure_ascii=r.random() < 0.5).encode(
                errors="surrogatepass")
        # Of what is spoilt nobody knows what it says: nothing that could hurt.
        if isinstance(m, dict) and isinstance(m.get("params"), dict) and \
                "argv" in m["params"]:
            m["params"]["argv"] = ["/bin/true"]
        data = bytearray(json.dumps(m).encode())
        if REMOVE.encode() in data:
            return bytes(data)
        data = self.spoil(data)
        if r.random() < 0.05:
            data += self.spoil(bytearray(json.dumps(
                r.choice(self.whole[:4])).encode()))
        return bytes(data)

    def lasting(self):
        """One that is answered, if with an error: not the end of all."""
        while True:
            data = self.mutant()
            if not ends(data):
                return data

    # Frames

    def frames(self, data):
        """A message in a lawful way: in parts, with others in between."""
        r, out = self.rng, b""
        if r.random() < 0.9 or not data:
            return frame(r, 1, data)
        cuts = sorted(r.randrange(len(data) + 1)
                      for _ in range(r.choice([1, 2, 10])))
        for i, (a, b) in enumerate(zip([0] + cuts, cuts + [len(data)])):
            out += frame(r, 0 if i else 1, data[a:b], i == len(cuts))
            if r.random() < 0.2 and i < len(cuts):
                out += frame(r, r.choice([9, 10]), os.urandom(r.choice(
                    [0, 5, 125])))
        return out

    def wild(self, data):
        """A frame that no client sends."""
        r, how = self.rng, self.rng.randrange(8)
        if how == 0:
            return frame(r, r.randrange(16), data, r.random() < 0.7,
                         rsv=r.choice([0, 0, 1, 4, 7]))
        if how == 1:
            return frame(r, 1, data, masked=False)
        if how == 2:
            return frame(r, 1, data, size=r.choice([
                0, 1, 125, 126, 127, 65535, 65536, 2**24, 2**24 + 1, 2**31,
                2**32, 2**63 - 1, 2**63, 2**64 - 1]))
        if how == 3:
            return frame(r, r.choice([8, 9, 10]), r.choice([
                b"", b"x", b"\x03\xe8", b"\x03\xe8\xff", b"\0\0",
                b"\x03\xed", b"y" * 125, b"y" * 126]), r.random() < 0.8)
        if how == 4:
            return bytes(self.spoil(bytearray(frame(r, 1, data))))
        if how == 5:
            return frame(r, 0, data)
        if how == 6:
            return frame(r, 1, b"", False) * r.choice([1, 2, 50]) + \
                frame(r, 0, data)
        return os.urandom(r.choice([1, 2, 14, 500]))

    def head(self, request):
        """An upgrade request that is none, mostly."""
        return bytes(self.spoil(bytearray(request)))


def ends(data):
    """Whether a connection ends with such a message, by the protocol."""
    try:
        m = json.loads(data.decode())
    except UnicodeDecodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return isinstance(m, dict) and ("id" not in m or "method" not in m or
                                    m["method"] == "session/close")


def frame(rng, op, data=b"", fin=True, rsv=0, masked=True, size=None):
    n = len(data) if size is None else size
    head = bytes([(0x80 if fin else 0) | rsv << 4 | op])
    bit = 0x80 if masked else 0
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    if not masked:
        return head + data
    key = rng.randbytes(4)
    pad = (key * (len(data) // 4 + 1))[:len(data)]
    return head + key + (int.from_bytes(data, "little") ^ int.from_bytes(
        pad, "little")).to_bytes(len(data), "little")
