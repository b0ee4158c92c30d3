-- Version 19: whether a build would not start with an option, and what it has instead.

ALTER TABLE arm_left_out ADD COLUMN unknown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE arm_left_out ADD COLUMN instead TEXT;

UPDATE arm_left_out SET unknown = reason LIKE 'unknown to %' AND reason NOT LIKE '%loose\_' ESCAPE '\';
