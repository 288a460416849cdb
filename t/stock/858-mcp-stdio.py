#!/usr/bin/env python3
"""An MCP server that the exec server starts, talking over its pipes."""
from model import command, tool
from proxy import HALF
from rig import HERE, LIMIT, check, is_alive, main, same, wait_for

# Read now: later we may be a user who cannot.
PROGRAM = (HERE / 'mcp.sh').read_text()
CONFIG = '''\
[mcp_servers.kettle]
command = "/bin/sh"
args = ["mcp.sh"]
cwd = "%s"
environment_id = "remote"
startup_timeout_sec = 120
env = { MCP_WORD = "a \u00fc word" }
'''


def run(rig):
    cwd = rig.folder('ws')
    rig.file('ws/mcp.sh', PROGRAM)
    cut = []

    def script(model):
        for kind in ('green', 'black \u00fc'):
            out = yield tool('kettle', 'brew', kind=kind)
            check(out.text.endswith('%s,a \u00fc word,%s' % (kind, cwd)), out)
        # The same server as before after the loss of the connection.
        cut.append(True)
        out = yield command('cat mcp.pid; kill -0 $(cat mcp.pid)')
        same(out.code, 0, 'the MCP server runs')
        out = yield tool('kettle', 'brew', kind='oolong')
        check(out.text.endswith('oolong,a \u00fc word,%s' % cwd), out)

    def hook(_, number, way, message):
        """Once told to, lose the next output."""
        if cut and number == 1 and way == '<' and \
                message.get('method') == 'process/output':
            return HALF
        return None

    run = rig.run(script, cwd=cwd, config=CONFIG % cwd, hook=hook)
    same(run.proxy.served(), 2, 'connections')
    starts = [start for start in run.proxy.sent('process/start')
              if start['pipeStdin']]
    same(len(starts), 1, 'MCP servers started')
    pid = int((cwd / 'mcp.pid').read_text())
    wait_for(lambda: not is_alive(pid), LIMIT, 'the MCP server ends')


main(run)
