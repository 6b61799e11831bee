//! What is checked of the face `sync`.

#[cfg(test)]
mod models_wait_group;
#[path = "../../../../src/sync/wait_group.rs"]
mod wait_group;
