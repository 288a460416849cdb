"""712: signals to execsrvctl run."""
import json
import os
import signal
import subprocess
import sys
import time

ctl = os.environ['BUILD'] + '/execsrvctl'
scale = float(os.environ.get('T_SCALE', '1'))
limit = 30 * scale

PASSED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM,
          signal.SIGUSR1, signal.SIGUSR2)
# Its shell has something to say about each sleep that dies.
TRAP = ('exec 2>/dev/null; trap "echo got; exit 50" %s; echo ready; '
        'while :; do sleep 0.05; done')


def run(*command, ignored=()):
    """A run that has said "ready"."""
    def prepare():
        # Whoever called us may ignore some (nohup).
        for sig in PASSED:
            signal.signal(sig, signal.SIG_IGN if sig in ignored else
                          signal.SIG_DFL)
    child = subprocess.Popen([ctl, 'run', '--', *command],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, preexec_fn=prepare)
    line = child.stdout.readline()
    assert line == b'ready\n', line
    return child


def wait_for(claim):
    deadline = time.monotonic() + limit
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def rows(what):
    """Nothing while the server stands still."""
    done = subprocess.run([ctl, '--json', what], stdout=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode == 0 else []


def attached():
    """Those whose command runs: (session, worker)."""
    return [(s['session'], s['worker']) for s in rows('sessions')
            if s['state'] == 'attached' and s['running'] == 1]


def end(child, what, code, output):
    out, _ = child.communicate(timeout=limit)
    assert out == output and child.returncode == code, \
        (what, child.returncode, out)


for sig in PASSED:
    name = sig.name.removeprefix('SIG')
    child = run('sh', '-c', TRAP % name)
    child.send_signal(sig)
    end(child, name, 50, b'got\n')
    # Whom nobody told otherwise, it ends; quietly.
    child = run('sh', '-c', 'ulimit -c 0; echo ready; exec sleep 1000')
    child.send_signal(sig)
    end(child, name, 128 + sig, b'')

# A signal that we were told to ignore is ignored there and here (nohup).
child = run('sh', '-c', TRAP % 'HUP', ignored=[signal.SIGHUP])
child.send_signal(signal.SIGHUP)
child.send_signal(signal.SIGTERM)
end(child, 'nohup', 143, b'')

# A command that ignores it goes on.
child = run('sh', '-c', 'trap "" INT; echo ready; sleep 1; exit 3')
child.send_signal(signal.SIGINT)
end(child, 'ignored', 3, b'')

# The command has ended, its output is held by another: that one is left.
child = run('sh', '-c', 'echo ready; sleep 1000 & exit 4')
wait_for(lambda: max([(p['session'], p['state']) for p in rows('ps')],
                     default=(0, ''))[1] == 'exited')
time.sleep(0.3 * scale)
assert child.poll() is None
# Whoever has not heard of the exit yet takes it for one to the command.
deadline = time.monotonic() + limit
while child.poll() is None and time.monotonic() < deadline:
    child.send_signal(signal.SIGINT)
    try:
        child.wait(2 * scale)
    except subprocess.TimeoutExpired:
        pass
end(child, 'holder', 4, b'')

# A server that hangs is given up; by SIGINT, whatever else happens.
child = run('sh', '-c', 'echo ready; exec sleep 1000')
# That of a run before may not have seen yet that it is alone.
wait_for(lambda: attached())
worker = max(attached())[1]
os.kill(worker, signal.SIGSTOP)
try:
    deadline = time.monotonic() + limit
    while child.poll() is None and time.monotonic() < deadline:
        child.send_signal(signal.SIGINT)
        time.sleep(0.1 * scale)
    end(child, 'hung', 125,
        b'execsrvctl: the server does not answer\n')
finally:
    os.kill(worker, signal.SIGCONT)
sys.exit(0)
