"""Runs t/bench/bench.c against both servers and prints the table.

usage: bench.py BUILD        (see run.sh for the variables)

Every group of measurements gets a fresh server, alone at that time.  Rounds
are interleaved (reference, execsrvd; the next round the other way round) and
a value is the median of its rounds.

Groups of files and sandboxes run server and client as an ordinary user: if we
are root, as nobody.  All files are in a folder of our own in /var/tmp, since
the reference makes no sandbox with its home in /tmp.
"""

import ctypes
import datetime
import glob
import importlib.util
import json
import os
import pathlib
import platform
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
REFERENCE = ('/scratch/ref/node_modules/@openai/codex-linux-x64/vendor/'
             'x86_64-unknown-linux-musl/bin/codex')
START_SECONDS = 15      # until the address is printed
STOP_SECONDS = 6        # SIGTERM has to stop in order within 5 s
GROWTH = ['-o', 'MaxSessions=20000', '-o', 'MaxSessionsPerUser=20000',
          '-o', 'PermitRootSession=local', '-o', 'OrphanTtl=0']
NOBODY = 65534
WORK = '/var/tmp'
PR_SET_CHILD_SUBREAPER = 36


class Failed(Exception):
    pass


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---- servers ---------------------------------------------------------------

class Server:
    """A program to measure: how to start it, and what it consists of."""

    def __init__(self, name, argv, files, env, remote=()):
        self.name = name
        self.argv = argv + ['--listen', 'ws://127.0.0.1:0']
        self.remote = argv + list(remote)
        self.growth = self.argv + (GROWTH if name != 'reference' else [])
        self.files = files
        self.env = dict(os.environ, **env)
        self.child = None
        hub = os.path.join(os.path.dirname(argv[0]), 'execsrv-hub')
        self.hub = hub if os.access(hub, os.X_OK) else None

    def start(self, errors, folder=None, line=None):
        """Its address and pid; as the owner of the folder, at home there; or
        behind a slow line."""
        more, env = {}, self.env
        if folder:
            env = dict(env, HOME=folder.home, CODEX_HOME=folder.home,
                       TMPDIR=folder.home, EXECSRV_RUNTIME_DIR=folder.home)
            if os.getuid() == 0:
                more = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []}
        self.child = subprocess.Popen(
            (line.prefix if line else []) + self.argv, env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=errors, cwd='/tmp', **more)
        ready, _, _ = select.select([self.child.stdout], [], [], START_SECONDS)
        line = self.child.stdout.readline().decode() if ready else ''
        if not line.startswith('ws://'):
            raise Failed('it did not print its address')
        time.sleep(0.3)         # pools fill, lazy start-up ends
        return line.strip(), str(self.child.pid)

    def stop(self):
        child, self.child = self.child, None
        if child is None:
            return
        child.terminate()
        try:
            child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            say('%s: not gone %d s after SIGTERM' % (self.name, STOP_SECONDS))
            child.kill()
            child.wait()
        child.stdout.close()


class Line:
    """A network namespace whose loopback has so many bytes a second each way,
    and a queue of ROOM bytes."""

    RATES = {'line1': 125000, 'line8': 1000000,
             'remote_line1': 125000, 'remote_line8': 1000000}
    ROOM = 65536
    PORT = 4000             # of the rendezvous

    def __init__(self, rate):
        if os.getuid() != 0 or not all(map(shutil.which, (
                'ip', 'tc', 'unshare', 'nsenter'))):
            raise Failed('a slow line wants root, ip, tc, unshare, nsenter')
        self.holder = subprocess.Popen(
            ['unshare', '-n', 'sh', '-c', 'echo; exec sleep 100000'],
            stdout=subprocess.PIPE)
        self.prefix = ['nsenter', '-t', str(self.holder.pid), '-n']
        if not self.holder.stdout.readline():
            self.close()
            raise Failed('no network namespaces')
        self.run('ip', 'link', 'set', 'lo', 'up', 'mtu', '1500')
        self.run('tc', 'qdisc', 'add', 'dev', 'lo', 'root', 'handle', '1:',
                 'htb', 'default', '20')
        for name in ('10', '20'):
            self.run('tc', 'class', 'add', 'dev', 'lo', 'parent', '1:',
                     'classid', '1:' + name, 'htb', 'rate', '10gbit',
                     'quantum', '60000')
            self.run('tc', 'qdisc', 'add', 'dev', 'lo', 'parent', '1:' + name,
                     'tbf', 'rate', '%dbps' % rate, 'burst',
                     str(max(5000, rate // 100)), 'limit', str(self.ROOM))

    def run(self, *words):
        done = subprocess.run(self.prefix + list(words), text=True,
                              stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise Failed('%s: %s' % (' '.join(words), done.stderr.strip()))

    def one_way(self, side, port):
        """What has that port as source or destination takes the other way."""
        self.run('tc', 'filter', 'add', 'dev', 'lo', 'parent', '1:',
                 'protocol', 'ip', 'u32', 'match', 'ip', side, str(port),
                 '0xffff', 'flowid', '1:10')

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Quota:
    """A control group whose processes share half a processor."""

    ROOTS = (('/sys/fs/cgroup', 'cpu.max', '50000 100000'),
             ('/sys/fs/cgroup/cpu', 'cpu.cfs_quota_us', '50000'),
             ('/sys/fs/cgroup/cpu,cpuacct', 'cpu.cfs_quota_us', '50000'))
    IN = 'echo $$ >"$0/cgroup.procs" && exec "$@"'

    def __init__(self):
        for root, name, value in self.ROOTS:
            self.path = os.path.join(root, 'execsrv-bench.%d' % os.getpid())
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            try:
                with open(os.path.join(self.path, name), 'r+') as f:
                    f.write(value)
                self.prefix = ['sh', '-c', self.IN, self.path]
                return
            except OSError:
                os.rmdir(self.path)
        raise Failed('a quota wants root, and control groups for processors')

    def close(self):
        """Kill what the server left there, and remove the group."""
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)
            with open(os.path.join(self.path, 'cgroup.procs')) as f:
                for pid in f.read().split():
                    subprocess.run(['kill', '-9', pid],
                                   stderr=subprocess.DEVNULL)
        say('%s: not removed' % self.path)


class Folder:
    """What the USER groups work on, and the home of their servers."""

    def __init__(self, work):
        self.path = os.path.join(work, 'files')
        self.home = os.path.join(work, 'nobody')
        os.mkdir(self.home)
        os.mkdir(self.path)
        kind = output_of('stat', '-f', '-c', '%T', self.path)
        if kind in ('tmpfs', 'ramfs'):
            sys.exit('%s is not on a disk: %s' % (self.path, kind))
        for name, kib in (('small', 4), ('large', 1024), ('huge', 256 << 10)):
            with open(os.path.join(self.path, name), 'wb') as f:
                f.write(os.urandom(kib * 1024))
        many = os.path.join(self.path, 'thousand')
        os.mkdir(many)
        for number in range(1000):
            with open(os.path.join(many, 'file%03d' % number), 'w'):
                pass
        documents().make(pathlib.Path(self.path))
        if os.getuid() == 0:
            subprocess.run(['chown', '-R', '%d:%d' % (NOBODY, NOBODY),
                            self.path, self.home], check=True)
        os.sync()               # not while we measure


def documents():
    """The module that knows what the stock client's start-up is about."""
    spec = importlib.util.spec_from_file_location(
        'startup', os.path.join(ROOT, 't/stock/startup.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def our_server(name, build, work):
    """Our programs, where an ordinary user may execute them."""
    folder = os.path.join(work, name)
    os.mkdir(folder)
    with open(os.path.join(build, 'programs')) as f:
        files = [os.path.join(build, each) for each in f.read().split()]
    for path in files:
        shutil.copy(path, folder)
    return Server(name, [os.path.join(folder, 'execsrvd'), '-D'], files,
                  {'EXECSRV_RUNTIME_DIR': folder},
                  ['-o', 'RemoteUser=root', '-o', 'PermitRootSession=yes']
                  if os.getuid() == 0 else [])


def find_servers(build, work):
    """The servers that exist and are wanted, the one compared with first."""
    reference = os.environ.get('REFERENCE') or REFERENCE
    before = os.environ.get('BEFORE')
    home = os.path.join(work, 'home')
    os.mkdir(home)
    known = [
        our_server('before', before, work) if before else
        Server('reference', [reference, 'exec-server'], [reference],
               {'HOME': home, 'CODEX_HOME': home}),
        our_server('execsrvd', build, work),
    ]
    wanted = os.environ.get('SERVERS', '').split()
    found = []
    for server in known:
        if wanted and server.name not in wanted:
            continue
        if os.access(server.argv[0], os.X_OK):
            found.append(server)
        else:
            say('%s: no %s' % (server.name, server.argv[0]))
    if not found:
        sys.exit('nothing to measure')
    return found


def children():
    pids = []
    for name in glob.glob('/proc/self/task/*/children'):
        with open(name) as f:
            pids += [int(pid) for pid in f.read().split()]
    return pids


def clean_up(name):
    """End what a stopped server left; orphans come to us (subreaper)."""
    for last in (False, True):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                while os.waitpid(-1, os.WNOHANG)[0] != 0:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.01)
        for pid in [] if last else children():
            with open('/proc/%d/comm' % pid) as f:
                say('%s: left over: %d %s' % (name, pid, f.read().strip()))
            os.kill(pid, signal.SIGKILL)
    say('%s: processes that cannot be killed' % name)


def copies(server):
    """How many processes already run this server's program."""
    count = 0
    mine = os.path.realpath(server.argv[0])
    for exe in glob.glob('/proc/[0-9]*/exe'):
        try:
            count += os.readlink(exe) == mine
        except OSError:
            pass
    return count


# ---- measuring -------------------------------------------------------------

def run_bench(bench, arguments, prefix=()):
    """Run bench; its "key value" lines as a dictionary."""
    with tempfile.TemporaryFile('w+') as errors:    # read when it is over
        done = subprocess.run([*prefix, bench] + arguments,
                              stdout=subprocess.PIPE, stderr=errors,
                              env=run_bench.env)
        errors.seek(0)
        lines = errors.read().splitlines()
    if done.returncode != 0:
        raise Failed('\n'.join(lines[-10:]) or
                     'bench ended with %d' % done.returncode)
    for line in lines:
        if line.startswith('bench: '):      # not what the server says
            say(line)
    pairs = [line.split() for line in done.stdout.decode().splitlines()]
    return {key: float(value) for key, value in pairs}


def installed_size(server, work):
    total = 0
    stripped = os.path.join(work, 'stripped')
    for name in server.files:
        if not os.path.exists(name):
            continue
        subprocess.run(['strip', '-o', stripped, name], check=True)
        total += os.stat(stripped).st_size
        os.unlink(stripped)
    return {'size': total / 1024}


def measure_line(server, group, bench, work):
    """A group on a server behind a slow line."""
    line = Line(Line.RATES[group['name']])
    with open(os.path.join(work, 'stderr'), 'w') as errors:
        try:
            url, pid = server.start(errors, line=line)
            line.one_way('sport', url.rsplit(':', 1)[1].strip('/'))
            return run_bench(bench, [group['name'], url, pid], line.prefix)
        finally:
            server.stop()
            line.close()


def measure_quota(server, group, bench, work):
    """A group on a server with half a processor."""
    quota = Quota()
    with open(os.path.join(work, 'stderr'), 'w') as errors:
        try:
            url, pid = server.start(errors, line=quota)
            return run_bench(bench, [group['name'], url, pid])
        finally:
            server.stop()
            quota.close()


def measure_remote_line(server, group, bench):
    """A group on a server whose rendezvous is behind a slow line."""
    line = Line(Line.RATES[group['name']])
    try:
        line.one_way('dport', Line.PORT)
        run_bench.env = dict(server.env, BROKER_PORT=str(Line.PORT))
        return run_bench(bench, [group['name']] + server.remote, line.prefix)
    finally:
        line.close()


def measure_hub(server, group, bench, work):
    """A group on a hub of ours, with a certificate that is as good as any."""
    if not server.hub:
        return {}
    folder = os.path.join(work, 'hub')
    if not os.path.isdir(folder):
        os.mkdir(folder)
        subprocess.run(
            ['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
             'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj',
             '/CN=localhost', '-keyout', folder + '/key.pem', '-out',
             folder + '/cert.pem'], check=True, stderr=subprocess.DEVNULL)
        os.chmod(folder + '/key.pem', 0o600)
    words = [group['name'], server.hub, folder]
    if group['name'] != 'hub_two':
        return run_bench(bench, words)
    nats = shutil.which('nats-server', path=os.environ['PATH'] + ':/usr/sbin')
    if nats is None:
        return {}
    with subprocess.Popen(
            [nats, '-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', folder],
            stderr=subprocess.DEVNULL) as engine:
        try:
            return run_bench(bench, words + [engine_url(folder, engine)])
        finally:
            engine.kill()


def engine_url(folder, engine):
    """Where a nats-server says that it listens."""
    path = '%s/nats-server_%d.ports' % (folder, engine.pid)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with open(path, encoding='ascii') as f:
                return json.load(f)['nats'][0]
        except (OSError, ValueError):
            time.sleep(0.01)
    raise SystemExit('nats-server does not listen')


def measure(server, group, bench, work, folder):
    """One group on one server, started for it."""
    if group['kind'] == 'DRIVER':
        return installed_size(server, work)
    run_bench.env = server.env
    if group['name'] == 'growth':
        return run_bench(bench, [group['name']] + server.growth)
    if group['kind'] == 'HUB':
        return measure_hub(server, group, bench, work)
    if group['kind'] == 'PROGRAM':
        return run_bench(bench, [group['name']] + server.argv)
    if group['kind'] == 'REMOTE':
        return run_bench(bench, [group['name']] + server.remote)
    if group['kind'] == 'REMOTE_LINE':
        return measure_remote_line(server, group, bench)
    if group['kind'] == 'LINE':
        return measure_line(server, group, bench, work)
    if group['kind'] == 'QUOTA':
        return measure_quota(server, group, bench, work)
    if group['name'] == 'memory' and copies(server):
        say('%s: other copies of it run: its PSS will look too small' %
            server.name)
    if group['kind'] != 'USER':
        folder = None
    with open(os.path.join(work, 'stderr'), 'w+') as errors:
        try:
            url, pid = server.start(errors, folder)
            return run_bench(bench, [group['name'], url, pid] +
                             ([folder.path] if folder else []))
        except Failed:
            errors.seek(0)
            say(''.join(errors.readlines()[-10:]).rstrip())
            raise
        finally:
            server.stop()


def chosen(word, names):
    """The groups that a word is for: those that begin so, too."""
    return [n for n in names if n == word or n.startswith(word + '_')]


def rows(bench):
    """The groups and values of metric.def."""
    groups, values = [], []
    listing = subprocess.run([bench, 'list'], stdout=subprocess.PIPE,
                             check=True).stdout.decode()
    for line in listing.splitlines():
        what, *fields = line.split('\t')
        if what == 'group':
            name, kind, extra = fields
            groups.append({'name': name, 'kind': kind, 'extra': int(extra)})
        else:
            key, unit, goal, limit, label = fields
            values.append({'group': groups[-1]['name'], 'key': key,
                           'unit': unit, 'goal': goal, 'limit': float(limit),
                           'label': label})
    wanted = os.environ.get('METRICS', '').split()
    names = [g['name'] for g in groups]
    unknown = [w for w in wanted if not chosen(w, names)]
    if unknown:
        sys.exit('no such metric: %s; there are: %s' % (
            ' '.join(unknown), ' '.join(names)))
    if wanted:
        names = [n for w in wanted for n in chosen(w, names)]
        groups = [g for g in groups if g['name'] in names]
        values = [v for v in values if v['group'] in names]
    return groups, values


def plan(groups, rounds):
    """(round, group) in the order of running."""
    for number in range(rounds + max(g['extra'] for g in groups)):
        for group in groups:
            if group['kind'] == 'DRIVER' and number > 0:
                continue
            if number < rounds + group['extra']:
                yield number, group


def run_all(servers, groups, values, bench, work):
    """{(server, key): [value per round]}; a failure is a None."""
    results = {}
    wanted = any(g['kind'] == 'USER' for g in groups)
    folder = Folder(work) if wanted else None
    units = {v['key']: v['unit'] for v in values}
    for number, group in plan(groups, int(os.environ.get('ROUNDS') or 3)):
        for server in servers if number % 2 == 0 else servers[::-1]:
            try:
                got = measure(server, group, bench, work, folder)
            except Failed as failure:
                say('%s, %s: %s' % (server.name, group['name'], failure))
                got = {v['key']: None for v in values
                       if v['group'] == group['name']}
            clean_up(server.name)
            for key, value in got.items():
                results.setdefault((server.name, key), []).append(value)
            say('round %d, %s: %s' % (number + 1, server.name, ', '.join(
                '%s %s' % (k, show(v, units[k])) for k, v in got.items())))
    return results


# ---- the table -------------------------------------------------------------

def show(value, unit):
    if value is None:
        return 'failed'
    for small, big, factor in (('us', 'ms', 1000), ('KiB', 'MiB', 1024)):
        if unit == small and abs(value) >= factor:
            value, unit = value / factor, big
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return '{:,.{}f} {}'.format(value, digits, unit).replace(' /s', '/s')


def median(results, name, key):
    values = results.get((name, key), [])
    if None in values:
        return None
    return statistics.median(values) if values else None


def judge(row, reference, ours):
    """Goal, ratio and verdict as texts."""
    goal = {'AT_MOST': '<= %g', 'AT_LEAST': '>= %g', 'CONTEXT': '-',
            'ALONE': '<= ' + show(row['limit'], row['unit']),
            'OWN_AT_LEAST': '>= ' + show(row['limit'], row['unit'])
            }[row['goal']]
    goal = goal % row['limit'] if '%' in goal else goal
    ratio = ours / reference if ours is not None and reference else None
    judged = ours if row['goal'] in ('ALONE', 'OWN_AT_LEAST') else ratio
    if row['goal'] == 'CONTEXT':
        met = '-'
    elif judged is None:
        met = '?'
    elif row['goal'] in ('AT_LEAST', 'OWN_AT_LEAST'):
        met = 'yes' if judged >= row['limit'] else 'no'
    else:
        met = 'yes' if judged <= row['limit'] else 'no'
    return goal, '' if ratio is None else '%.3g' % ratio, met


def ratios(row, results):
    """The lowest and the highest ratio of a round."""
    pairs = zip(results.get(('before', row['key']), []),
                results.get(('execsrvd', row['key']), []))
    each = [now / then for then, now in pairs if then and now is not None]
    return '%.3g to %.3g' % (min(each), max(each)) if each else ''


def table_of_builds(values, results):
    """Two builds of ours: no goals, but how much a ratio varies."""
    lines = ['| metric | before | now | ratio | in rounds |',
             '| --- | --- | --- | --- | --- |']
    for row in values:
        pair = [median(results, name, row['key'])
                for name in ('before', 'execsrvd')]
        if pair != [None, None]:
            lines.append('| %s | %s | %s | %s | %s |' % (
                row['label'], *(show(value, row['unit']) for value in pair),
                judge(row, *pair)[1], ratios(row, results)))
    return '\n'.join(lines) + '\n'


def table(values, results):
    if os.environ.get('BEFORE'):
        return table_of_builds(values, results)
    lines = ['| metric | reference | execsrvd | ratio | goal | met |',
             '| --- | --- | --- | --- | --- | --- |']
    for row in values:
        pair = [median(results, name, row['key'])
                for name in ('reference', 'execsrvd')]
        goal, ratio, met = judge(row, *pair)
        shown = [show(value, row['unit']) if (name, row['key']) in results
                 else '' for value, name in zip(pair, ('reference',
                                                       'execsrvd'))]
        lines.append('| %s | %s | %s | %s | %s | %s |' % (
            row['label'], shown[0], shown[1], ratio, goal, met))
    return '\n'.join(lines) + '\n'


def output_of(*argv):
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, cwd=ROOT,
                              stderr=subprocess.DEVNULL).stdout.decode().strip()
    except OSError:
        return ''


def about(servers):
    """Where, when and how."""
    variables = ' '.join("%s='%s'" % (name, os.environ[name]) for name in
                         ('ROUNDS', 'METRICS', 'SERVERS')
                         if os.environ.get(name))
    cpu = [line.split(':')[1].strip() for line in open('/proc/cpuinfo')
           if line.startswith('model name')]
    versions = [output_of(s.argv[0], '--version') for s in servers
                if s.name == 'reference']
    return ''.join('- %s: %s\n' % pair for pair in (
        ('date', datetime.datetime.now(
            datetime.timezone.utc).strftime('%Y-%m-%d %H:%M UTC')),
        ('command', ('`%s sh t/bench/run.sh BUILD`' % variables).replace(
            '` ', '`')),
        ('kernel', platform.release()),
        ('cores', '%d, %s' % (os.cpu_count(), cpu[0] if cpu else 'unknown')),
        ('files on', output_of('stat', '-f', '-c', '%T', WORK)),
        ('load before', '%.2f' % about.load),
        ('commit', output_of('git', 'describe', '--always', '--dirty')),
        ('reference', ''.join(versions) + ', default options'),
    ))


def write_results(head, text):
    """The file anew, but for the sections that people wrote below the table."""
    path = os.path.join(ROOT, 't/bench/RESULTS.md')
    try:
        with open(path) as f:
            _, mark, rest = f.read().partition('\n## ')
    except FileNotFoundError:
        mark = rest = ''
    with open(path, 'w') as f:
        f.write('# Speed and memory, against the reference\n\n' + head +
                '\nMedians of the rounds; the ratio is execsrvd / '
                'reference.\n\n' + text + mark + rest)


def main():
    build = os.path.abspath(sys.argv[1])
    bench = os.path.join(build, 'bench', 'bench')
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Like a shell's `kill`: stop the server that runs, then go.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    about.load = os.getloadavg()[0]
    groups, values = rows(bench)
    with tempfile.TemporaryDirectory(prefix='bench.', dir=WORK) as work:
        os.chmod(work, 0o755)
        servers = find_servers(build, work)
        if os.environ.get('RESULTS') == '1' and (
                len(servers) < 2 or os.environ.get('BEFORE')):
            sys.exit('RESULTS=1 wants our server and the reference')
        try:
            results = run_all(servers, groups, values, bench, work)
        finally:
            clean_up('bench')
        text = table(values, results)
        print(text, end='')
        if os.environ.get('RESULTS') == '1':
            write_results(about(servers), text)
    sys.exit(1 if any(None in v for v in results.values()) else 0)


if __name__ == '__main__':
    main()
