"""libexecsrv as others see it: its symbols are the calls of execsrv.h, with a
version, and the example of libexecsrv(3) compiles and runs with both.

--extract PAGE prints the example and does nothing else.
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from client import (BUILD, LIMIT, TMP, Server, check, connect, main,
                    skip, wait_for)

SRC = os.environ.get("SRCDIR", ".")
HEADER = SRC + "/common/client/execsrv.h"
PAGE = BUILD + "/man/libexecsrv.3"


def config(name):
    """A setting of config.mk."""
    with open(BUILD + "/config.mk", encoding="utf-8") as f:
        return re.search(r"(?m)^%s\s*=[ \t]*(.*)$" % name, f.read()).group(1)


def examples(page):
    """The programs of a manual page."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    found = re.findall(r'\.\\" example\n\.Bd.*\n((?:.*\n)*?)\.Ed', text)
    return [t.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\")
            for t in found]


def run(*argv, status=0, **how):
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=LIMIT * 3,
                          stderr=subprocess.PIPE, check=False, **how)
    check(done.returncode == status, "%s: %s\n%s" % (
        argv, done.returncode, (done.stdout + done.stderr).decode()))
    return done.stdout.decode()


def declared():
    """The functions that the header declares."""
    with open(HEADER, encoding="utf-8") as f:
        text = re.sub(r"(?s)/\*.*?\*/", "", f.read())
    text = re.sub(r"(?m)^#.*$|^typedef [^;]*;", "", text)
    names = re.findall(r"\b(execsrv_\w+)\(", text)
    check(len(names) > 15 and len(set(names)) == len(names), names)
    return set(names)


def symbols():
    out = run("nm", "-D", "--defined-only", BUILD + "/libexecsrv.so")
    names = re.findall(r"(?m) T (\S+)$", out)
    check(set(names) == {n + "@@EXECSRV_0" for n in declared()},
          "exported: %s" % names)
    others = [line for line in out.splitlines() if " T " not in line and
              not line.endswith(" A EXECSRV_0")]
    check(not others, others)


def manuals():
    """A page for each call, by its name; and all of what it takes."""
    pages = BUILD + "/man/man3/"
    for name in declared():
        with open(pages + name + ".3", encoding="utf-8") as f:
            text = f.read()
        check(re.search(r"(?m)^\.Nm %s\b" % name, text) and name + "(" in text,
              name)
    with open(HEADER, encoding="utf-8") as f:
        structs = re.findall(r"(?m)^struct (execsrv_\w+) \{", f.read())
    text = ""
    for name in os.listdir(pages):
        if name.endswith(".3") and not os.path.islink(pages + name):
            with open(pages + name, encoding="utf-8") as f:
                text += f.read()
    check("execsrv_error" in structs, structs)
    check(not [s for s in structs if "struct %s {" % s not in text], structs)


def static_symbols():
    out = run("nm", "-g", "--defined-only", BUILD + "/libexecsrv.a")
    names = re.findall(r"(?m)^\S+ (\S) (\S+)$", out)
    ours = {n for t, n in names if t == "T"}
    check(ours == declared(), "global: %s" % (ours ^ declared()))
    check(all(t == "T" or n.startswith(("__gcov", "__odr_asan"))
              for t, n in names), names)


def keeps_nothing():
    """No variable that can be written: no global state."""
    if config("SANITIZERS") or config("COVERAGE") == "yes":
        return                  # they keep a lot
    out = run("objdump", "-t", BUILD + "/libexecsrv.a")
    kept = re.findall(r"(?m)^\S+ .{6}O (\S+)\s.* (\S+)$", out)
    check(kept, "no objects at all")
    # Tables of pointers are read-only once they are relocated.
    check(all(where.startswith((".rodata", ".data.rel.ro"))
              for where, _ in kept), kept)


def compiler():
    return config("CC").split() + ["-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                   "-I" + os.path.dirname(HEADER)]


def compile_to(name, source, libs):
    path = "%s/%s" % (TMP, name)
    with open(path + ".c", "w", encoding="utf-8") as f:
        f.write(source)
    sanitizers = config("SANITIZERS")
    flags = ["-fsanitize=" + sanitizers] if sanitizers else []
    if config("COVERAGE") == "yes":
        flags.append("--coverage")
    run(*compiler(), "-std=c11", *flags, "-o", path, path + ".c", *libs,
        cwd=TMP)
    return path


def header():
    """It stands alone, in old C and in C++."""
    path = TMP + "/alone.c"
    with open(path, "w", encoding="utf-8") as f:
        f.write("#include <execsrv.h>\n#include <execsrv.h>\n"
                "int main(void) { return 0; }\n")
    run(*compiler(), "-std=c99", "-fsyntax-only", path)
    try:
        run("c++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++",
            "-I" + os.path.dirname(HEADER), path)
    except FileNotFoundError:
        pass                    # no C++ here


SHARED = [BUILD + "/libexecsrv.so", "-Wl,-rpath," + BUILD]
STATIC = [BUILD + "/libexecsrv.a", "-lsodium"]
OWN = {**os.environ, "EXECSRVD": BUILD + "/execsrvd"}


def example():
    sources = examples(PAGE)
    check(len(sources) == 4, "%d examples in %s" % (len(sources), PAGE))
    server = Server()
    for libs in SHARED, STATIC:
        path = compile_to("example", sources[0], libs)
        out = run(path, server.url, "sh", "-c", "echo on; exit 7", status=7)
        check(out == "on\n", out)
        run(path, server.url, "/nonexistent/command", status=1)
        run(path, "ws://127.0.0.1:1", "true", status=1)


def example_status():
    """It is there before its server, sees it stop, and says why it ended."""
    source = examples(PAGE)[1]
    check("= 30000" in source, source)
    path = compile_to("status", source.replace("= 30000", "= 600000"), SHARED)
    socket_path = TMP + "/late"
    client = subprocess.Popen([path, "unix:" + socket_path],
                              stdout=subprocess.PIPE)
    server = Server(listen=["unix:" + socket_path])
    line = client.stdout.readline()
    check(line == b"connected\n", line)
    # A connection that has no session yet is closed without a word.
    wait_for(lambda: server.status()["attached"] == "1", LIMIT, "counted")
    server.stop()
    rest = client.stdout.read().decode().splitlines()
    check(client.wait(LIMIT) == 0, client.returncode)
    client.stdout.close()
    check(rest[0] == "ending" and
          rest[-1].startswith("failed (ended, errno 0): "), rest)


def example_local():
    path = compile_to("local", examples(PAGE)[2], STATIC)
    check(run(path, PAGE, env=OWN).startswith(".\\\" "), "a page")
    run(path, "/nonexistent", status=1, env=OWN)


def example_serve():
    path = compile_to("serve", examples(PAGE)[3], STATIC)
    server = subprocess.Popen([path], env=OWN, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    url = server.stdout.readline().decode().strip()
    with connect(url) as c:
        check(c.run("p", "echo", "on")[0] == b"on\n", "a command")
    server.stdin.close()
    check(server.wait(LIMIT) == 0, "status %d" % server.returncode)
    server.stdout.close()
    run(path, url.replace("127.0.0.1", "192.0.2.1"), status=1, env=OWN,
        stdin=subprocess.DEVNULL)


def moved_tree():
    """A tree that was moved finds its own programs, by the program's place and
    by the library's; one that anybody may write to is not trusted."""
    tree = TMP + "/moved"
    for folder in "sbin", "bin", "lib", "libexec/execsrv", "elsewhere":
        os.makedirs(tree + "/" + folder)
    os.chmod(tree, 0o755)
    shutil.copy(BUILD + "/execsrvd", tree + "/sbin")
    with open(BUILD + "/programs", encoding="utf-8") as f:
        for name in f.read().split():
            if name.startswith("execsrv-"):
                shutil.copy(BUILD + "/" + name, tree + "/libexec/execsrv")
    shutil.copy(BUILD + "/libexecsrv.so", tree + "/lib/libexecsrv.so.0")
    moved = {k: v for k, v in os.environ.items() if k != "EXECSRVD"}
    page = examples(PAGE)[2]
    by_self = tree + "/bin/local"
    shutil.move(compile_to("local", page, STATIC), by_self)
    by_library = tree + "/elsewhere/local"
    shutil.move(compile_to("local", page, [
        BUILD + "/libexecsrv.so", "-Wl,-rpath," + tree + "/lib"]), by_library)
    for path in by_self, by_library:
        check(run(path, PAGE, env=moved).startswith(".\\\" "), path)
    os.chmod(tree, 0o777)
    for path in by_self, by_library:
        done = subprocess.run([path, PAGE], env=moved, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, check=False)
        check(tree.encode() not in done.stderr, done.stderr)
        check(os.path.exists(config_path("sbindir") + "/execsrvd") or
              (done.returncode == 1 and not done.stdout), done)


def config_path(name):
    """A folder of config.mk, without variables."""
    text = config(name)
    while "${" in text:
        text = re.sub(r"\$\{(\w+)\}", lambda m: config(m.group(1)), text)
    return text


def pkg_config():
    """The .pc file of a moved tree."""
    if shutil.which("pkg-config") is None:
        print("left out: no pkg-config")
        return
    folder = TMP + "/root/lib/pkgconfig"
    os.makedirs(folder)
    shutil.copy(BUILD + "/libexecsrv.pc", folder)
    libdir = config_path("libdir")
    prefix = config_path("prefix")
    if not libdir.startswith(prefix + "/"):
        print("left out: libdir is not below prefix")
        return
    out = run("pkg-config", "--define-variable=prefix=" + TMP + "/root",
              "--cflags", "--libs", folder + "/libexecsrv.pc")
    check("-L%s/root%s" % (TMP, libdir[len(prefix):]) in out.split(), out)


if sys.argv[1:2] == ["--extract"]:
    sys.stdout.write(examples(sys.argv[2])[0])
    sys.exit(0)
if not os.path.exists(BUILD + "/libexecsrv.so"):
    skip("the library is not built")
main(symbols, manuals, static_symbols, keeps_nothing, header, example, example_status,
     example_local,
     example_serve, moved_tree, pkg_config)
