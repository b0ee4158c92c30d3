//! Run folders as flat tables that other tools read: CSV, JSON Lines and Parquet.
