//! The raw face: the runtime under Go's names, for those who port one onto it. Everybody else uses the safe face.
//!
//! # Files
//!
//! | file | what it holds |
//! | --- | --- |
//! | `proc/` | the scheduler: public as [proc](crate::proc) |
//! | `hchan.rs` | channels without types: public as [chan::hchan](crate::chan::hchan) |
//! | `netpoll.rs` | the network poller: public as [netpoll](crate::netpoll) |

pub mod hchan;
pub mod netpoll;
pub mod proc;
