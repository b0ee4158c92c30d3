-- Version 9: windows in which arms took turns keep each turn.

CREATE TABLE slices (
    seq    INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE,
    points BLOB NOT NULL -- for each slice five unsigned numbers of 32 bits, the lowest byte first: events, then elapsed
                         -- time and CPU time of sessions, clients and other processes in tenths of a microsecond;
                         -- 4294967295 where not known
) WITHOUT ROWID;

-- Events that each client does in a turn; 0 where arms took no turns.
ALTER TABLE works ADD COLUMN slice_events INTEGER NOT NULL DEFAULT 0;
