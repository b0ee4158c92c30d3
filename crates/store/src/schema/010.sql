-- Version 10: the windows of a block are divided among several server starts.

-- Number of the server start in the block, from 1; 0 for a count.
ALTER TABLE placements ADD COLUMN start INTEGER NOT NULL DEFAULT 1;
UPDATE placements SET start = 0 WHERE window_number = 0;
