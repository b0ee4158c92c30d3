//! The load engine: workers, pacing, histograms, warm-up, windows.
