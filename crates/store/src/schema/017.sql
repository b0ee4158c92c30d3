-- Version 17: actions whose result is kept and that are executed once more for the data they leave.

CREATE TABLE replays (
    seq INTEGER PRIMARY KEY REFERENCES actions (seq) ON DELETE CASCADE
) STRICT;
