"""execsrv_connect_local()."""
import importlib
import os
import signal
import stat
import time

from client import (LIMIT, TMP, a_word, check, is_alive, links, main, say,
                    wait_for, with_word)

embed = importlib.import_module("75common")
# A tree that does not want to end.
TREE = ("trap '' TERM HUP INT; setsid sleep %(w)s & (setsid sh -c 'sleep "
        "%(w)s & sleep %(w)s' &) ; sleep %(w)s")


def tree(program):
    """Start one; its word."""
    word = a_word("tree")
    program.do("start", TREE % {"w": word})
    wait_for(lambda: len(with_word(word)) == 4, LIMIT, "four sleepers")
    return word


def a_command():
    program = embed.Embedder()
    program.do("local")
    out, status = program.run("echo out; echo err >&2; id -u; exit 7")
    check(sorted(out.split()) == sorted(["out", "err", str(os.getuid())]) and
          status == 7, "%r %d" % (out, status))
    word = tree(program)
    began = time.monotonic()
    program.do("close")
    say("  closed in %.3f s" % (time.monotonic() - began))
    wait_for(lambda: not with_word(word), LIMIT, "they are gone")
    wait_for(lambda: not program.below(), LIMIT, "the server is gone")
    program.end()


def two():
    """Two at once of one program: neither is in the other's way."""
    program = embed.Embedder()
    words = []
    for _ in range(2):
        program.do("local")
        words.append(tree(program))
    check(len(program.servers()) == 2, "two servers")
    parents = set()
    for n in range(2):
        program.do("use", str(n))
        parents.add(program.run("echo $PPID")[0])
    check(len(parents) == 2, "a worker for each: %s" % parents)
    program.do("use", "0")
    program.do("close")
    wait_for(lambda: not with_word(words[0]), LIMIT, "those of one are gone")
    check(len(with_word(words[1])) == 4, "those of the other are not")
    program.do("use", "1")
    check(program.run("echo on")[0] == "on", "it goes on")
    program.end()
    wait_for(lambda: not with_word(words[1]), LIMIT, "the others, too")


def killed():
    """SIGKILL to the program, or to the server: nothing is left."""
    for whom in "program", "server":
        program = embed.Embedder()
        program.do("local")
        word = tree(program)
        below = program.below()
        server, = program.servers()
        began = time.monotonic()
        os.kill(program.pid if whom == "program" else server, signal.SIGKILL)
        # The server was waited for by nobody else.
        wait_for(lambda: not with_word(word) and not any(
            is_alive(p) for p in below), LIMIT, "all are gone: " + whom)
        say("  %s: gone after %.2f s" % (whom, time.monotonic() - began))
        if whom == "server":
            check("closed" in program.fails("run", "true"), "a dead server")
            check(program.do("local") == [], "another one")
            check(program.run("echo on")[0] == "on", "works")
            program.end()


def no_folder():
    """No run directory, no control socket, whatever the environment says."""
    folder = TMP + "/folder"
    os.mkdir(folder)
    program = embed.Embedder({
        "EXECSRV_RUNTIME_DIR": folder + "/run", "XDG_RUNTIME_DIR": folder,
        "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE": "1",
        "NOTIFY_SOCKET": TMP + "/notify", "WATCHDOG_USEC": "1000000",
        "LISTEN_FDS": "1", "KEPT": "kept"})
    program.do("local")
    out, _ = program.run("env")
    names = {n.split("=")[0] for n in out.split("\n")}
    check("KEPT" in names and not names & {
        "EXECSRV_RUNTIME_DIR", "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"}, "%s" % names)
    check(not os.listdir(folder), "%s" % os.listdir(folder))
    server, = program.servers()
    seen = []
    for pid in [server] + program.below():
        try:
            seen += links(pid)
        except OSError:
            pass                # not dumpable, and we are not root
    with open("/proc/net/unix", encoding="ascii", errors="replace") as f:
        named = {n.split()[6] for n in f.readlines()[1:]
                 if len(n.split()) > 7}
    check(not {n[8:-1] for n in seen if n.startswith("socket:")} & named,
          "a socket with a name")
    program.end()


def not_passed_on():
    """Descriptors of ours, and what a terminal says to us."""
    r, w = os.pipe()
    os.set_inheritable(w, True)
    program = embed.Embedder(pass_fds=[w], start_new_session=True)
    os.close(w)
    program.do("local")
    word = tree(program)
    program.do("shut", str(w))
    check(os.read(r, 1) == b"", "nobody else has it")
    os.close(r)
    os.killpg(program.pid, signal.SIGINT)
    os.killpg(program.pid, signal.SIGWINCH)
    check(program.run("echo on")[0] == "on" and len(with_word(word)) == 4,
          "it goes on")
    program.end()


def settings():
    """Settings of its own, and none that are none."""
    program = embed.Embedder()
    program.do("local", "Umask=0077")
    check(program.run("umask")[0] == "0077", "the umask")
    why = program.fails("local", "Nonsense=yes")
    check("Nonsense" in why, why)
    program.end()


def programs():
    """Which program: the variable, and what is wrong with it."""
    for value, wanted in (("execsrvd", "absolute"),
                          (TMP + "/none", "No such file"),
                          ("/bin/false", "ended with status 1"), ("/bin/cat", "")):
        program = embed.Embedder({"EXECSRVD": value})
        why = program.fails("local")
        check(wanted in why, "%s: %s" % (value, why))
        program.end()
    # One that runs with more rights than its user does not ask it.
    path = TMP + "/privileged"
    with open(embed.BUILD + "/t/750-embed", "rb") as f, \
            open(path, "wb") as out:
        out.write(f.read())
    if os.getuid() != 0 or os.statvfs(TMP).f_flag & os.ST_NOSUID:
        print("left out: no set-group-ID programs")
        return
    os.chown(path, 0, 65534)
    os.chmod(path, stat.S_ISGID | 0o755)
    os.chmod(TMP, 0o755)
    program = embed.Embedder({"EXECSRVD": "relative"}, executable=path,
                             user=65534, group=65533, extra_groups=[])
    why = program.fails("local")
    check("absolute" not in why, why)
    program.kill()


main(a_command, two, killed, no_folder, not_passed_on, settings, programs)
