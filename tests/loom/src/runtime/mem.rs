//! Stand-ins: stacks, which always suffice, and memory, which no model allocates.

pub(crate) mod sizes {
    pub(crate) const STACK_PREEMPT: usize = usize::MAX;
}

/// Checks that compilers make. No model has any.
pub(crate) mod morestack_check {
    use crate::runtime::data::runtime2::{G, M};

    pub(crate) fn poison_stack_limit(_: &M, _: &G) {}

    pub(crate) fn entry_check() {}
}

pub(crate) mod arena {
    use std::ffi::CStr;

    pub(crate) struct Arena;

    impl Arena {
        pub(crate) const fn new(_size: usize, _name: &CStr) -> Self {
            Arena
        }
    }
}

/// Pools: a thing that is given back to a pool has a mark in place of its link.
pub(crate) mod pool {
    use std::ffi::c_void;
    use std::mem::MaybeUninit;
    use std::ptr::{self, NonNull};

    use crate::runtime::data::atomic::Cell;
    use crate::runtime::data::ext::{FreeList, Pool};
    use crate::runtime::data::runtime2::P;
    use crate::runtime::made::{goroutines_are_threads, zeroed};
    use crate::runtime::mem::arena::Arena;

    pub(crate) trait Linked: Sized + 'static {
        unsafe fn next<'a>(this: NonNull<Self>) -> &'a Cell<*mut c_void>;
    }

    pub(crate) trait Pooled: Linked {
        fn cache(pp: &P) -> &FreeList<Self>;
        fn pool() -> &'static Pool<Self>;
        fn arena() -> &'static Arena;
    }

    pub(crate) fn alloc<T: Pooled>() -> Option<NonNull<T>> {
        Some(NonNull::from(zeroed::<MaybeUninit<T>>()).cast())
    }

    pub(crate) fn free<T: Pooled>(thing: NonNull<T>) {
        if goroutines_are_threads() {
            return; // A wait has left its waiter there.
        }
        // SAFETY: it is one of a pool's things.
        let mark = unsafe { T::next(thing) };
        assert!(mark.get().is_null(), "given back twice");
        mark.set(ptr::dangling_mut());
    }
}
