-- fragment: searched
-- The conditions of a search. A tag is only looked for as text in the options.
-- differs: arguments and options are bytes here.
(:id_prefix IS NULL OR substr(id, 1, length(:id_prefix)) = :id_prefix)
    AND (:tagged IS NULL OR position(convert_to(:tagged, 'UTF8') IN spec) > 0)
    AND (
        :text IS NULL
        OR (octet_length(args) <= :most AND position(convert_to(:text, 'UTF8') IN args) > 0)
        OR (octet_length(meta) <= :most AND position(convert_to(:text, 'UTF8') IN meta) > 0)
    )

-- fragment: parked
-- The states that the index of lists has.
-- differs: SQLite's index lists no states, or each write would build a table of them.
state IN ('scheduled', 'pending', 'retryable', 'cancelled', 'discarded')

-- fragment: unique_held
-- The condition of the index of unique keys.
-- differs: as for `parked`.
unique_key IS NOT NULL AND state IN ('scheduled', 'available', 'pending', 'active', 'retryable')
