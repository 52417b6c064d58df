//! foretrace-interchange
