-- name: vacuum_holders
-- Holders of old row versions of this database, the oldest five of each kind. Any role may see
-- this much, but since when only of its own sessions. Autovacuum has no user, and holds nothing back.
(
    SELECT 'session', pid::text, application_name, usename::text,
        greatest(age(backend_xmin), age(backend_xid))::int8 AS transactions,
        COALESCE(backend_xid, backend_xmin)::text,
        (extract(epoch FROM clock_timestamp() - xact_start) * 1000)::int8
    FROM pg_stat_activity
    WHERE (datname = current_database() OR datname IS NULL) AND usesysid IS NOT NULL
        AND pid <> pg_backend_pid() AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)
    ORDER BY transactions DESC LIMIT 5
)
UNION ALL
(
    SELECT 'prepared', gid, NULL, owner::text, age(transaction)::int8 AS transactions,
        transaction::text, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::int8
    FROM pg_prepared_xacts WHERE database = current_database()
    ORDER BY transactions DESC LIMIT 5
)
UNION ALL
(
    SELECT 'slot', slot_name::text, NULL, NULL,
        greatest(age(xmin), age(catalog_xmin))::int8 AS transactions,
        COALESCE(xmin, catalog_xmin)::text, NULL
    FROM pg_replication_slots WHERE xmin IS NOT NULL OR catalog_xmin IS NOT NULL
    ORDER BY transactions DESC LIMIT 5
)
