-- Version 11: options left out because the build refuses their values, which it would not start with.

ALTER TABLE arm_left_out ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
