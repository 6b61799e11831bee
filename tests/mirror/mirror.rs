//! What the sources say of themselves, against the sources: Go's names and fields are here, the
//! reading guide is right, each room uses only the rooms below it, the documentation is whole,
//! and its indexes are. The hosting service runs the steps that the scripts have. No test is in
//! quarantine, and none asserts an upper bound of elapsed time.

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
