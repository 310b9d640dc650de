-- fragment: searched
-- The conditions of a search. A tag is only looked for as text in the options.
(:id_prefix IS NULL OR substr(id, 1, length(:id_prefix)) = :id_prefix)
    AND (:tagged IS NULL OR instr(spec, :tagged) > 0)
    AND (
        :text IS NULL OR (octet_length(args) <= :most AND instr(args, :text) > 0)
        OR (octet_length(meta) <= :most AND instr(meta, :text) > 0)
    )

-- fragment: parked
-- The states that the index of lists has.
state <> 'available' AND state <> 'active' AND state <> 'completed'

-- fragment: unique_held
-- The condition of the index of unique keys.
unique_key IS NOT NULL
    AND state <> 'completed' AND state <> 'cancelled' AND state <> 'discarded'
