//! Assembly that tests call: it uses registers and stacks as no compiler would.

#[cfg_attr(target_arch = "x86_64", path = "at_the_stacks_end/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "at_the_stacks_end/aarch64.rs")]
pub mod at_the_stacks_end;
pub mod every_register;
#[cfg_attr(target_arch = "x86_64", path = "preserved/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "preserved/aarch64.rs")]
pub mod preserved;
#[cfg_attr(target_arch = "x86_64", path = "probes/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "probes/aarch64.rs")]
pub mod probes;
#[cfg_attr(target_arch = "x86_64", path = "secrets_in_registers/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "secrets_in_registers/aarch64.rs")]
pub mod secrets_in_registers;
