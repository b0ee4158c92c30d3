-- Version 10: what the host could do before the first action of a run and after the last.

CREATE TABLE certificates (
    moment   TEXT NOT NULL CHECK (moment IN ('before', 'after')),
    quantity TEXT NOT NULL,  -- its unit comes last
    value    REAL NOT NULL,  -- the median of several slices
    low      REAL NOT NULL,  -- the lowest slice
    high     REAL NOT NULL,  -- the highest slice
    PRIMARY KEY (moment, quantity)
) WITHOUT ROWID;
