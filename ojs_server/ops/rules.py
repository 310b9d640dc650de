"""The server settings that operations depend on."""

import msgspec

from ojs_server.domain.profile import OJS, Profile
from ojs_server.domain.retention import Retention


class Rules(msgspec.Struct, frozen=True):
    """The server's settings that decide how operations end."""

    profile: Profile = OJS
    run_ms: int | None = None
    keep: Retention = Retention()
    conformance: bool = False
    retry_priority: str = "equal"
    schema_validation: str = "warn"
