"""The tenants and pools that every node holds in memory."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from ojs_server.domain.fairness.pool import OF_POOL, Pool
from ojs_server.domain.tenants.tenant import OF_TENANT, Tenant


class Sharing(msgspec.Struct, frozen=True):
    """The settings of tenants and pools; `tenancy` is true once any job has had a tenant."""

    tenancy: bool = False
    tenants: Mapping[str, Tenant] = {}
    pools: Mapping[str, Pool] = {}


ALONE: Final = Sharing()


def limited_tenants(sharing: Sharing, names: Iterable[str] | None = None) -> Mapping[str, Tenant]:
    """Return the tenants with limits, of these or of all."""
    if not sharing.tenants:
        return {}
    chosen = sharing.tenants if names is None else sharing.tenants.keys() & set(names)
    return {name: sharing.tenants[name] for name in chosen if sharing.tenants[name].limited}


def limited_pools(sharing: Sharing) -> list[str]:
    """Return the pools with a limit of running jobs."""
    return [name for name, pool in sharing.pools.items() if pool.concurrency is not None]


def guards(tenants: Iterable[str], pools: Iterable[str] = ()) -> list[str]:
    """Return the rows that are locked to check the limits of tenants and pools."""
    return [*(OF_POOL + name for name in pools), *(OF_TENANT + name for name in tenants)]
