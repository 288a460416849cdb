#!/usr/bin/env python3
"""Makes startup.txt: what the client sends when a session starts.

usage: TMPDIR=/tmp record.py --reference >startup.txt

A workspace six folders deep, the root of the repository above it, two
documents, one skill.  A line is either

    > MESSAGE       sent by the client
    < ID            before it goes on, this request has been answered

@BASE@ stands for the folder that startup.py makes in the same shape.
"""
import json

from rig import main
from startup import CWD, FILES


def lines(log):
    for _, way, message in log:
        if way == '>':
            yield '> ' + json.dumps(message, separators=(',', ':'))
        elif 'id' in message:
            yield '< %d' % message['id']


def run(rig):
    for name, content in FILES.items():
        rig.file(name, content)
    rig.folder('ws/.git')
    seen = []

    def script(_):
        """Says nothing, but is asked for the first time now."""
        seen.extend(rig.runs[-1].proxy.log)
        yield from ()
    rig.run(script, cwd=rig.folder(CWD), pace=0.02)
    for line in lines(seen):
        print(line.replace(str(rig.work), '@BASE@'))


main(run)
