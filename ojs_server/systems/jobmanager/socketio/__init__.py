"""Socket.IO for the clients of the job manager: rooms, and what happens in them.

    sessions.py       sessions from their handshake on, within bounds
    packets.py        checks of what clients send
    connections.py    clients: their keys, the rooms that they join, the sessions of their workers
    announcing.py     the event log ──▶ the notices of each room
    serving.py        all of it, as an ASGI application

Needs the extra `socketio`, and is loaded only under the profile whose clients look for it.
"""

from importlib.util import find_spec

if find_spec("socketio") is None:
    raise ImportError("Socket.IO is not installed: pip install 'ojs-reference[socketio]'")
