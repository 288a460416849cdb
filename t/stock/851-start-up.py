#!/usr/bin/env python3
"""A session starts: what the client finds out before it asks the model."""
from model import command
from rig import check, main, same

SKILL = '''\
---
name: brew-tea
description: Puts the kettle on, see stock test.
---
Fill the kettle first.
'''


def pwd(cwd):
    def script(model):
        out = yield command('pwd')
        same((out.code, out.text), (0, '%s\n' % cwd), 'pwd')
    return script


def documents(rig):
    """Documents from the root of the repository down, the override first;
    skills of the repository, whatever else is there."""
    top, cwd = rig.folder('ws'), rig.folder('ws/one/two/three')
    rig.folder('ws/.git')
    rig.file('AGENTS.md', 'ABOVE THE REPOSITORY\n')
    rig.file('ws/AGENTS.md', 'OF THE TOP \u00fcn\u00ef\n')
    rig.file('ws/one/AGENTS.md', 'HIDDEN BY THE OVERRIDE\n')
    rig.file('ws/one/AGENTS.override.md', 'OF THE OVERRIDE\n')
    (cwd / 'AGENTS.md').symlink_to('../doc.txt')
    rig.file('ws/one/two/doc.txt', 'OF THE DEEPEST\n')
    skills = rig.folder('ws/.agents/skills')
    rig.file('ws/.agents/skills/tea/SKILL.md', SKILL)
    rig.file('ws/.agents/skills/tea/scripts/x.sh', 'true\n')
    rig.file('ws/.agents/skills/broken/SKILL.md', 'no front matter\n')
    run = rig.run(pwd(cwd), cwd=cwd, prompt='use $brew-tea')
    prompt = run.model.prompt()
    places = [prompt.find(words) for words in (
        'OF THE TOP \u00fcn\u00ef', 'OF THE OVERRIDE', 'OF THE DEEPEST')]
    check(-1 < places[0] < places[1] < places[2],
          'documents found at %s' % places)
    for words in ('ABOVE THE REPOSITORY', 'HIDDEN BY THE OVERRIDE'):
        check(words not in prompt, words)
    for words in ('brew-tea', 'Puts the kettle on', 'tea/SKILL.md',
                  str(skills), 'Fill the kettle first.'):
        check(words in prompt, 'not in the prompt: ' + words)
    check(str(top) in prompt and str(cwd) in prompt, 'no workspace')
    for method in ('environmentConfig/read', 'fs/walk', 'fs/readFile'):
        check(run.proxy.sent(method), 'never asked: ' + method)


def nothing(rig):
    """Folders whose names have to be escaped, and nothing in them."""
    cwd = rig.folder('a b/\u00fcn\u00ef %41#?&+/;=@')
    run = rig.run(pwd(cwd), cwd=cwd)
    check('brew-tea' not in run.model.prompt(), 'a skill from elsewhere')


def unreadable(rig):
    """A document that may not be read keeps nobody from working."""
    cwd = rig.folder('locked')
    rig.file('locked/AGENTS.md', 'SECRET\n').chmod(0)
    run = rig.run(pwd(cwd), cwd=cwd)
    check('SECRET' not in run.model.prompt(), 'it was read')


def run(rig):
    documents(rig)
    nothing(rig)
    unreadable(rig)


main(run)
