-- Version 14: the value that a build took instead of a config's, if it took the option.

ALTER TABLE arm_left_out ADD COLUMN taken TEXT;
