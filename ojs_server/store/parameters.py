"""The types of the parameters of statements, by name.

Where a parameter has another type in one statement, that says so: `:after::int8`. A JSON text is
`json`.
"""

from typing import Final

_BY_TYPE: Final = {
    "text": """
        after after_id all backend call channel demand error_type floor high host id id_prefix
        job_id last limit_ms low mode name node notice owner prefix provider_id queue reason
        request_hash room state states status tagged target tenant text token token_hash type uri
        version webhook_id worker worker_id workflow_name
    """,
    "int8": """
        after_at after_start at before below created_at deleted end ended_since ended_until
        event_streams floor_at for_ms from gone gone_ms grace keep leases limit lock_ms look
        look_ahead looked_at major minor moment most now number offline offset patch pos priority
        process removed seq silent since span step surplus total unreachable until upto used
        waiting_fetches
    """,
    "int4": "pid",
    "bool": "local paused with_meta",
    "bytea": "digest",
    "json": "config document written",
    "text[]": "ids jobs limits queues tenants types workers",
    "int8[]": "bottoms floors tops unfinished",
}
TYPES: Final = {name: kind for kind, names in _BY_TYPE.items() for name in names.split()}
