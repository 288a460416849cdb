"""usage: 3without.py URL: a way to a server on which it does not announce
execsrvFsAttributes.  Prints its own URL."""
import socket
import sys
import threading

NAME, OTHER = b"execsrvFsAttributes", b"execsrvFsNothingToo"


def pump(source, to, hides):
    """The name comes in the first answers only, in one piece."""
    try:
        while True:
            data = source.recv(1 << 18)
            if not data:
                break
            to.sendall(data.replace(NAME, OTHER) if hides else data)
    except OSError:
        pass
    for sock in source, to:
        try:
            sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    host, port = sys.argv[1][5:].rstrip("/").rsplit(":", 1)
    listener = socket.create_server(("127.0.0.1", 0))
    print("ws://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
    while True:
        client = listener.accept()[0]
        server = socket.create_connection((host, int(port)))
        for args in (client, server, False), (server, client, True):
            threading.Thread(target=pump, args=args, daemon=True).start()


main()
