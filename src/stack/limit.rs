//! The word that compilers' checks compare rsp with, as other threads know it.
//!
//! It is in the thread's own memory, which is gone when the thread is. So each M says where its word
//! is while there is one, and who writes to another thread's holds the M's lock for that time.

use std::sync::atomic::Ordering;

use crate::arch::stack_limit;
use crate::lock::{lock, unlock};
use crate::runtime2::M;
use crate::stack::STACK_PREEMPT;

/// Lets other threads find this thread's word.
pub(crate) fn remember_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    mp.ext.stack_limit.set(stack_limit());
    unlock(&mp.ext.stack_limit_lock);
}

/// Ends that, before the thread does.
pub(crate) fn forget_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    mp.ext.stack_limit.set(None);
    unlock(&mp.ext.stack_limit_lock);
}

/// Makes the next check on the thread of `mp` fail.
///
/// Unless that thread is just switching: then it overwrites the word, or another goroutine than was
/// meant finds it, or the scheduler. So who asks for something this way asks again, and who finds
/// that nobody has asked goes on.
pub(crate) fn poison_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    if let Some(limit) = mp.ext.stack_limit.get() {
        // A number on its own: nothing is read on account of it that isn't asked for again.
        limit.store(STACK_PREEMPT, Ordering::Relaxed);
    }
    unlock(&mp.ext.stack_limit_lock);
}
