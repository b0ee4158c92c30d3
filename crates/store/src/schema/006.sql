-- Version 6: which action made the data that an arm started from in a block: the load, or what followed it on that arm.
-- Null in passes of a sequence, whose arms load their own, and in runs of earlier versions.

ALTER TABLE block_arms ADD COLUMN data_seq INTEGER REFERENCES actions (seq);
