"""The tenants and pools that every node holds in memory."""

from collections.abc import Mapping
from typing import Final

import msgspec

from ojs_server.domain.fairness.pool import Pool
from ojs_server.domain.tenants.tenant import Tenant


class Sharing(msgspec.Struct, frozen=True):
    """The settings of tenants and pools; `tenancy` is true once any job has had a tenant."""

    tenancy: bool = False
    tenants: Mapping[str, Tenant] = {}
    pools: Mapping[str, Pool] = {}


ALONE: Final = Sharing()
