//! A goroutine's block: its thread's control block (`struct pthread`) and the TLS of all modules.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
#[cfg(pthreads)]
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

#[cfg(pthreads)]
use crate::runtime::arch::page_size;
use crate::runtime::arch::{TLS_BELOW, g_offset, getg, thread_pointer};
use crate::runtime::base::fatal::throw;
#[cfg(pthreads)]
use crate::runtime::data::ext::G_SIZE;
use crate::runtime::data::runtime2::G;
use crate::runtime::tls::glibc;
use crate::runtime::tls::glibc::{Glibc, KEYS_IN_BLOCK, KeyData, ResState, Resolver};
use crate::runtime::tls::keys::{BLOCKS, Keys};

/// The range of goroutines' thread numbers. `pthread` tells threads apart by such numbers, for
/// recursive mutexes. No thread of the system has such a large number, and the two highest bits
/// mark waiters.
const FIRST_TID: u32 = 1 << 22;
const LAST_TID: u32 = (1 << 30) - 1;

/// Returns the number of the goroutine with this goid. The last goroutine with the same number has
/// ended long ago.
fn tid(goid: u64) -> u32 {
    FIRST_TID + (goid % u64::from(LAST_TID - FIRST_TID + 1)) as u32
}

/// Offsets, from `tid`, of the fields that follow it in glibc's control block: a word that isn't
/// used, here a goroutine's mark, and the head of the list of robust mutexes that the thread has
/// locked.
#[cfg(pthreads)]
const MARK: usize = 4;
const ROBUST_PREV: usize = 8;
const ROBUST_LIST: usize = 16;
const ROBUST_OFFSET: usize = 24;
const ROBUST_PENDING: usize = 32;
/// The offset of the next fields, up to the values of keys: handlers of cancellation, and whether
/// cancellation is on.
const CANCELLATION: usize = 40;

/// Fields of the thread's near the start of the control block, on x86-64, for libraries of
/// transactional memory.
const TRANSACTIONS: std::ops::Range<usize> = if TLS_BELOW { 80..112 } else { 0..0 };

/// The locale of the program: `locale.h`.
const LC_GLOBAL_LOCALE: libc::locale_t = ptr::without_provenance_mut(-1_isize as usize);

impl Glibc {
    /// Returns the thread pointer of a block that ends at `hi`.
    fn pointer_below(&self, hi: usize) -> usize {
        let above = if TLS_BELOW { self.sizeof_pthread } else { self.static_size };
        (hi - above) & !(self.static_align - 1)
    }

    /// Returns where the block with this thread pointer begins.
    fn begin(&self, tp: usize) -> usize {
        if TLS_BELOW { tp + self.sizeof_pthread - self.static_size } else { tp - self.sizeof_pthread }
    }

    /// Returns the maximum size of a block. Some bytes above the block may be unused: its end is a
    /// multiple of 64, and the thread pointer may have to be a multiple of a larger number.
    pub(super) fn size(&self) -> usize {
        // On x86-64 glibc counts struct pthread as static TLS, too.
        let pthread = if TLS_BELOW { 0 } else { self.sizeof_pthread };
        (self.static_size + pthread + self.static_align).next_multiple_of(64) - 64
    }

    /// Returns the `struct pthread` of the block with this thread pointer.
    pub(super) fn pthread(&self, tp: usize) -> *mut u8 {
        ptr::with_exposed_provenance_mut(if TLS_BELOW { tp } else { tp - self.sizeof_pthread })
    }

    /// Returns the thread pointer of the block with this `struct pthread`.
    #[cfg(pthreads)]
    fn thread_pointer_of(&self, pthread: usize) -> usize {
        if TLS_BELOW { pthread } else { pthread + self.sizeof_pthread }
    }

    /// Returns the places above the block with this thread pointer where its G may be. One of them
    /// is the G. The others, if there are any, are within the block.
    #[cfg(pthreads)]
    fn possible_gs(&self, tp: usize) -> impl Iterator<Item = &'static G> {
        let above = if TLS_BELOW { self.sizeof_pthread } else { self.static_size };
        // A G is in the last bytes of a page, and the block ends less than `static_align` below it.
        let first = (tp + above + G_SIZE).next_multiple_of(page_size()) - G_SIZE;
        let places = (first..tp + above + self.static_align).step_by(page_size());
        // SAFETY: the memory is a goroutine's, which is never unmapped. Before it is known to be a
        // G, only one word of it is read.
        places.map(|place| unsafe { &*ptr::with_exposed_provenance::<G>(place) })
    }

    /// Returns the offset of a thread's number from its thread pointer.
    #[cfg(pthreads)]
    pub(super) fn thread_number_offset(&self) -> isize {
        self.tid as isize - if TLS_BELOW { 0 } else { self.sizeof_pthread as isize }
    }

    /// Makes a block that ends at `hi`, for a thread that runs `gp`, and returns its thread
    /// pointer. Fails if there is no memory.
    ///
    /// # Safety
    /// The memory below `hi` belongs to the caller.
    pub(super) unsafe fn make(&self, hi: usize, gp: *mut G) -> io::Result<usize> {
        let tp = self.pointer_below(hi);
        let pthread = self.pthread(tp);
        debug_assert!(self.begin(tp) >= hi - self.size());
        // SAFETY: all this is in the block, except for one field above it that glibc looks at
        // first, the vector of modules. deallocate_tls has freed that vector, or there was none.
        let made = unsafe {
            ptr::write_bytes(pthread, 0, self.sizeof_pthread);
            (self.allocate_tls)(ptr::with_exposed_provenance_mut(tp))
        };
        if made.is_null() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        // SAFETY: a control block that glibc has made, and that belongs to the caller.
        unsafe {
            self.fill(tp);
            set_g(tp, gp);
        }
        Ok(tp)
    }

    /// Fills a control block as `pthread_create` does.
    ///
    /// # Safety
    /// `tp` is the thread pointer of a new block.
    unsafe fn fill(&self, tp: usize) {
        let (own, new) = (self.pthread(thread_pointer()).cast_const(), self.pthread(tp));
        // SAFETY: fields of this thread's control block, and of the new one, aligned as they are
        // there.
        unsafe {
            let vector = dtv(tp).read();
            // The fields before the list: the guards of stacks and pointers, features, and the flag
            // that there are other threads, which malloc reads.
            ptr::copy_nonoverlapping(own, new, self.list);
            if TLS_BELOW {
                dtv(tp).write(vector);
                let (word, addr) = (new.cast::<usize>(), tp);
                word.write(addr);
                word.add(2).write(addr);
            }
            // In the child of a fork, the C library takes the thread that has forked off its lists.
            let list = new.add(self.list);
            list.cast::<[*mut u8; 2]>().write([list, list]);
            self.forget(tp);
            let offset = self.tid + ROBUST_OFFSET;
            new.add(offset).cast::<usize>().write(own.add(offset).cast::<usize>().read());
            // The first block of the keys' values is in front of the table of blocks.
            let specific = new.add(self.specific);
            specific.cast::<*mut u8>().write(new.add(self.first_keys()));
            if let Some(rseq) = self.rseq {
                // rseq isn't registered, so code that asks for the processor asks the kernel.
                let rseq = ptr::with_exposed_provenance_mut::<u8>(tp.wrapping_add_signed(rseq));
                rseq.cast::<[i32; 2]>().write([0, -1]);
            }
            if let Some(Resolver { pointer, offset, .. }) = self.resolver {
                let pointer = ptr::with_exposed_provenance_mut::<*mut u8>(tp.wrapping_add_signed(pointer));
                pointer.write(new.add(offset));
            }
        }
    }

    /// Clears the parts of a control block that a thread has changed, as they are in a new thread.
    /// The values of keys aren't among them: they are cleared when the thread ends.
    ///
    /// # Safety
    /// As [`reset`](Self::reset).
    unsafe fn forget(&self, tp: usize) {
        let pthread = self.pthread(tp);
        // SAFETY: fields of the control block. The values of keys are between these fields and
        // `specific`.
        unsafe {
            ptr::write_bytes(pthread.add(TRANSACTIONS.start), 0, TRANSACTIONS.len());
            let tid = pthread.add(self.tid);
            // A robust mutex that the thread still has locked doesn't belong to the next thread,
            // and may be gone.
            let robust = tid.add(ROBUST_LIST);
            tid.add(ROBUST_PREV).cast::<*mut u8>().write(robust);
            robust.cast::<*mut u8>().write(robust);
            tid.add(ROBUST_PENDING).cast::<*mut u8>().write(ptr::null_mut());
            ptr::write_bytes(tid.add(CANCELLATION), 0, self.first_keys() - self.tid - CANCELLATION);
        }
    }

    /// Moves the robust mutexes that the thread of a block has locked to the list of another one.
    /// At most one has been locked since the last move.
    ///
    /// # Safety
    /// The running thread has both blocks.
    #[cfg(pthreads)]
    pub(super) unsafe fn move_robust_mutex(&self, from: usize, to: usize) {
        let list_of = |tp| {
            // SAFETY: the head of the list, which is an entry, too.
            unsafe { self.pthread(tp).add(self.tid).add(ROBUST_LIST) }
        };
        let (from, to) = (list_of(from), list_of(to));
        // The lowest bit of a link tells the kernel of which kind the next mutex is. A link leads
        // to the next link, in front of which is the link back.
        let entry = |link: *mut u8| link.map_addr(|addr| addr & !1);
        let back = |link: *mut u8| {
            // SAFETY: as in list_of.
            unsafe { entry(link).sub(ROBUST_LIST - ROBUST_PREV).cast::<*mut u8>() }
        };
        let next = |link: *mut u8| entry(link).cast::<*mut u8>();
        // SAFETY: the entries are in mutexes that the running thread has locked. As in the C
        // library, the list is whole at any moment for the kernel, which follows the links forward.
        unsafe {
            let mutex = next(from).read();
            if entry(mutex) == from {
                return;
            }
            debug_assert_eq!(entry(next(mutex).read()), from, "more than one mutex");
            let first = next(to).read();
            next(mutex).write(first);
            back(mutex).write(to);
            back(first).write(mutex);
            compiler_fence(Ordering::SeqCst);
            next(to).write(mutex);
            next(from).write(from);
            back(from).write(from);
        }
    }

    /// Returns the offset of the first block of the keys' values in the control block.
    fn first_keys(&self) -> usize {
        self.specific - KEYS_IN_BLOCK * size_of::<KeyData>()
    }

    /// Makes the TLS as it is in a new thread that runs `gp`, except the C library's own TLS. The
    /// goroutine itself resets the visible part of that, at its beginning and its end.
    ///
    /// # Safety
    /// The block belongs to the caller, and no thread has its thread pointer.
    unsafe fn reset(&self, tp: usize, gp: *mut G) {
        for module in self.modules.iter().filter(|module| !module.is_libc) {
            let at: *mut u8 = ptr::with_exposed_provenance_mut(tp.wrapping_add_signed(module.offset));
            let begun = module.image.len();
            // SAFETY: the module's part of the block; its image isn't there.
            unsafe {
                ptr::copy_nonoverlapping(module.image.as_ptr(), at, begun);
                ptr::write_bytes(at.add(begun), 0, module.size - begun);
            }
        }
        // SAFETY: the caller says that the block is its own, and that no thread has its thread
        // pointer.
        unsafe {
            self.forget(tp);
            set_g(tp, gp);
        }
    }

    /// Sets the number of a block's thread, by which `pthread` knows it, from its goroutine's goid.
    /// The number is also the block's mark. The mark stays while `pthread` knows the goroutine by
    /// the number of the thread that runs it.
    ///
    /// # Safety
    /// The block belongs to the caller.
    pub(super) unsafe fn rename(&self, tp: usize, goid: u64) {
        // SAFETY: a field of the control block, and one that isn't used.
        unsafe { self.pthread(tp).add(self.tid).cast::<[u32; 2]>().write([tid(goid); 2]) };
    }

    /// Gives a block's thread the number of the caller's thread.
    ///
    /// # Safety
    /// The block belongs to the caller.
    pub(super) unsafe fn copy_thread_number(&self, tp: usize) {
        let own = self.pthread(thread_pointer()).cast_const();
        // SAFETY: a field of each control block.
        unsafe { self.pthread(tp).add(self.tid).cast::<u32>().write(own.add(self.tid).cast::<u32>().read()) };
    }

    /// Returns how many times libraries with TLS had been loaded or unloaded when the block's
    /// vector of modules was last updated.
    ///
    /// # Safety
    /// As [`reset`](Self::reset).
    pub(super) unsafe fn generation_of(&self, tp: usize) -> usize {
        // SAFETY: the vector begins with this number.
        unsafe { (*dtv(tp).read())[0] }
    }

    /// Returns the address of the TLS of the module with this number, from the block's vector. If
    /// the TLS isn't in the block, the address is outside of the block, or null.
    ///
    /// # Safety
    /// As [`reset`](Self::reset).
    pub(super) unsafe fn tls_of_module(&self, tp: usize, number: usize) -> usize {
        // SAFETY: the vector has its length before its first word, and a pair for each module,
        // whose first word is the address.
        unsafe {
            let vector = dtv(tp).read();
            if number <= vector.sub(1).cast::<usize>().read() { (*vector.add(number))[0] } else { 0 }
        }
    }

    /// Whether the block has TLS of libraries that were loaded later, in memory of its own.
    ///
    /// # Safety
    /// As [`reset`](Self::reset).
    unsafe fn has_more(&self, tp: usize) -> bool {
        // SAFETY: the vector has its length before its first word, and a pair for each module,
        // whose second word is the memory to free.
        unsafe {
            if Some(self.generation_of(tp)) == self.generation {
                return false;
            }
            let vector = dtv(tp).read();
            let len = vector.sub(1).cast::<usize>().read();
            (1..=len).any(|module| (*vector.add(module))[1] != 0)
        }
    }

    /// Runs the destructors of this thread's thread-locals, as the end of a thread does, and frees
    /// what the C library keeps for the thread.
    ///
    /// # Safety
    /// To be called on the block's own goroutine, when none of its code runs any more.
    pub(super) unsafe fn run_destructors(&self) {
        let pthread = self.pthread(thread_pointer());
        // SAFETY: the table of blocks, each null or of `KEYS_IN_BLOCK` values. The flag that says
        // whether any was used follows.
        let keys = unsafe {
            let table = pthread.add(self.specific).cast::<[*mut KeyData; BLOCKS]>();
            Keys { table, used: table.add(1).cast() }
        };
        // SAFETY: the destructors are to be run now, as the caller says. The destructor of a key
        // may set more values.
        unsafe {
            (self.call_tls_dtors)();
            if keys.run_destructors(self.keys) {
                (self.call_tls_dtors)();
                keys.forget();
            }
            self.end_of_libc(pthread);
        }
    }

    /// Frees what the C library keeps for this thread and would show to the next: an error of
    /// `dlopen`, and connections of the resolver.
    ///
    /// # Safety
    /// As [`run_destructors`](Self::run_destructors).
    unsafe fn end_of_libc(&self, pthread: *mut u8) {
        let error =
            |offset| ptr::with_exposed_provenance::<usize>(thread_pointer().wrapping_add_signed(offset));
        // SAFETY: the word is this thread's. The first call returns an error that was never asked
        // for, and the second frees it. The resolver's state is this thread's own.
        unsafe {
            if self.dl_error.is_none_or(|offset| error(offset).read() != 0) && !libc::dlerror().is_null() {
                libc::dlerror();
            }
            if let Some(Resolver { offset, close, .. }) = self.resolver {
                let state = pthread.add(offset).cast::<ResState>();
                if (*state).nscount != 0 {
                    close(state);
                }
                // As at a thread's end, the state isn't initialized any more.
                (*state).options = 0;
            }
        }
    }
}

/// Sets the runtime's own thread-local, the running G. `gogo` sets it, too, but only after the
/// thread pointer, and a signal may come in between.
///
/// # Safety
/// The block with this thread pointer belongs to the caller.
unsafe fn set_g(tp: usize, gp: *mut G) {
    let at = tp.wrapping_add_signed(g_offset());
    // SAFETY: the word is in the block, because the library with this code was there from the
    // start.
    unsafe { ptr::with_exposed_provenance_mut::<*mut G>(at).write(gp) };
}

/// Returns the address of the pointer to the block's vector of modules.
fn dtv(tp: usize) -> *mut *mut [usize; 2] {
    let word = if TLS_BELOW { 1 } else { 0 };
    ptr::with_exposed_provenance_mut::<*mut [usize; 2]>(tp).wrapping_add(word)
}

/// Returns the maximum number of bytes of a home that a block takes.
pub(in crate::runtime) fn block_size() -> usize {
    glibc().map_or(0, Glibc::size)
}

/// Returns the G of the goroutine for which code takes `thread`: the goroutine's own control block.
/// Returns none for a thread of the system. `thread` is a value that `pthread_self` has returned,
/// or `pthread_create`; after the thread's end, as long as the C library accepts the value.
#[cfg(pthreads)]
pub(in crate::runtime) fn g_of_thread(thread: libc::pthread_t) -> Option<&'static G> {
    let glibc = glibc()?;
    let pthread = ptr::with_exposed_provenance::<u8>(thread as usize);
    if pthread.is_null() {
        return None;
    }
    // SAFETY: a field of the control block; the C library also reads the field before it, of any
    // value that it is given. In that of a thread of the system the field is 0.
    let mark = unsafe { &*pthread.add(glibc.tid + MARK).cast::<AtomicU32>() };
    // Relaxed: the maker of the goroutine sets it, before the maker or the goroutine passes the
    // value on.
    if mark.load(Ordering::Relaxed) < FIRST_TID {
        return None;
    }
    let tp = glibc.thread_pointer_of(pthread.addr());
    glibc.possible_gs(tp).find(|gp| gp.ext.tp.get() == tp)
}

/// Gives the thread-locals of `gp`, which is about to run, their thread's number, and the mark
/// by which [`g_of_thread`] knows them.
#[cfg(pthreads)]
pub(in crate::runtime) fn number_thread(gp: &G) {
    if let Some(glibc) = glibc() {
        // SAFETY: the block belongs to the caller.
        unsafe { glibc.rename(gp.ext.tp.get(), gp.goid.get()) };
    }
}

/// Returns the value by which code knows the thread that `gp` is.
#[cfg(pthreads)]
pub(in crate::runtime) fn thread_of_g(gp: &G) -> libc::pthread_t {
    glibc().map_or(0, |glibc| glibc.pthread(gp.ext.tp.get()).expose_provenance()) as libc::pthread_t
}

/// Makes the thread-locals of a dead `gp` those of a new thread. Fails if there is no memory.
pub(in crate::runtime) fn renew(gp: &'static G) -> io::Result<()> {
    let Some(glibc) = glibc() else { throw("tls: not available") };
    // SAFETY: the memory between the stack and the G is the block's; the G is dead, so no code uses
    // it.
    unsafe {
        if gp.ext.tp.get() != 0 && glibc.has_more(gp.ext.tp.get()) {
            free(gp);
        }
        match gp.ext.tp.get() {
            0 => gp.ext.tp.set(glibc.make(gp.as_ptr().addr(), gp.as_ptr())?),
            tp => glibc.reset(tp, gp.as_ptr()),
        }
    }
    Ok(())
}

/// Frees the memory that the block of a dead G has elsewhere, if the G has a block.
pub(in crate::runtime) fn free(gp: &G) {
    let tp = gp.ext.tp.replace(0);
    if tp != 0
        && let Some(glibc) = glibc()
    {
        // SAFETY: allocate_tls has made the block, in memory that it was given; no code uses the
        // block.
        unsafe { (glibc.deallocate_tls)(ptr::with_exposed_provenance_mut::<c_void>(tp), false) };
    }
}

/// Runs the destructors of the thread-locals of `gp`, which runs here, if it has its own.
#[inline(always)]
pub(in crate::runtime) fn run_destructors_of(gp: &G) {
    if gp.ext.tp.get() != 0 {
        gosched_run_tls_destructors();
    }
}

unsafe extern "C" {
    /// `h_errno`: `netdb.h`.
    fn __h_errno_location() -> *mut c_int;
}

/// Sets the thread number of a goroutine with thread-locals of its own, and resets the C library's
/// locale and errors, which the last goroutine has left. Assembly calls this when the goroutine
/// begins.
#[unsafe(no_mangle)]
extern "C" fn gosched_init_libc_thread() {
    let Some(glibc) = glibc() else { throw("tls: not available") };
    // SAFETY: the block belongs to the running goroutine; the global locale is always there.
    unsafe {
        let goid = getg().map_or(0, |gp| gp.goid.get());
        glibc.rename(thread_pointer(), goid);
        libc::uselocale(LC_GLOBAL_LOCALE);
        *libc::__errno_location() = 0;
        *__h_errno_location() = 0;
    }
}

/// Runs the destructors of the running goroutine's own thread-locals. Assembly calls this when the
/// goroutine ends.
#[unsafe(no_mangle)]
extern "C" fn gosched_run_tls_destructors() {
    let Some(glibc) = glibc() else { throw("tls: not available") };
    // SAFETY: on the goroutine, whose function has returned.
    unsafe { glibc.run_destructors() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_block_is_larger_than_it_says() {
        let Ok(mut glibc) = Glibc::find() else { return };
        for align in [64, 256, 4096, 1 << 16] {
            glibc.static_align = align;
            for hi in (1 << 30..(1 << 30) + (2 << 16)).step_by(64) {
                assert!(hi - glibc.begin(glibc.pointer_below(hi)) <= glibc.size(), "aligned to {align}");
            }
        }
    }
}
