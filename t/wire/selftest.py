"""Checks of the runner itself: that what is wrong is found wrong."""
import struct
import time

from conn import Conn, frame, mask_bytes
from pattern import PatternError, compile_pattern, expand, match, unescape
from script import Failure, Late, Output, Run

FITS = [
    ('{"a":1,...}', {"a": 1, "b": 2}), ('{"a":...}', {"a": None}),
    ('[1,...]', [1]), ('[...,3]', [1, 2, 3]), ('[...,2,...]', [1, 2, 3]),
    ('[...,2,3]', [2, 1, 2, 3]),
    ('"x" | null', None), ('/^a+$/', "aaa"), ('b64 "hi"', "aGk="),
    ('>=5', 5), ('{"a":absent,...}', {}), ('text', ""), ('bool', False),
    ('{"a":$X,"b":$X}', {"a": [1], "b": [1]}), ('"{{3*ab}}"', "ababab"),
    ('{"a":absent|false,...}', {"a": False}),
]
MISFITS = [
    ('{"a":1}', {"a": 1, "b": 2}), ('{"a":1,...}', {"a": True}),
    ('1', 1.0), ('1', "1"), ('0', False), ('null', False), ('[1]', [1, 2]),
    ('[...,3]', [3, 4]), ('[...,2,...,3]', [3, 2, 1]),
    ('/^a+$/', "aab"), ('b64 "hi"', "aGk"), ('>5', 5),
    ('int', True), ('{"a":absent,...}', {"a": None}), ('{"a":...}', {}),
    ('{"a":$X,"b":$X}', {"a": 1, "b": 2}), ('"x" | null', "y"),
]
WRONG = ['{"a"}', '[1', 'nonsense', '{"a":1 "b":2}', '1 2', '/x']


def patterns():
    for text, value in FITS:
        bad = match(compile_pattern(text, {}), value, {})
        assert not bad, (text, value, bad)
    for text, value in MISFITS:
        assert match(compile_pattern(text, {}), value, {}), (text, value)
    for text in WRONG:
        try:
            compile_pattern(text, {})
        except PatternError:
            continue
        raise AssertionError(text)
    names = {}
    match(compile_pattern('/(?P<PID>[0-9]+)/', names), "pid 17", names)
    assert names == {"PID": "17"}
    assert expand("$A $B {{2*x}} {{b64:\\n}}", {"A": 'q"'}) == \
        'q\\" $B xx Cg=='
    assert unescape("a\\x00\\r\\n\\\\") == b"a\0\r\n\\"


def frames():
    for n in (0, 125, 126, 65535, 65536):
        f = frame(1, b"x" * n, masked=False)
        c = Conn("t")
        c.mode, c.buf = "ws", bytearray(f)
        assert c.take_frame() == (True, 1, b"x" * n) and not c.faults
    assert mask_bytes(b"\1\2\3\4", mask_bytes(b"\1\2\3\4", b"hello")) == \
        b"hello"
    wrong = [frame(1, b"{}"), frame(1, b"{}", masked=False, rsv=4),
             frame(1, b"{}", masked=False, form=16),
             frame(2, b"{}", masked=False), frame(1, b"[]", masked=False),
             frame(1, b'{"a":1,"a":1}', masked=False),
             frame(0, b"{}", masked=False), frame(9, b"", masked=False,
                                                  fin=False),
             frame(1, b'{"id":1,"result":1,"error":{}}', masked=False)]
    for f in wrong:
        c = Conn("t")
        c.mode, c.buf = "ws", bytearray(f)
        with c.cond:
            c.parse()
        assert c.faults, f
    assert struct.unpack(">H", frame(8, b"\3\xe8", masked=False)[2:])[0] == \
        1000


def note(c, text):
    with c.cond:
        c.on_message(text.encode(), 1, 1)


def order():
    out = '{"method":"process/output","params":{"processId":"p","seq":%d}}'
    c = Conn("t")
    c.mode = "ws"
    c.send_text('{"id":1,"method":"process/start",'
                '"params":{"processId":"p"}}')
    note(c, out % 1)
    assert len(c.faults) == 1      # before the answer
    note(c, '{"id":1,"result":{}}')
    note(c, out % 2)
    assert len(c.faults) == 1
    note(c, out % 4)
    assert len(c.faults) == 2      # a gap
    o = Output()
    o.add(1, ("output", "stdout", "aGk="))
    o.add(3, ("closed",))
    assert not o.is_complete() and o.cursor() == 1
    o.add(2, ("exited", 5, False))
    assert o.is_complete()
    assert match(compile_pattern('{"stdout":"hi","exit":5,...}', {}),
                 o.summary(), {}) == "" and not o.trouble
    o.add(1, ("output", "stdout", "aGo="))
    o.add(4, ("output", "stdout", ""))
    o.summary()
    assert len(o.trouble) == 2


def lateness():
    """What comes too late is told from what is wrong, and from what is not."""
    for since, text, wanted in ((9, '{"id":1}', None), (-9, '{"id":1}', Late),
                                (9, '{"id":2}', Failure)):
        run, c = Run.__new__(Run), Conn("t")
        run.scale, run.names, run.conn = 1, {}, lambda c=c: c
        run.deadline = time.monotonic() + since
        note(c, text)
        came = None
        try:
            run.take(compile_pattern('{"id":1}', {}), False, run.limit())
        except Failure as e:
            came = type(e)
        assert came is wanted, (text, since, came)


def check():
    """None, or what is wrong."""
    for part in (patterns, frames, order, lateness):
        try:
            part()
        except AssertionError as e:
            return "%s: %r" % (part.__name__, e)
    return None


if __name__ == "__main__":
    raise SystemExit(check())
