//! foretrace-gantt
