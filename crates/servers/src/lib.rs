//! Database servers: obtaining builds, applying configs, init, start and stop.
