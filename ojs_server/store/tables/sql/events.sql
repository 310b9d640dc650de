-- name: begin_tally
-- There is always a count, of nothing at first.
INSERT INTO event_tally (one, upto, total) VALUES (1, 0, 0)
