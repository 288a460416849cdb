#!/usr/bin/env python3
"""Read-only and workspace-write: what is denied does not happen, and the
model learns of it."""
import socket
import subprocess

from model import command, patch
from rig import Skip, check, main, same

# What the client's mode leaves writable is the workspace alone.
NARROW = '''\
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
'''

# Read-only, as the client says it.
PROBE = {
    'processId': 'probe', 'argv': ['/bin/true'], 'cwd': 'file:///', 'env': {},
    'tty': False, 'pipeStdin': False, 'arg0': None,
    'sandbox': {
        'permissions': {'type': 'managed', 'file_system': {
            'type': 'restricted', 'entries': [{
                'path': {'type': 'special', 'value': {'kind': 'root'}},
                'access': 'read'}]}, 'network': 'restricted'},
        'cwd': 'file:///', 'workspaceRoots': ['file:///'],
        'windowsSandboxLevel': 'disabled', 'useLegacyLandlock': False,
        'windowsSandboxProxySettingsMode': 'reconcile'},
    'enforceManagedNetwork': False, 'managedNetwork': None}


def denied(out):
    """A command that wanted to make or change a file."""
    check(out.code not in (None, 0), 'it went well: %s' % out)
    check('Read-only file system' in out.text or
          'Permission denied' in out.text, out)


def told(run, *wanted):
    """What the client was told at the end of each command."""
    same([note['sandboxDenied'] for note in run.proxy.sent('process/exited')],
         list(wanted), 'sandboxDenied')


def rejected(out):
    """A patch that came to nothing."""
    check('Success' not in out.all and ('rejected' in out.all or
                                        'Failed to write' in out.all), out)


def read_only(rig):
    cwd = rig.folder('ws')
    seen = rig.file('ws/seen', 'to be read\n')

    def script(model):
        out = yield command('cat seen; echo x >/dev/null')
        same((out.code, out.text), (0, 'to be read\n'), 'reading')
        for text in ('echo x >new', 'echo x >%s' % (rig.work / 'tmp/new'),
                     'echo more >>seen', 'rm seen', 'chmod 777 seen',
                     'mv seen new'):
            denied((yield command(text)))
        rejected((yield patch('*** Add File: new', '+x')))
    run = rig.run(script, sandbox='read-only')
    told(run, False, *[True] * 6)
    same(list(cwd.iterdir()), [seen], 'the workspace')
    same(list((rig.work / 'tmp').glob('new')), [], 'the temporary folder')
    same((seen.read_text(), seen.stat().st_mode & 0o777),
         ('to be read\n', 0o644), 'the file')


def workspace_write(rig):
    cwd, outside = rig.folder('ws'), rig.folder('outside')
    rig.folder('ws/.git')
    (cwd / 'way out').symlink_to(outside)
    forbidden = [outside, cwd / '.git', rig.folder('tmp')]

    def script(model):
        out = yield command('echo x >new; mkdir d; echo y >d/e; mv new d; '
                            'cat d/new')
        same((out.code, out.text), (0, 'x\n'), 'in the workspace')
        out = yield patch('*** Add File: p/q', '+x', '*** Update File: d/e',
                          '@@', '-y', '+z')
        check('Success' in out.all, out)
        same((cwd / 'p/q').read_text() + (cwd / 'd/e').read_text(), 'x\nz\n')
        for folder in (*forbidden, cwd / 'way out'):
            denied((yield command("echo x >'%s/new'" % folder)))
        # The last of these only the server can refuse.
        for name in ('../outside/new', '.git/new', 'way out/new'):
            rejected((yield patch('*** Add File: ' + name, '+x')))
    run = rig.run(script, sandbox='workspace-write', config=NARROW)
    told(run, False, *[True] * 4)
    for folder in forbidden:
        check(not (folder / 'new').exists(), 'written in %s' % folder)
    check(any('way out' in call['path'].replace('%20', ' ')
              for call in run.proxy.sent('fs/writeFile')),
          'the server was not asked')


def network(rig):
    """Closed, unless the client says otherwise."""
    with socket.create_server(('127.0.0.1', 0)) as listener:
        connect = 'exec 3<>/dev/tcp/127.0.0.1/%d && echo connected' % \
            listener.getsockname()[1]

        def closed(model):
            out = yield command(connect)
            check(out.code != 0 and 'connected' not in out.text, out)

        def opened(model):
            out = yield command(connect)
            same(out.text, 'connected\n')
        rig.run(closed, sandbox='workspace-write')
        rig.run(opened, sandbox='workspace-write',
                config='[sandbox_workspace_write]\nnetwork_access = true\n')


def run(rig):
    code, why = rig.code_of('process/start', PROBE)
    if code:
        check(subprocess.run(['unshare', '-Ur', 'true']).returncode != 0,
              'no sandbox, though there are user namespaces: %s' % why)
        raise Skip('no sandbox can be enforced here: %s' % why)
    for part in (read_only, workspace_write, network):
        print(part.__name__, flush=True)
        part(rig)


main(run)
