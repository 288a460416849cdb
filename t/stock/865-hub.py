#!/usr/bin/env python3
"""execsrv-hub as registry and rendezvous of the stock client and the stock
executor, and of each of them with ours: commands, files, and an executor and a
hub that are lost meanwhile."""
import importlib
import os
import signal
import subprocess

import model
from model import command, patch
from rig import LIMIT, Server, check, main, same, wait_for

import client           # of t/sys; rig knows the way
remote = importlib.import_module('861-remote')
hubs = importlib.import_module('8hub')

ENVIRONMENT = remote.ENVIRONMENT
RULES = '''
Match Executor token:build
	MayRegister env-*
Match Harness token:ci
	MayConnect env-*
'''


class Exchange:
    """What 861 asks of one, by a hub."""

    def __init__(self, rig):
        self.hub = hubs.Hub(rules=RULES, program=os.path.join(
            os.path.dirname(ours(rig)), 'execsrv-hub'))
        self.registry = self
        self.url = self.hub.url
        self.token = self.hub.token['build']
        self.harness_token = self.hub.token['ci']

    @property
    def requests(self):
        print(self.hub.log()[-3000:])
        return []

    def status(self):
        return self.hub.ctl('status')[1]

    def kill_worker(self):
        pid = self.status()['pid']
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.hub.is_ready() and self.status()['pid'] != pid,
                 LIMIT, 'the hub serves again')


def ours(rig):
    """execsrvd, within reach."""
    return rig.program


class Stock(client.Server):
    """The stock executor."""

    def __init__(self, rig, exchange):
        home = rig.folder('stock')
        self.log_path = str(rig.work / 'stock.log')
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen(
                [rig.client, 'exec-server', '--remote', exchange.url,
                 '--environment-id', ENVIRONMENT],
                env=dict(rig.env, HOME=str(home),
                         CODEX_HOME=str(rig.folder('stock/.codex')),
                         CODEX_API_KEY=exchange.token),
                cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log)
        self.pid = self.process.pid

    def stop(self):
        self.kill()


def by_client(rig, exchange):
    """The stock client: commands and a file, the hub dies between."""
    def script(_):
        out = yield command('id -u; echo err >&2; exit 7')
        same((out.code, sorted(out.text.split())),
             (7, sorted(['err', str(os.getuid())])), 'a command')
        yield patch('*** Add File: new/file.txt', '+one', '+two')
        out = yield command('cat new/file.txt; rm -r new')
        same((out.code, out.text), (0, 'one\ntwo\n'), 'the file')
    with remote.App(rig, exchange, script) as app:
        same(len(app.end()), 2, 'commands')
    wait_for(lambda: exchange.status()['harnesses'] == 0, LIMIT,
             'the client has left')


def talks(rig, exchange):
    """Its command talks on while executor and hub are lost."""
    folder, outs = rig.folder('talk%d' % rig.server.pid), []

    def script(_):
        out = yield command(remote.TALK)
        text = out.text
        while out.session:
            out = yield model.stdin(out.session, yield_time_ms=30000)
            text += out.text
        outs.append((out.code, text))

    def act(do):
        wait_for(lambda n=remote.said(folder): remote.heard(app) > n + 20,
                 remote.RUN_LIMIT, 'it is heard')
        do()
    with remote.App(rig, exchange, script, folder) as app:
        act(exchange.kill_worker)
        act(lambda: check(exchange.hub.ctl(
            'drain', environment=ENVIRONMENT)[1]['ok'], 'drain'))
        act((folder / 'enough').touch)
        app.end()
    text = ''.join('line %d\n' % i
                   for i in range(1, remote.said(folder) + 1))
    same(outs, [(9, text)], 'the model')


def by_execsrvctl(rig, exchange):
    """Our own: output whole, status."""
    rig.file('token', exchange.harness_token + '\n').chmod(0o600)
    got = subprocess.run(
        [os.path.join(os.path.dirname(ours(rig)), 'execsrvctl'), 'run',
         '--url', 'remote:%s@%s' % (ENVIRONMENT, exchange.url),
         '--token-file', str(rig.work / 'token'), '--', 'sh', '-c',
         'seq 1 100000; exit 3'], stdin=subprocess.DEVNULL,
        capture_output=True, env=rig.env, check=False, timeout=3 * LIMIT)
    same((got.returncode, got.stdout == b''.join(
        b'%d\n' % n for n in range(1, 100001))), (3, True),
        'the output; %s' % got.stderr)


def run(rig):
    for kind, make in (
            ('execsrvd', lambda e: Server(
                rig, '--remote', e.url, '--environment-id', ENVIRONMENT,
                CODEX_API_KEY=e.token)),
            ('stock', lambda e: Stock(rig, e))):
        exchange = Exchange(rig)
        with exchange.hub:
            rig.server = make(exchange)
            wait_for(lambda e=exchange: e.status()['executors'] == 1, LIMIT,
                     'the executor is attached')
            for part in (by_client, by_execsrvctl, talks):
                print(kind, part.__name__, flush=True)
                part(rig, exchange)
            rig.finish()
            rig.server = None


if __name__ == '__main__':
    main(run)
