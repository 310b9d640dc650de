"""Extensions of ASGI that the connections of this project offer to the application."""

from typing import Final

# Sends several texts to a WebSocket at once.
TEXTS: Final = "ojs.texts"
# Marks a request whose body is no longer awaited; it holds the error.
GIVEN_UP: Final = "ojs.given-up"
