#!/usr/bin/env python3
"""Patches: files added, changed, moved and deleted; those that do not fit."""
import os

from model import command, patch
from rig import check, main, same

OLD = 'one\ntwo\nthree\n'
NEW = 'one\n2 \u00fc\nthree\n'
CHANGE = ('@@', ' one', '-two', '+2 \u00fc', ' three')


def files(cwd):
    """Every file's content, by its path in the workspace."""
    found = {}
    for folder, _, names in os.walk(cwd):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding='utf-8') as file:
                found[os.path.relpath(path, cwd)] = file.read()
    return found


def all_kinds(cwd):
    def script(model):
        before = {name: OLD for name in (
            'change', 'move me', 'delete', 'stay', 'folder/deep')}
        for name, text in before.items():
            path = cwd / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        (cwd / 'link').symlink_to('folder/deep')
        out = yield patch(
            '*** Add File: new/f\u00f6lder/a%b.txt', '+first', '+second',
            '*** Update File: change', *CHANGE,
            '*** Update File: move me', '*** Move to: else/where', *CHANGE,
            '*** Delete File: delete',
            '*** Update File: link', *CHANGE)
        check(out.all.startswith('Exit code: 0\n') or 'Success' in out.all,
              out)
        same(files(cwd), {
            'new/f\u00f6lder/a%b.txt': 'first\nsecond\n', 'change': NEW,
            'else/where': NEW, 'stay': OLD, 'folder/deep': NEW, 'link': NEW},
            'the workspace')
        check((cwd / 'link').is_symlink(), 'the link became a file')
    return script


def refused(cwd):
    """Nothing is half done, and the model is told."""
    def script(model):
        before = files(cwd)
        for lines, why in (
                (('*** Update File: stay', '@@', '-no such line', '+x'),
                 'no such line'),
                (('*** Update File: no-such', *CHANGE), 'no-such'),
                (('*** Delete File: no-such',), 'no-such'),
                (('*** Add File: stay/x', '+x'), 'stay/x')):
            out = yield patch(*lines)
            check(why in out.all and 'Success' not in out.all, out)
            same(files(cwd), before, 'the workspace')
    return script


def by_command(cwd):
    """As a here-document, which the client carries out itself."""
    def script(model):
        out = yield command("apply_patch <<'EOF'\n*** Begin Patch\n"
                            '*** Add File: here\n+document\n'
                            '*** End Patch\nEOF\n')
        check('Success' in out.all, out)
        same((cwd / 'here').read_text(), 'document\n')
    return script


def run(rig):
    cwd = rig.folder('ws')

    def script(model):
        for part in (all_kinds, refused, by_command):
            yield from part(cwd)(model)

    run = rig.run(script)
    for method in ('fs/writeFile', 'fs/createDirectory', 'fs/remove'):
        check(run.proxy.sent(method), 'not used: ' + method)


main(run)
