//! The journal: what the recorder writes while the program runs.
