//! The checked files of the face `net`.

mod limit;
mod models_registration;
#[path = "../../../../src/net/registration.rs"]
mod registration;
