"""Idempotency keys, and the jobs stored under them."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ojs_server.store.records import Receipt
from ojs_server.store.tables.statements import Writing, by_name
from ojs_wire.codec import encode

ReceiptKey = tuple[str, str, str]

_KEY: Final = ("principal", "operation", "key")

_job_ids: Final = msgspec.json.Decoder(tuple[str, ...])


class ReceiptWrites(Writing):
    """Receipts in a write transaction."""

    def insert_receipts(self, receipts: Mapping[ReceiptKey, Receipt]) -> dict[ReceiptKey, Receipt]:
        """Store receipts under (principal, operation, key); answers those already there."""
        rows = sorted(receipts.items())
        new = {
            **by_name([key for key, _ in rows], *_KEY),
            "body_hash": [receipt.body_hash for _, receipt in rows],
            "job_ids": [encode(receipt.job_ids).decode() for _, receipt in rows],
            "created_at": (self.now,) * len(rows),
        }
        stored = set(self.all_columns("insert_receipts", **new))
        taken = [key for key in receipts if key not in stored]
        return {
            (principal, operation, key): Receipt(body_hash, _job_ids.decode(job_ids))
            for principal, operation, key, body_hash, job_ids in self.all_columns(
                "load_receipts", **by_name(taken, *_KEY)
            )
        }

    def delete_receipts(self, keys: Sequence[ReceiptKey]) -> None:
        """Take back receipts of this transaction."""
        self.run_columns("delete_receipts", **by_name(keys, *_KEY))

    def prune_receipts(self, before: int, limit: int) -> int:
        """Remove receipts older than a moment."""
        return self.run("prune_receipts", before=before, limit=limit)
