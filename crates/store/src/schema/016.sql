-- Version 16: whether a build accepts an option and does nothing with it.

ALTER TABLE arm_left_out ADD COLUMN without_effect INTEGER NOT NULL DEFAULT 0;

UPDATE arm_left_out SET without_effect = reason LIKE 'accepted without effect: %';
