"""Free ports for servers that are started by a command."""

import socket

_HOST = "127.0.0.1"


def reserve_port() -> int:
    """Return a free port that the system will not give to another program for a minute.

    A connection is opened and closed on it. For the minute that the system then remembers it
    (TIME_WAIT), only a program that names the port can listen there, as servers do that set
    SO_REUSEADDR. A port that was merely free a moment ago may be another program's by the time
    the server comes up, and that program would be judged in its place.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, 0))
        listener.listen(1)
        port: int = listener.getsockname()[1]
        with socket.create_connection((_HOST, port)) as client:
            accepted, _ = listener.accept()
            # The client closes last: the side that closes first has the port in TIME_WAIT.
            accepted.close()
            client.recv(1)
    return port
