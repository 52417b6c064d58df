//! foretrace-recorder
