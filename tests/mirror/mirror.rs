//! The sources' statements about themselves, against the sources. Go's names and fields are here,
//! the reading guide is right, each room uses only the rooms below it, and the documentation and
//! its indexes are complete, and so is the page on settings. Each item of other libraries has an
//! answer. The hosting service runs the scripts' steps. No test is in quarantine, and none asserts
//! an upper bound of elapsed time.

mod accesses;
mod capi;
mod docs;
mod fields;
mod functions;
mod guide;
mod index;
mod markdown;
mod others;
mod places;
mod prose;
mod public;
mod quarantine;
mod reading_guide;
mod repository;
mod rooms;
mod settings;
mod sources;
mod structs;
mod tables;
mod time_bounds;
mod tokens;
mod workflows;
