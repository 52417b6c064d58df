//! foretrace-program
