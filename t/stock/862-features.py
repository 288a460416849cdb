#!/usr/bin/env python3
"""Features that are off by default: discovery and shell snapshots."""
from model import command
from rig import check, main, same

FEATURES = '''\
apps = false
executor_capability_discovery_v2 = true
shell_snapshot_v2 = true
'''
SKILL = '''\
---
name: pour-tea
description: Fills the cup: of the server, see stock test.
---
Lift the pot.
'''


def script(model):
    for _ in range(2):
        out = yield command('greet "$WHO"', login=True)
        same((out.code, out.text), (0, 'hello profile\n'), 'greeting')
    out = yield command('exit 4', login=True)
    same(out.code, 4, 'exit code')


def run(rig):
    home = rig.folder('server')
    rig.file('server/.codex/skills/pour/SKILL.md', SKILL)
    rig.file('server/.bash_profile', 'echo ran >>%s/log\necho noise\n'
             'export WHO=profile\ngreet() { echo "hello $1"; }\n' % home)
    done = rig.run(script, features=FEATURES)
    found = done.proxy.sent('capabilities/discoverV2')
    check(found, 'discovery was not asked for')
    check(all(p['cwd'].startswith('file://') for p in found), found)
    starts = [p for p in done.proxy.sent('process/start')
              if p.get('shellSnapshot')]
    check(len(starts) >= 3, 'snapshots were not asked for')
    same(len({p['shellSnapshot']['scopeId'] for p in starts}), 1, 'scopes')
    with open(home / 'log', encoding='ascii') as f:
        same(f.read(), 'ran\n', 'startup files ran')
    check('pour-tea' in done.model.prompt(), 'the skill is not in the prompt')


main(run)
