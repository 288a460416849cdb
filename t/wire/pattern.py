"""Patterns for JSON messages: what a "<" line of a script expects.

JSON, and besides: ... (any value; other members; other elements), $NAME
(binds a free variable, else must be equal), /REGEX/ (text that contains it),
b64 before a text or regex (base64 of it), <N <=N >N >=N, the words text int
bool list object absent, and A | B. README has examples.
"""
import base64
import binascii
import json
import re

WORD = re.compile(r"[a-z][a-z0-9]*")
NAME = re.compile(r"[A-Z][A-Z0-9_]*")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
BOUND = re.compile(r"(<=|>=|<|>)\s*(-?[0-9]+)")
REPEAT = re.compile(r"\{\{(\d+)\*(.+?)\}\}", re.S)
BASE64 = re.compile(r"\{\{b64:(.*?)\}\}", re.S)
ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.S)
SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}
VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]*)")

TYPES = {
    "text": lambda v: isinstance(v, str),
    "int": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "bool": lambda v: isinstance(v, bool),
    "list": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}
CONSTANTS = {"true": True, "false": False, "null": None}
ABSENT = object()


class PatternError(Exception):
    """The script is wrong, not the server."""


def unescape(text):
    """C escapes (\\n \\r \\t \\0 \\\\ \\xNN) to bytes; the rest as UTF-8."""
    def byte(m):
        if m.group(1):
            return bytes([int(m.group(1), 16)])
        if m.group(2) not in SIMPLE:
            raise PatternError("bad escape: %r" % m.group(0))
        return SIMPLE[m.group(2)]

    return ESCAPE.sub(byte, text.encode())


def expand(text, names):
    """Fill in {{N*TEXT}}, {{b64:TEXT}} and the variables that have a value.

    A name without a value stays: the shell of a test may mean its own.
    """
    def value(m):
        v = names.get(m.group(1), m.group(0))
        return json.dumps(v, ensure_ascii=False)[1:-1] if isinstance(v, str) \
            else json.dumps(v)

    text = VARIABLE.sub(value, text)
    text = REPEAT.sub(lambda m: m.group(2) * int(m.group(1)), text)
    return BASE64.sub(lambda m: base64.b64encode(
        unescape(m.group(1))).decode(), text)


class Parser:
    def __init__(self, text, names):
        self.text, self.names, self.pos = text, names, 0

    def fail(self, what):
        raise PatternError("%s at: %s" % (what, self.text[self.pos:][:40]))

    def peek(self, token):
        while self.text[self.pos:self.pos + 1].isspace():
            self.pos += 1
        return self.text.startswith(token, self.pos)

    def take(self, token):
        if self.peek(token):
            self.pos += len(token)
            return True
        return False

    def need(self, token):
        if not self.take(token):
            self.fail("expected " + token)

    def match(self, regex):
        self.peek("")
        m = regex.match(self.text, self.pos)
        if m:
            self.pos = m.end()
        return m

    def whole(self):
        node = self.choice()
        self.peek("")
        if self.pos != len(self.text):
            self.fail("trailing text")
        return node

    def choice(self):
        nodes = [self.value()]
        while self.take("|"):
            nodes.append(self.value())
        return nodes[0] if len(nodes) == 1 else ("or", nodes)

    def string(self):
        try:
            s, self.pos = json.decoder.scanstring(self.text, self.pos)
        except ValueError as e:
            self.fail(str(e))
        # A text is filled in after it was read: its value is no JSON then.
        full = REPEAT.sub(lambda m: m.group(2) * int(m.group(1)), s)
        return VARIABLE.sub(lambda m: str(self.names.get(
            m.group(1), m.group(0))), full)

    def regex(self):
        m = self.match(re.compile(r"((?:[^/\\]|\\.)*)/"))
        if not m:
            self.fail("unfinished regex")
        return ("regex", re.compile(m.group(1).replace("\\/", "/"), re.S))

    def value(self):
        if self.take("..."):
            return ("any",)
        if self.take("{"):
            return self.members()
        if self.take("["):
            return self.elements()
        if self.take('"'):
            return ("is", self.string())
        if self.take("/"):
            return self.regex()
        if self.take("$"):
            m = self.match(NAME)
            return ("var", m.group(0)) if m else self.fail("variable name")
        m = self.match(BOUND)
        if m:
            return ("bound", m.group(1), int(m.group(2)))
        m = self.match(NUMBER)
        if m:
            return ("is", json.loads(m.group(0)))
        m = self.match(WORD)
        return self.word(m.group(0)) if m else self.fail("no pattern")

    def word(self, w):
        if w == "b64":
            return ("b64", self.value())
        if w == "absent":
            return ("absent",)
        if w in CONSTANTS:
            return ("is", CONSTANTS[w])
        return ("type", w) if w in TYPES else self.fail("unknown word " + w)

    def members(self):
        wanted, is_open = {}, False
        while not self.take("}"):
            if self.take("..."):
                is_open = True
            else:
                self.need('"')
                key = self.string()
                self.need(":")
                wanted[key] = self.choice()
            if not self.take(",") and not self.peek("}"):
                self.fail("expected , or }")
        return ("object", wanted, is_open)

    def elements(self):
        items = []
        while not self.take("]"):
            # In a list ... stands for any number of elements.
            items.append(("many",) if self.take("...") else self.choice())
            if not self.take(",") and not self.peek("]"):
                self.fail("expected , or ]")
        return ("list", items)


def short(value):
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    return text if len(text) < 500 else text[:300] + " ... " + text[-100:]


def m_or(node, value, names, path):
    why = []
    for n in node[1]:
        bad = check(n, value, names, path)
        if not bad:
            return ""
        why.append(bad)
    return " | ".join(why)


def m_is(node, value, names, path):
    if type(value) is type(node[1]) and value == node[1]:
        return ""
    return "%s: %s, not %s" % (path, short(value), short(node[1]))


def m_regex(node, value, names, path):
    m = node[1].search(value) if isinstance(value, str) else None
    if m:
        names.update(m.groupdict())     # (?P<NAME>...) binds
        return ""
    return "%s: %s does not match /%s/" % (path, short(value), node[1].pattern)


def m_var(node, value, names, path):
    if node[1] not in names:
        names[node[1]] = value
        return ""
    return m_is(("is", names[node[1]]), value, names, path)


def m_bound(node, value, names, path):
    op, n = node[1], node[2]
    good = TYPES["int"](value) and {
        "<": value < n, "<=": value <= n, ">": value > n, ">=": value >= n}[op]
    return "" if good else "%s: %s, not %s%d" % (path, short(value), op, n)


def m_b64(node, value, names, path):
    try:
        raw = base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return "%s: %s is no base64" % (path, short(value))
    return check(node[1], raw.decode("utf-8", "surrogateescape"), names, path)


def m_type(node, value, names, path):
    return "" if TYPES[node[1]](value) else "%s: %s is no %s" % (
        path, short(value), node[1])


def m_object(node, value, names, path):
    if not isinstance(value, dict):
        return "%s: %s is no object" % (path, short(value))
    for key, n in node[1].items():
        if n == ("absent",):
            if key in value:
                return "%s.%s: should be absent" % (path, key)
            continue
        bad = check(n, value.get(key, ABSENT), names, path + "." + key)
        if bad:
            return bad
    extra = set(value) - set(node[1])
    if extra and not node[2]:
        return "%s: unexpected %s" % (path, ", ".join(sorted(extra)))
    return ""


def m_list(node, value, names, path):
    if not isinstance(value, list):
        return "%s: %s is no list" % (path, short(value))
    return match_items(node[1], value, names, path)


def match_items(items, value, names, path, at=0):
    """The elements from at on; copies of a long list would take seconds."""
    left = len(value) - at
    if not items:
        return "%s: %d elements too many" % (path, left) if left else ""
    if items[0] == ("many",):
        bad = ""
        for start in range(at, len(value) + 1):
            trial = dict(names)
            bad = match_items(items[1:], value, trial, path, start)
            if not bad:
                names.update(trial)
                return ""
        return bad
    if not left:
        return "%s: elements missing" % path
    return check(items[0], value[at], names, path + "[]") or \
        match_items(items[1:], value, names, path, at + 1)


MATCH = {"or": m_or, "is": m_is, "regex": m_regex, "var": m_var,
         "bound": m_bound, "b64": m_b64, "type": m_type, "object": m_object,
         "list": m_list}


def check(node, value, names, path="message"):
    if node[0] == "absent":
        return "" if value is ABSENT else path + ": should be absent"
    if value is ABSENT:
        return path + ": missing"
    if node[0] == "any":
        return ""
    return MATCH[node[0]](node, value, names, path)


def compile_pattern(text, names):
    return Parser(text, names).whole()


def match(node, value, names):
    """Empty text when value fits, and names then has what was bound."""
    trial = dict(names)
    bad = check(node, value, trial)
    if not bad:
        names.update(trial)
    return bad
