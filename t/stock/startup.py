#!/usr/bin/env python3
"""How long the stock client's requests take when a session starts.

usage: startup.py --url ws://127.0.0.1:PORT [-n TIMES]

Prints the median, in microseconds, from sending "initialize" to the last answer
of startup.txt (see record.py), which is sent in the same order as the client
did: never before what the client had waited for.  The AGENTS.md and the skill
are made in a folder of their own in /tmp, which the server has to see.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'sys'))
from client import Client, LIMIT, check, frame  # noqa: E402

CWD = 'ws/one/two/three'
FILES = {
    'ws/AGENTS.md': 'Be kind to the tests.\n' * 40,
    CWD + '/AGENTS.md': 'And here be quick.\n' * 10,
    'ws/.agents/skills/tea/SKILL.md':
        '---\nname: brew-tea\ndescription: Puts the kettle on.\n---\n' +
        'Fill the kettle first.\n' * 20}
WARM_UP = 3


def make(base):
    """The files, readable for whomever the server runs as."""
    (base / CWD).mkdir(parents=True)
    (base / 'ws/.git').mkdir()
    for name, content in FILES.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    base.chmod(0o755)


def load(base):
    """[bytes to send, ids of the answers to wait for then] ..."""
    steps = []
    path = pathlib.Path(__file__).with_name('startup.txt')
    for line in path.read_text().splitlines():
        kind, text = line[0], line[2:].replace('@BASE@', str(base))
        if kind == '<':
            steps[-1][1].append(int(text))
            continue
        if not steps or steps[-1][1]:
            steps.append((bytearray(), []))
        steps[-1][0].extend(frame(1, text.encode()))
    return steps


def once(url, steps):
    """Seconds of one replay; all answers."""
    with Client(url) as client:
        began = time.perf_counter()
        for data, wanted in steps:
            client.sock.sendall(data)
            client.until(lambda wanted=wanted: all(
                number in client.answers for number in wanted), LIMIT)
        return time.perf_counter() - began, client.answers


def judge(answers):
    """It was a start-up, not a row of errors."""
    found = sum('result' in answer for answer in answers.values())
    check(found >= 10, '%d of %d requests gave a result: %s' % (
        found, len(answers), json.dumps(answers)[:500]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--url', required=True)
    parser.add_argument('-n', type=int, default=50, metavar='TIMES')
    options = parser.parse_args()
    base = pathlib.Path(tempfile.mkdtemp(prefix='stock.', dir='/tmp'))
    try:
        make(base)
        steps = load(base)
        judge(once(options.url, steps)[1])
        times = [once(options.url, steps)[0]
                 for _ in range(WARM_UP + options.n)][WARM_UP:]
    finally:
        shutil.rmtree(base)
    print('%.0f' % (statistics.median(times) * 1e6))


if __name__ == '__main__':
    main()
