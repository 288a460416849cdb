"""A strict reader of OpenMetrics 1.0.0 texts, for the types that we use."""
import re

from client import check

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["n\\])*)"'
SAMPLE = re.compile(r"(%s)(?:\{((?:%s)(?:,%s)*)\})? (-?\d+(?:\.\d+)?)" %
                    (NAME, LABEL, LABEL))
META = re.compile(r"# (TYPE|UNIT|HELP) (%s) (.+)" % NAME)
ESCAPED = re.compile(r'(?:[^\\]|\\[n\\"])*')
SUFFIX = {"counter": "_total", "gauge": "", "info": "_info"}


class Family:
    def __init__(self, name):
        self.name = name
        self.meta = {}
        self.samples = {}           # by labels, as a frozenset of pairs


def labels_of(text):
    pairs = re.findall(LABEL, text or "")
    check(len(pairs) == len({name for name, _ in pairs}),
          "a label twice: %s" % text)
    return frozenset(pairs)


def read(data):
    """The families by name; anything that is not right is an error."""
    text = data.decode("utf-8")
    check(text.endswith("\n# EOF\n"), "the end: %r" % text[-40:])
    check(text.count("# EOF") == 1 and "\r" not in text, "ends inside")
    families, now = {}, None

    def family(name):
        nonlocal now
        if now is None or now.name != name:
            check(name not in families, "torn apart: " + name)
            now = families[name] = Family(name)
        return now

    for line in text[:-len("# EOF\n")].splitlines():
        meta, sample = META.fullmatch(line), SAMPLE.fullmatch(line)
        check(meta or sample, "no such line: %r" % line)
        if meta:
            kind, name, value = meta.groups()
            f = family(name)
            check(kind not in f.meta and not f.samples, "late: " + line)
            check(kind != "TYPE" or value in SUFFIX, "type: " + line)
            check(ESCAPED.fullmatch(value), "escapes: " + line)
            f.meta[kind] = value
            continue
        name, labels, value = sample.group(1, 2, 7)
        check(now is not None and "TYPE" in now.meta, "no type: " + line)
        check(name == now.name + SUFFIX[now.meta["TYPE"]], "whose: " + line)
        labels = labels_of(labels)
        check(labels not in now.samples, "twice: " + line)
        now.samples[labels] = float(value)
    for f in families.values():
        check(f.samples and "HELP" in f.meta, "nothing in " + f.name)
        check("UNIT" not in f.meta or f.name.endswith("_" + f.meta["UNIT"]),
              "the unit of " + f.name)
        kind, values = f.meta["TYPE"], f.samples.values()
        check(kind != "counter" or all(v >= 0 for v in values), f.name)
        check(kind != "info" or set(values) == {1.0}, f.name)
        keys = {frozenset(n for n, _ in labels) for labels in f.samples}
        check(len(keys) == 1, "labels of %s: %s" % (f.name, keys))
    return families


def value(families, name, **labels):
    return families[name].samples[frozenset(labels.items())]
