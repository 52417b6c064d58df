//! foretrace-testkit
