//! A thread's limit word, which compilers' checks compare rsp with: how other threads reach it.
//!
//! The word is in the thread's own memory, which is gone when the thread is. So the M has its
//! address as long as there is a thread, and who writes to another thread's word holds the M's lock
//! meanwhile.

use std::sync::atomic::Ordering;

use crate::runtime::arch::sanitizer::unseen;
use crate::runtime::arch::{stack_limit, thread_pointer};
use crate::runtime::data::runtime2::{G, M};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::mem::sizes::STACK_PREEMPT;

/// Lets other threads find this thread's limit word.
pub(in crate::runtime) fn remember_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    // SAFETY: this thread's.
    mp.ext.stack_limit.set(unsafe { stack_limit(thread_pointer()) });
    unlock(&mp.ext.stack_limit_lock);
}

/// Undoes [`remember_stack_limit`], before the thread ends.
pub(in crate::runtime) fn forget_stack_limit(mp: &M) {
    lock(&mp.ext.stack_limit_lock);
    mp.ext.stack_limit.set(None);
    unlock(&mp.ext.stack_limit_lock);
}

/// Makes the next check of `gp`, which runs on the thread of `mp`, fail, as a rule.
///
/// If that thread is just switching stacks, it may overwrite the word, or the check that fails is
/// another goroutine's, or the scheduler's. So whoever asks a goroutine to stop this way asks
/// again, and a goroutine that nobody has asked goes on.
pub(in crate::runtime) fn poison_stack_limit(mp: &M, gp: &G) {
    if gp.ext.tp.get() != 0 {
        // SAFETY: its own, in its home, which is never unmapped. At worst the goroutine has ended,
        // and the next one there sets the word when it begins.
        if let Some(limit) = unsafe { stack_limit(gp.ext.tp.get()) } {
            limit.store(STACK_PREEMPT, Ordering::Relaxed);
        }
        return;
    }
    lock(&mp.ext.stack_limit_lock);
    if let Some(limit) = mp.ext.stack_limit.get() {
        // Relaxed: it publishes nothing. If newstack sees no request yet, this one is lost, and
        // made again.
        unseen(|| limit.store(STACK_PREEMPT, Ordering::Relaxed));
    }
    unlock(&mp.ext.stack_limit_lock);
}
