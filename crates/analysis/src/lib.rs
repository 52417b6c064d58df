//! foretrace-analysis
