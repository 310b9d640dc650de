-- Notes of a durable handler besides its state: the index of its step, and its log of side effects.

ALTER TABLE checkpoints ADD COLUMN step_index int8, ADD COLUMN metadata bytea;
