#!/usr/bin/env python3
"""20 MB in one file: read, changed, shown, removed.

The client writes a file in one frame of 4/3 of its size.  With the reference a
frame may have 16 MiB: with it all is tried with 10 MB.
"""
import base64
import os
import struct
import zlib

from model import command, image, patch
from rig import check, main, same


def png(size):
    """A picture that no compression made smaller than that many bytes."""
    side = int((size / 3) ** 0.5) + 1
    rows = b''.join(b'\0' + os.urandom(3 * side) for _ in range(side))

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + \
            struct.pack('>I', zlib.crc32(kind + data))
    return b'\x89PNG\r\n\x1a\n' + \
        chunk(b'IHDR', struct.pack('>IIBBBBB', side, side, 8, 2, 0, 0, 0)) + \
        chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b'')


def text(size):
    """Lines that are all different."""
    return ''.join('%07d %s\n' % (i, 'x' * 90) for i in range(size // 99))


def run(rig):
    size = (10 if rig.options.reference is not None else 20) * 1000 * 1000
    cwd = rig.folder('ws')
    lines = text(size)
    path = rig.file('ws/large', lines)
    rig.file('ws/large.png', png(size))
    middle = '0050000 ' + 'x' * 90

    def script(model):
        out = yield image('large.png')
        same(len(out.images), 1, 'images in %s' % out)
        kind, data = out.images[0].split(';base64,')
        check(kind.startswith('data:image/') and
              len(base64.b64decode(data)) > 10000, 'not much of a picture')
        out = yield patch('*** Update File: large', '@@', '-' + middle,
                          '+changed', '*** Add File: small', '+s')
        check('Success' in out.all, 'a patch of %d bytes: %s' % (size, out))
        check(path.read_text() == lines.replace(middle, 'changed'),
              'the file is not what it should be')
        out = yield command('wc -c <large')
        same(int(out.text), path.stat().st_size, 'size')
        # What is removed is read before.
        out = yield patch('*** Delete File: large', '*** Delete File: small')
        check('Success' in out.all and not path.exists(), out)

    run = rig.run(script, cwd=cwd)
    same(run.proxy.count, 1, 'connections')


main(run)
