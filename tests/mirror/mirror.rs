//! The sources' statements about themselves, against the sources. Go's names and fields are here,
//! the reading guide is right, each room uses only the rooms below it, and the documentation and
//! its indexes are complete. The hosting service runs the scripts' steps. No test is in quarantine,
//! and none asserts an upper bound of elapsed time.

mod accesses;
mod capi;
mod docs;
mod fields;
mod functions;
mod guide;
mod index;
mod markdown;
mod places;
mod prose;
mod quarantine;
mod reading_guide;
mod repository;
mod rooms;
mod sources;
mod structs;
mod tables;
mod time_bounds;
mod tokens;
mod workflows;
