"""What every node holds in memory of those who share queues: tenants, and pools of queues."""

from collections.abc import Mapping
from typing import Final

import msgspec

from ojs_server.domain.pool import Pool
from ojs_server.domain.tenant import Tenant


class Sharing(msgspec.Struct, frozen=True):
    """Whether any job ever had a tenant, what was set for tenants, and the pools."""

    tenancy: bool = False
    tenants: Mapping[str, Tenant] = {}
    pools: Mapping[str, Pool] = {}


ALONE: Final = Sharing()
