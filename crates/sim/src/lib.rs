//! foretrace-sim
