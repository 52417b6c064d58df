//! The sealed trace.
