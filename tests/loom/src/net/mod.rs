//! The checked files of the face `net`.

mod limit;
mod models_ready_list;
mod models_registration;
#[path = "../../../../src/net/ready_list.rs"]
mod ready_list;
#[path = "../../../../src/net/registration.rs"]
mod registration;
