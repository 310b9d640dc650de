"""Idempotency keys and what was stored under them."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ojs_server.store.records import Receipt
from ojs_server.store.tables.statements import Writing
from ojs_wire.codec import encode

ReceiptKey = tuple[str, str, str]

_job_ids: Final = msgspec.json.Decoder(tuple[str, ...])


class ReceiptWrites(Writing):
    """Receipts in a write transaction."""

    def insert_receipts(self, receipts: Mapping[ReceiptKey, Receipt]) -> dict[ReceiptKey, Receipt]:
        """Store receipts; answers those already there."""
        rows = [
            (*key, receipt.body_hash, encode(receipt.job_ids).decode(), self.now)
            for key, receipt in sorted(receipts.items())
        ]
        stored = set(self.all_rows("insert_receipts", rows))
        taken = [key for key in receipts if key not in stored]
        return {
            (row[0], row[1], row[2]): Receipt(row[3], _job_ids.decode(row[4]))
            for row in self.all_rows("load_receipts", taken)
        }

    def delete_receipts(self, keys: Sequence[ReceiptKey]) -> None:
        """Take receipts back."""
        self.run_rows("delete_receipts", keys)

    def prune_receipts(self, before: int, limit: int) -> int:
        """Remove old receipts."""
        return self.run("prune_receipts", before=before, limit=limit)
