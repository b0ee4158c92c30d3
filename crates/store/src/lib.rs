//! The run folder: schema, journal, observations.
