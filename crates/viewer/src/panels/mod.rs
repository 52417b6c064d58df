//! The panels around the picture.

pub mod advice;
pub mod curve;
pub mod find;
pub mod help;
pub mod inspector;
pub mod lists;
pub mod source_view;
pub mod status;
pub mod toolbar;
pub mod welcome;
pub mod words;
