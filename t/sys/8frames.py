"""The clear frames of the rendezvous, by hand: so they can be wrong too."""
import collections

REASON = "noise_relay_protocol_error"
BODIES = {5: "data", 6: "ack", 7: "resume", 8: "reset", 9: "heartbeat",
          10: "handshake"}

Frame = collections.namedtuple(
    "Frame", "version stream ack bits kind seq index count payload")


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def uint(number, value):
    """Zero is not written."""
    return varint(number << 3) + varint(value) if value else b""


def text(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def some(number, value):
    """Nothing is not written."""
    return text(number, value) if value else b""


def frame(stream, body=b"", version=1, ack=0, bits=0):
    """A frame of a stream id (bytes) and a body as written below."""
    return (uint(1, version) + some(2, stream) + uint(3, ack) +
            uint(4, bits) + body)


def data(stream, seq, payload, index=0, count=1, **more):
    return frame(stream, text(5, uint(1, seq) + uint(2, index) +
                              uint(3, count) + some(4, payload)), **more)


def ack(stream, **more):
    return frame(stream, text(6, b""), **more)


def resume(stream, number=0, **more):
    return frame(stream, text(7, uint(1, number)), **more)


def reset(stream, reason=b"because", **more):
    return frame(stream, text(8, some(1, reason)), **more)


def heartbeat(stream, **more):
    return frame(stream, text(9, b""), **more)


def flow(stream, is_stopped):
    """Of our hub, to executors of ours."""
    return frame(stream, text(1001, uint(1, is_stopped)))


def handshake(stream, payload, **more):
    return frame(stream, text(10, some(1, payload)), **more)


def fields(data):
    """(number, value) of all fields; ValueError if they are not well formed."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            if at == len(data) or shift > 63:
                raise ValueError("cut")
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 2:
            end = number() + at
            if end > len(data):
                raise ValueError("cut")
            yield key >> 3, data[at:end]
            at = end
        elif key & 7 in (1, 5):
            end = at + (8 if key & 7 == 1 else 4)
            if end > len(data):
                raise ValueError("cut")
            yield key >> 3, data[at:end]
            at = end
        else:
            raise ValueError("wire type %d" % (key & 7))


def decode(data):
    """What an executor sent: only what it may use is known here."""
    outer = {}
    kind, inner = None, {}
    for number, value in fields(data):
        if number in BODIES:
            kind, inner = BODIES[number], dict(fields(value))
        elif number in (1, 2, 3, 4):
            outer[number] = value
        else:
            raise ValueError("field %d" % number)
    payload = inner.get({"data": 4, "reset": 1, "handshake": 1}.get(kind), b"")
    seq, index, count = (inner.get(n, 0) if kind == "data" else 0
                         for n in (1, 2, 3))
    return Frame(outer.get(1, 0), outer.get(2, b""), outer.get(3, 0),
                 outer.get(4, 0), kind, seq, index, count, payload)
