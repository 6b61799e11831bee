//! The checked files of the face `sync`.

#[cfg(test)]
mod models_raw_mutex;
#[cfg(test)]
mod models_wait_group;
#[path = "../../../../src/sync/raw_mutex.rs"]
mod raw_mutex;
#[path = "../../../../src/sync/wait_group.rs"]
mod wait_group;
