-- Version 15: when a source was last changed, which is its date if it does not tell when it was measured.

ALTER TABLE sources ADD COLUMN modified_at_ms INTEGER;
