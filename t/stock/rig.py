"""Runs the stock client against an exec server, with a scripted model.

A test is a file NNN-title.py:

    from rig import Rig, check, main

    def run(rig):
        ...
    main(run)

Run as root, everything, this program too, becomes the user NOBODY first: a
root client would get a root session, in which a sandbox proves little.
"""
import argparse
import encodings.ascii  # noqa: F401
import encodings.idna   # noqa: F401  (wanted late, when it cannot be read)
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

import model
import proxy
import client           # of t/sys; proxy knows the way
from client import LIMIT, SCALE, SKIP, TMP, check, is_alive, wait_for

__all__ = ['HERE', 'LIMIT', 'Rig', 'Skip', 'check', 'is_alive', 'main', 'same',
           'wait_for']

HERE = pathlib.Path(__file__).resolve().parent
RUN_LIMIT = 200 * SCALE # for one run of the client
NOBODY = 65534
# Below the folder of the npm package for this machine.
VENDOR = {'x86_64': 'codex-linux-x64/vendor/x86_64-unknown-linux-musl',
          'aarch64': 'codex-linux-arm64/vendor/aarch64-unknown-linux-musl'}


class Skip(Exception):
    pass


def same(got, wanted, what=''):
    check(got == wanted, '%s: got %.2000r, not %.2000r' % (what, got, wanted))


# --- programs ----------------------------------------------------------------

def find_client():
    """The real program, not the script that npm puts in front of it."""
    for name in ('CODEX', 'REFERENCE'):
        path = os.environ.get(name)
        if path == 'none':
            raise Skip('no stock client wanted')
        if path:
            path = os.path.realpath(path)
            if path.endswith('/bin/codex.js'):
                path = in_package(pathlib.Path(path).parents[2])
            if not os.access(path, os.X_OK):
                raise Skip('%s: no program %s' % (name, path))
            return path
    build = os.environ.get('BUILD', 'build')
    folder = os.environ.get('STOCK_DIR') or os.path.join(build, 'stock')
    path = in_package(pathlib.Path(folder, 'node_modules', '@openai'))
    if not os.access(path, os.X_OK):
        raise Skip('no stock client in %s (see t/stock/README)' % folder)
    return os.path.abspath(path)


def in_package(openai):
    vendor = VENDOR.get(os.uname().machine)
    if vendor is None:
        raise Skip('there is no stock client for this machine')
    return str(openai / vendor / 'bin' / 'codex')


def may_run(path):
    """Whether NOBODY gets there (asked by root)."""
    old = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        return os.access(path, os.R_OK | os.X_OK, effective_ids=True)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(old)


def within_reach(path, folder, beside):
    """The path itself, or of a copy if NOBODY cannot reach it; with it go the
    files that the pattern finds from where it is."""
    if may_run(path):
        return path
    base = pathlib.Path(path).parent
    for source in [pathlib.Path(path), *base.glob(beside)]:
        sink = pathlib.Path(os.path.normpath(
            folder / os.path.relpath(source, base)))
        sink.parent.mkdir(parents=True, exist_ok=True)
        put(source, sink)
    return str(folder / os.path.basename(path))


def put(source, sink):
    """A link where that will do: the client has 300 MB."""
    if source.stat().st_mode & 0o005 == 0o005:
        try:
            os.link(source, sink)
            return
        except OSError:
            pass
    shutil.copyfile(source, sink)
    sink.chmod(0o755)


# --- the rig -----------------------------------------------------------------

class Server(client.Server):
    """Listens, unless arguments say what else it does."""

    def __init__(self, rig, *arguments, **variables):
        self.reference = rig.options.reference is not None
        home = rig.folder('server')
        env = dict(rig.env, HOME=str(home), EXECSRV_RUNTIME_DIR=str(
            rig.folder('run', 0o700)), **variables)
        env.update((name, value) for name, value in os.environ.items()
                   if name.endswith('SAN_OPTIONS'))
        argv = [rig.program, '-D']
        if self.reference:
            env['CODEX_HOME'] = str(rig.folder('server/.codex'))
            argv = [rig.program, 'exec-server']
        self.log_path = str(rig.work / 'server.log')
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen(
                [*argv, *(arguments or ['--listen', 'ws://127.0.0.1:0'])],
                env=env, cwd=home, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log)
        self.pid = self.process.pid
        try:
            self.url = None if arguments else self.line(LIMIT)
        except BaseException:
            self.kill()
            raise

    def stop(self):
        """Our server has to stop in order, the reference is killed."""
        if not self.reference:
            super().stop()
        self.kill()


class Rig:
    def __init__(self, options):
        self.options = options
        self.server, self.runs = None, []
        self.client = find_client()
        if options.reference is None:
            build = os.path.abspath(os.environ.get('BUILD', 'build'))
            self.program = os.path.join(build, 'execsrvd')
        else:
            self.program = options.reference or self.client
        check(os.access(self.program, os.X_OK), 'no program ' + self.program)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix='stock.', dir=TMP))

    def set_up(self):
        self.work.chmod(0o755)
        if os.geteuid() == 0:
            self.become_nobody()
        self.env = {'PATH': '/usr/local/bin:/usr/bin:/bin',
                    'LANG': 'C.UTF-8', 'SHELL': '/bin/bash',
                    'TMPDIR': str(self.folder('tmp'))}

    def become_nobody(self):
        bin_ = self.work / 'bin'
        vendor = '../codex-resources/bwrap'
        same_one = self.program == self.client
        self.client = within_reach(self.client, bin_ / 'client/bin', vendor)
        self.program = self.client if same_one else within_reach(
            self.program, bin_ / 'server/bin',
            'execsrv[-c]*' if self.options.reference is None else vendor)
        for folder, _, _ in os.walk(self.work):
            os.chown(folder, NOBODY, NOBODY)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        os.chdir(self.work)

    def folder(self, name, mode=0o755):
        path = self.work / name
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(mode)
        return path

    def file(self, name, content):
        """Make a file in the work folder, and the folders above it."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    def start(self):
        """The server, if there is none yet."""
        if self.server is None:
            self.server = Server(self)
        return self.server

    def run(self, script, **more):
        """A whole run of the client; see Run."""
        self.runs.append(Run(self, script, **more))
        self.runs[-1].go()
        return self.runs[-1]

    def code_of(self, method, params):
        """The error that a bare call gets, 0 for a result; and its text."""
        with client.connect(self.start().url) as connection:
            try:
                connection.call(method, params)
            except client.RpcError as error:
                return error.code, error.text
        return 0, ''

    def finish(self):
        if self.server:
            self.server.stop()

    def clean(self):
        if self.server:
            self.server.kill()
        shutil.rmtree(self.work, ignore_errors=True)

    def tell(self):
        """Everything that may explain a failure."""
        for run in self.runs[-1:]:
            print('--- the wire')
            for line in run.proxy.trace():
                print(line)
            print('--- the client')
            print(run.stdout[-20000:])
            print(run.stderr[-20000:])
        if self.server:
            print('--- the server')
            print(self.server.log()[-20000:], flush=True)


CONFIG = '''\
model = "gpt-5.5"
model_provider = "script"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
%s
[model_providers.script]
name = "script"
base_url = "%s"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
%s
'''


class Run:
    """The client once, from start to end.

    script      what the model does (see model.py)
    cwd         the workspace (work folder + ws)
    prompt      what the user says
    sandbox     danger-full-access, workspace-write, read-only
    config      more lines for config.toml, at its end
    features    lines of its features, instead of what is off elsewhere
    environments    its environments.toml, with %s for the proxy's address
    hook, pace  see proxy.py
    """

    def __init__(self, rig, script, cwd=None, prompt='go',
                 sandbox='danger-full-access', config='', hook=None, pace=0,
                 features='plugins = false\napps = false', environments=None):
        self.rig, self.prompt, self.sandbox = rig, prompt, sandbox
        self.cwd = cwd or rig.folder('ws')
        self.config, self.features = config, features
        self.environments = environments
        self.model = model.Model(script)
        self.proxy = proxy.Proxy(rig.start().url, hook, pace)
        self.stdout = self.stderr = ''

    def go(self):
        with self.model, self.proxy:
            self.execute()
        if self.model.error is not None:
            raise self.model.error
        check(self.model.done, 'the script did not come to its end')
        same(self.status, 0, 'status of the client')

    def execute(self):
        home = self.rig.folder('client')
        shutil.rmtree(home / '.codex', ignore_errors=True)
        self.rig.file('client/.codex/config.toml', CONFIG % (
            self.features, self.model.url, self.config))
        if self.environments is not None:
            self.rig.file('client/.codex/environments.toml',
                          self.environments % self.proxy.url)
        env = dict(self.rig.env, HOME=str(home),
                   CODEX_HOME=str(home / '.codex'),
                   CODEX_EXEC_SERVER_URL=self.proxy.url)
        argv = [self.rig.client, 'exec', '--json', '--skip-git-repo-check',
                '--ephemeral', '-s', self.sandbox, '-C', str(self.cwd),
                self.prompt]
        files = [self.rig.work / name for name in ('out', 'err')]
        with open(files[0], 'wb') as out, open(files[1], 'wb') as err:
            self.child = subprocess.Popen(
                argv, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=out,
                stderr=err, start_new_session=True)
        try:
            self.status = self.child.wait(RUN_LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError('the client runs for more than %g s' %
                                 RUN_LIMIT) from None
        finally:
            if self.child.poll() is None:
                os.killpg(self.child.pid, signal.SIGKILL)
                self.child.wait()
            self.stdout, self.stderr = [
                file.read_text(errors='replace') for file in files]


# --- a test ------------------------------------------------------------------

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument('--reference', nargs='?', const='', metavar='PATH',
                        help='codex exec-server instead of execsrvd')
    return parser.parse_args()


def main(run):
    """The whole of a test program."""
    rig, status = None, 1
    try:
        rig = Rig(options())
        rig.set_up()
        run(rig)
        rig.finish()
        status = 0
    except Skip as why:
        print(why)
        status = SKIP
    except Exception:
        traceback.print_exc(file=sys.stdout)
        if rig:
            rig.tell()
    finally:
        if rig:
            rig.clean()
    sys.exit(status)
