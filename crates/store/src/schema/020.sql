-- Version 20: how long blocks may take in all, of a run that a resume gave more than its plan.

ALTER TABLE run ADD COLUMN budget_ms INTEGER;
