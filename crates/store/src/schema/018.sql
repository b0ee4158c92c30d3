-- Version 18: the copy of its build that an arm ran in a block.

ALTER TABLE block_arms ADD COLUMN copy INTEGER NOT NULL DEFAULT 1;
