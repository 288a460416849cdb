"""938: whose TCP connections are, on a kernel without tcp_diag."""
import importlib
import os
import socket

from client import (BUILD, Client, RpcError, Server, check, main,
                    upgrade_request)

lib = importlib.import_module("2common")
box = importlib.import_module("6common")
NO_DIAG = (BUILD + "/t/938-no-diag",)
IS_ROOT = os.geteuid() == 0


def users():
    return (0, 1, 65534) if IS_ROOT else (os.geteuid(),)


def id_of(url, uid, **more):
    with lib.as_uid(uid if IS_ROOT else None):
        client = Client(url, **more)
    client.initialize()
    out = client.run("id", "id", "-u")[0]
    client.sock.close()
    return int(out)


def by_table():
    listen = ["ws://127.0.0.1:0"]
    if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"):
        listen.append("ws://[::1]:0")
    server = Server(prefix=NO_DIAG, listen=listen)
    check("/proc/net/tcp" in server.log(), server.log())
    for url in server.urls:
        for uid in users():
            check(id_of(url, uid) == uid, "%s: not %d" % (url, uid))
    check(server.status()["tcp_users"] == "/proc/net/tcp", "status")
    # By an IPv6 socket to an address of IPv4.
    with socket.socket(socket.AF_INET6) as sock:
        try:
            sock.connect(("::ffff:127.0.0.1",
                          int(server.url.rsplit(":", 1)[1])))
        except OSError as e:
            print("left out: not by IPv6: %s" % e)
        else:
            sock.sendall(upgrade_request())
            check(b" 101 " in sock.recv(4096), "by a socket of IPv6")
    sandboxed(server)
    server.stop()


def sandboxed(server):
    """A command in a sandbox could not be told from its user."""
    client = Client(server.url)
    client.initialize()
    client.run("plain", "true")
    for net, wanted in ((False, None), (True, "Operation not supported")):
        try:
            client.start("boxed%d" % net, "true",
                         sandbox=box.read_only("/", net=net))
            why = None
        except RpcError as e:
            why = e.text
        if why and "cannot be set up" in why:
            print("left out: no sandbox: " + why)
            break
        check((why is None) if wanted is None else wanted in str(why),
              "network %s: %s" % (net, why))
    client.sock.close()


def by_diag():
    server = Server()
    check("looked up with sock_diag" in server.log(), server.log())
    check(server.status()["tcp_users"] == "sock_diag", "status")
    server.stop()
    path = os.environ.get("TMPDIR", "/tmp") + "/only"
    server = Server(listen=("unix:" + path,))
    check("tcp_users" not in server.status(), "status without TCP")
    server.stop()


main(by_table, by_diag)
