#!/usr/bin/env python3
"""Through a registry and a rendezvous (Noise): the client runs commands on an
executor that only dialled out, and nothing of them is lost with a websocket."""
import asyncio
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading

import model
from model import command, patch, stdin
from rig import CONFIG, LIMIT, RUN_LIMIT, Server, check, main, same, wait_for

import client           # of t/sys; rig knows the way
registries = importlib.import_module('8registry')

ENVIRONMENT = 'env-of-the-test'
# Talks until it is told that this is enough.
TALK = 'i=0; until [ -e enough ]; do i=$((i + 1)); echo line $i; ' \
       'echo $i >count.new; mv count.new count; sleep 0.02; done; exit 9'


class Exchange:
    """The registry and the rendezvous, in a thread of their own."""

    def __init__(self):
        self.registry = registries.Registry('executor-secret')
        self.environment = self.registry.environment(ENVIRONMENT)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.wait(self.registry.start())

    def wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(LIMIT)

    def close(self):
        self.wait(self.registry.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def harnesses(self):
        """Their websockets that have a stream."""
        return {owner for owner in list(self.registry.streams.values())
                if isinstance(owner, registries.Link)}

    def drop(self, executor=False, harness=False, expire=False):
        """Websockets end as on a bad network, without a word; expire: their
        addresses are not good any more."""
        async def cut():
            links = [self.environment.link] if executor else []
            links += self.harnesses() if harness else []
            check(all(links), 'there is nothing to drop')
            if expire:
                self.registry.expire()
            for link in links:
                link.cut()
        self.wait(cut())


class Executor(Server):
    """The server.  It listens nowhere."""

    def __init__(self, rig, exchange):
        super().__init__(rig, '--remote', exchange.registry.url,
                         '--environment-id', ENVIRONMENT,
                         CODEX_API_KEY=exchange.registry.token)

    def kill_uplink(self):
        for pid in client.children(self.pid):
            try:
                with open('/proc/%d/comm' % pid, encoding='utf-8') as comm:
                    if comm.read().strip() == 'execsrv-uplink':
                        os.kill(pid, signal.SIGKILL)
                        return
            except OSError:     # a spare worker that has left
                pass
        check(False, 'there is no uplink')


class App:
    """The stock client as "app-server": a thread, and one turn in it."""

    def __init__(self, rig, exchange, script, cwd=None):
        self.rig, self.exchange = rig, exchange
        self.cwd = cwd or rig.folder('ws')
        self.model = model.Model(script)
        self.messages, self.calls = [], 0
        self.heard = ''                 # of its commands, as they talk
        self.proxy, self.stderr = self, ''      # for rig.tell()
        rig.runs.append(self)

    def trace(self):
        return ['%s %s: %s' % (e.method, e.path, e.status)
                for e in self.exchange.registry.requests]

    @property
    def stdout(self):
        return '\n'.join(json.dumps(m) for m in self.messages)

    def __enter__(self):
        self.model.__enter__()
        home, registry = self.rig.folder('client'), self.exchange.registry
        self.rig.file('client/.codex/config.toml',
                      CONFIG % ('', self.model.url, ''))
        env = dict(self.rig.env, HOME=str(home), CODEX_HOME=str(
            home / '.codex'), **{'CODEX_EXEC_SERVER_NOISE_' + name: value
                                 for name, value in (
                                     ('REGISTRY_URL', registry.url),
                                     ('ENVIRONMENT_ID', ENVIRONMENT),
                                     ('AUTH_TOKEN', registry.harness_token))})
        with open(self.rig.work / 'err', 'wb') as err:
            self.child = subprocess.Popen(
                [self.rig.client, 'app-server'], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=err, cwd=home, env=env,
                start_new_session=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        try:
            self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, *_):
        self.child.stdin.close()        # which is its end
        try:
            self.child.wait(LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        self.reader.join()
        self.child.stdout.close()
        self.model.__exit__()
        self.stderr = (self.rig.work / 'err').read_text(errors='replace')

    def read(self):
        for line in self.child.stdout:
            message = json.loads(line)
            self.messages.append(message)
            if message.get('method') == 'item/commandExecution/outputDelta':
                self.heard += message['params']['delta']

    def send(self, **message):
        self.child.stdin.write(json.dumps(message).encode() + b'\n')
        self.child.stdin.flush()

    def call(self, method, **params):
        self.calls += 1
        number = self.calls
        self.send(id=number, method=method, params=params)
        answer = wait_for(
            lambda: next((m for m in self.messages if m.get('id') == number
                          and 'method' not in m), None), LIMIT, method)
        check('result' in answer, '%s: %s' % (method, answer))
        return answer['result']

    def notes(self, method):
        return [m['params'] for m in self.messages
                if m.get('method') == method]

    def start(self):
        self.call('initialize', clientInfo={'name': 'test', 'version': '1'},
                  capabilities={'experimentalApi': True})
        self.send(method='initialized')
        wait_for(lambda: self.call('environment/status',
                                   environmentId='remote')['status'] ==
                 'ready', LIMIT, 'the environment is ready')
        thread = self.call(
            'thread/start', cwd=str(self.cwd), approvalPolicy='never',
            sandbox='danger-full-access', ephemeral=True)['thread']['id']
        self.call('turn/start', threadId=thread,
                  input=[{'type': 'text', 'text': 'go'}])

    def end(self):
        """Wait for the end of the turn; its commands, as the client tells of
        them."""
        turn = wait_for(lambda: self.notes('turn/completed'), RUN_LIMIT,
                        'the end of the turn')[0]['turn']
        if self.model.error is not None:
            raise self.model.error
        check(self.model.done, 'the script did not come to its end')
        same(turn['status'], 'completed', 'the turn')
        return [note['item'] for note in self.notes('item/completed')
                if note['item']['type'] == 'commandExecution']


def end_to_end(rig, exchange):
    """Commands, a dialogue and files: over there, and as its user."""
    def script(model):
        out = yield command('echo "$HOME"; id -u; echo err >&2; exit 7')
        same((out.code, sorted(out.text.split())), (7, sorted([
            'err', str(os.getuid()), str(rig.work / 'server')])),
             "in the executor's environment")
        yield patch('*** Add File: new/file.txt', '+one', '+two')
        out = yield command('cat new/file.txt; rm -r new')
        same((out.code, out.text), (0, 'one\ntwo\n'), 'the file')
        out = yield command('read -r x; echo "got $x"; exit 3', tty=True,
                            yield_time_ms=500)
        out = yield stdin(out.session, 'a\n', yield_time_ms=30000)
        same((out.code, out.text), (3, 'a\r\ngot a\r\n'), 'the dialogue')
        outs = yield [command('until [ -e b ]; do sleep 0.01; done; echo a'),
                      command(': >b; echo b')]
        same([(out.code, out.text) for out in outs],
             [(0, 'a\n'), (0, 'b\n')], 'two at once')
    with App(rig, exchange, script) as app:
        info = app.call('environment/info', environmentId='remote')
        check(info['shell']['path'], info)
        same(len(app.end()), 5, 'commands')
        same(len(exchange.harnesses()), 1, 'streams')
    same([e.status for e in exchange.registry.seen('validate')], [200],
         'handshakes')
    wait_for(lambda: not exchange.harnesses(), LIMIT, 'the client has left')


def said(folder):
    """The number of the last line of the command."""
    try:
        return int((folder / 'count').read_text())
    except (OSError, ValueError):
        return 0


def heard(app):
    """The same, of what the client has told.  (It may leave out what came
    before it got ready to tell.)"""
    # What comes last may be a part of a line.
    numbers = re.findall(r'line (\d+)\n', app.heard[-1000:])
    return int(numbers[-1]) if numbers else 0


def talk(rig, exchange, name, *acts, last=None):
    """Do things one after another while a command talks, each when what was
    said after the one before was heard; the last one before its end."""
    folder, registry = rig.folder(name), exchange.registry
    before = len(registry.seen('validate'))
    outs = []

    def script(model):
        out = yield command(TALK)
        text = out.text
        while out.session:
            out = yield stdin(out.session, yield_time_ms=30000)
            text += out.text
        outs.append((out.code, text))
    with App(rig, exchange, script, folder) as app:
        for act in (*acts, last):
            wait_for(lambda n=said(folder): heard(app) > n + 20, RUN_LIMIT,
                     'it is heard')
            if act:
                act()
        (folder / 'enough').touch()
        item, = app.end()
    text = ''.join('line %d\n' % i for i in range(1, said(folder) + 1))
    same((item['exitCode'], item['aggregatedOutput']), (9, text), 'the user')
    same(outs, [(9, text)], 'the model')
    # Each loss costs a handshake, or more: the client may be too early.
    check(len(registry.seen('validate')) - before >
          len(acts) + (last is not None), 'it was never gone')


def executor_drops(rig, exchange):
    """The executor's websocket, again and again; it is registered once."""
    def drop():
        exchange.drop(executor=True)
    talk(rig, exchange, 'executor', drop, drop, last=drop)
    same(len(exchange.environment.links), 4, 'websockets')
    same(len(exchange.registry.seen('register')), 1, 'registrations')


def harness_drops(rig, exchange):
    """The client's; both; and both for good, so that all begins anew."""
    talk(rig, exchange, 'harness',
         lambda: exchange.drop(harness=True),
         lambda: exchange.drop(executor=True, harness=True),
         lambda: exchange.drop(executor=True, expire=True),
         last=lambda: exchange.drop(harness=True))
    same(len(exchange.registry.seen('register')), 2, 'registrations')


def uplink_dies(rig, exchange):
    """A new one has the old key: the client takes it for the same."""
    if rig.options.reference is not None:
        return
    talk(rig, exchange, 'uplink', rig.server.kill_uplink,
         rig.server.kill_uplink)
    keys = exchange.environment.keys
    check(len(keys) >= 3 and all(key == keys[0] for key in keys),
          '%d registrations' % len(keys))


def burst(rig, exchange):
    """Much output just before and just after: as much as the client keeps."""
    size, folder = 450000, rig.folder('burst')
    outs = []

    def script(model):
        outs.append((yield command(
            'for i in 1 2; do head -c %d /dev/zero | tr "\\0" y; echo; '
            ': >said$i; until [ -e go$i ]; do sleep 0.02; done; done' % size)))
    with App(rig, exchange, script, folder) as app:
        for i in '12':
            wait_for((folder / ('said' + i)).exists, LIMIT, 'much output')
            if i == '1':
                exchange.drop(executor=True)
            (folder / ('go' + i)).touch()
        app.end()
    same((outs[0].code, outs[0].size), (0, -(-(2 * size + 2) // 4)),
         'exit code, and size in tokens')


def alone(rig, part):
    """With an executor of its own: pauses grow from drop to drop."""
    print(part.__name__, flush=True)
    exchange = Exchange()
    try:
        rig.server = Executor(rig, exchange)
        wait_for(lambda: exchange.environment.link, LIMIT,
                 'the executor is connected')
        part(rig, exchange)
        same(exchange.registry.complaints, [], 'frames')
        rig.finish()
        rig.server = None
    finally:
        exchange.close()


def run(rig):
    for part in (end_to_end, executor_drops, harness_drops, uplink_dies,
                 burst):
        alone(rig, part)


if __name__ == '__main__':
    main(run)
