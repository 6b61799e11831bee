//! Models of futures at a channel. The last waker that a future was polled with wakes it. The
//! future sees its value then, and is freed once. No value is lost, whichever future is dropped
//! meanwhile.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Wake, Waker};

use loom::cell::UnsafeCell;
use loom::sync::Mutex as LoomMutex;
use loom::thread;

use crate::runtime::chan::future::{
    Waiting, end_future_wait, enqueue_future, give_back, is_nobodys, leave_future, poll_future,
    release_future, wake_future,
};
use crate::runtime::chan::ops::buffer;
use crate::runtime::data::atomic::{AtomicU32, Ordering, check};
use crate::runtime::data::hchan::{Hchan, Type};
use crate::runtime::lock::{lock, unlock};
use crate::runtime::made::zeroed;

/// Makes a channel with room for `cap` values.
pub(super) fn channel(cap: usize) -> NonNull<Hchan> {
    static TYPE: Type = Type { size_: 4, align_: 4 };
    let c = ptr::from_ref(zeroed::<MaybeUninit<Hchan>>()).cast::<Hchan>().cast_mut();
    // SAFETY: no other thread has it, and its other fields may be zero.
    unsafe {
        (*c).dataqsiz.set(cap);
        (*c).buf.set(ptr::from_ref(zeroed::<Cell<u32>>()).cast_mut().cast());
        (&raw mut (*c).elemtype).write(&TYPE);
        NonNull::new_unchecked(c)
    }
}

/// The heap memory of a future.
#[repr(C)]
struct Node {
    waiting: Waiting,
    value: u32,
}

loom::lazy_static! {
    /// The number of nodes.
    static ref NODES: AtomicU32 = AtomicU32::new(0);
}

/// Makes a future with the value that it sends, or 0.
pub(super) fn node(value: u32) -> NonNull<Waiting> {
    unsafe fn free(w: NonNull<Waiting>) {
        // SAFETY: it is the first field of the node that is made below.
        drop(unsafe { Box::from_raw(w.cast::<Node>().as_ptr()) });
        NODES.fetch_sub(1, Ordering::Relaxed);
    }

    NODES.fetch_add(1, Ordering::Relaxed);
    let node =
        Box::into_raw(Box::new(Node { waiting: Waiting::new(ptr::null_mut(), Waker::wake, free), value }));
    // SAFETY: the node is new.
    unsafe {
        let place = (&raw mut (*node).value).cast();
        (&raw mut (*node).waiting).write(Waiting::new(place, Waker::wake, free));
        NonNull::new_unchecked(node.cast())
    }
}

/// Returns the value of a future. Its reader and its writer take turns, and loom checks that their
/// accesses are ordered.
///
/// # Safety
/// The caller has the future's share.
unsafe fn value(w: NonNull<Waiting>) -> u32 {
    // SAFETY: as the caller says.
    unsafe { *w.as_ref().place().cast() }
}

/// A waker that counts.
struct Woken(LoomMutex<u32>);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() += 1;
    }
}

fn woken() -> (Arc<Woken>, Waker) {
    let woken = Arc::new(Woken(LoomMutex::new(0)));
    (woken.clone(), Waker::from(woken))
}

/// A pointer that goes to another thread.
pub(super) struct Shared<T>(pub(super) NonNull<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0)
    }
}

// SAFETY: a lock protects the shared data.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn get(&self) -> NonNull<T> {
        self.0
    }
}

/// Sends to a waiting receiver, or into the buffer. Returns whether it could. (`chansend`.)
fn try_send(c: &Shared<Hchan>, value: u32, ordered: Option<&UnsafeCell<u32>>) -> bool {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    lock(&c.lock);
    if let Some(sg) = c.recvq.dequeue() {
        // SAFETY: the waiting receiver has a place for a value.
        unsafe { *sg.elem.load(Ordering::Relaxed).cast::<u32>() = value };
        if let Some(ordered) = ordered {
            // SAFETY: loom checks that no other access is concurrent.
            ordered.with_mut(|ordered| unsafe { *ordered = value });
        }
        let woken = end_future_wait(sg, true);
        unlock(&c.lock);
        wake_future(woken);
        return true;
    }
    let room = c.qcount.load(Ordering::Relaxed) < c.dataqsiz.get();
    if room {
        buffer(c).set(value);
        c.qcount.store(1, Ordering::Relaxed);
    }
    unlock(&c.lock);
    room
}

/// Receives a value if there is one. (`chanrecv`.)
pub(super) fn try_recv(c: &Shared<Hchan>) -> Option<u32> {
    // SAFETY: channels aren't freed here.
    let c = unsafe { c.get().as_ref() };
    lock(&c.lock);
    let buffered = (c.qcount.load(Ordering::Relaxed) == 1).then(|| buffer(c).get());
    let sg = c.sendq.dequeue();
    // SAFETY: the waiting sender has a value.
    let sent = sg.map(|sg| unsafe { *sg.elem.load(Ordering::Relaxed).cast::<u32>() });
    match (buffered, sent) {
        (Some(_), Some(sent)) => buffer(c).set(sent),
        (Some(_), None) => c.qcount.store(0, Ordering::Relaxed),
        _ => {}
    }
    let woken = sg.map(|sg| {
        assert!(sent.is_some() && (is_nobodys(sg) || sg.ticket.get() == 0));
        end_future_wait(sg, true)
    });
    unlock(&c.lock);
    if let Some(woken) = woken {
        wake_future(woken);
    }
    buffered.or(sent)
}

/// A receiver that was woken, or that has looked, sees the value that was sent.
#[test]
fn the_last_waker_is_called_and_the_value_seen() {
    check(None, || {
        let c = Shared(channel(0));
        let ordered = loom::sync::Arc::new(UnsafeCell::new(0));
        let (w, (first, waker)) = (node(0), woken());
        // SAFETY: w is new; this thread has its share.
        assert!(unsafe { enqueue_future(c.get(), w, false, waker.clone()) }.is_none());
        let sender = thread::spawn({
            let (c, ordered) = (c.clone(), Sent(ordered.clone()));
            move || assert!(try_send(&c, 7, Some(ordered.get())))
        });
        let (second, waker) = woken();
        // SAFETY: as above.
        let seen = unsafe { poll_future(c.get(), w, &waker) };
        if seen == Some(true) {
            // SAFETY: loom checks that it is ordered.
            assert_eq!(ordered.with(|ordered| unsafe { *ordered }), 7);
        }
        sender.join().unwrap();
        let (first, second) = (*first.0.lock().unwrap(), *second.0.lock().unwrap());
        assert_eq!((first, second), if seen.is_some() { (1, 0) } else { (0, 1) });
        // SAFETY: as above; the wait is over.
        unsafe {
            assert_eq!((w.as_ref().outcome(), value(w)), (Some(true), 7));
            release_future(w);
        }
        assert_eq!(NODES.load(Ordering::Relaxed), 0);
    });
}

/// A cell that goes to another thread.
struct Sent(loom::sync::Arc<UnsafeCell<u32>>);

// SAFETY: loom checks the accesses to it.
unsafe impl Send for Sent {}

impl Sent {
    fn get(&self) -> &UnsafeCell<u32> {
        &self.0
    }
}

/// A value is sent while the receiver leaves: the next receiver gets it, or it isn't sent.
fn one_leaves(cap: usize) {
    check(Some(3), move || {
        let c = Shared(channel(cap));
        let (w, (_, waker)) = (node(0), woken());
        // SAFETY: w is new; this thread has its share.
        assert!(unsafe { enqueue_future(c.get(), w, false, waker.clone()) }.is_none());
        let sender = thread::spawn({
            let c = c.clone();
            move || try_send(&c, 7, None)
        });
        // SAFETY: as above; w isn't used after this.
        unsafe {
            match leave_future(c.get(), w, false) {
                Ok(true) => give_back(c.get(), w),
                Ok(false) => unreachable!("nobody closes it"),
                Err(_) => release_future(w),
            }
        }
        // Meanwhile the sender may be about to wake the future.
        let received = try_recv(&c);
        let sent = sender.join().unwrap();
        assert_eq!(received.or_else(|| try_recv(&c)), sent.then_some(7));
        assert_eq!(NODES.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn one_leaves_and_there_is_no_room() {
    one_leaves(0);
}

#[test]
fn one_leaves_and_there_is_room() {
    one_leaves(1);
}

/// Two futures wait, and the first leaves while a value comes. The other gets the value and is
/// woken.
#[test]
fn what_comes_back_goes_to_who_waits() {
    check(Some(3), || {
        let c = Shared(channel(0));
        let (first, (_, waker)) = (node(0), woken());
        let (second, (woken, other)) = (node(0), woken());
        // SAFETY: they are new; this thread has their shares.
        unsafe {
            assert!(enqueue_future(c.get(), first, false, waker.clone()).is_none());
            assert!(enqueue_future(c.get(), second, false, other.clone()).is_none());
        }
        let sender = thread::spawn({
            let c = c.clone();
            move || assert!(try_send(&c, 7, None))
        });
        // SAFETY: as above; it isn't used after this.
        unsafe {
            match leave_future(c.get(), first, false) {
                Ok(_) => give_back(c.get(), first),
                Err(_) => release_future(first),
            }
        }
        sender.join().unwrap();
        assert_eq!(*woken.0.lock().unwrap(), 1);
        // SAFETY: as above; the wait is over.
        unsafe {
            assert_eq!((second.as_ref().outcome(), value(second)), (Some(true), 7));
            release_future(second);
        }
        assert_eq!(NODES.load(Ordering::Relaxed), 0);
    });
}

/// A sender leaves while its value is received: it was sent, or it wasn't.
#[test]
fn one_that_sends_leaves() {
    check(Some(3), || {
        let c = Shared(channel(0));
        let (w, (woken, waker)) = (node(7), woken());
        // SAFETY: w is new; this thread has its share.
        assert!(unsafe { enqueue_future(c.get(), w, true, waker.clone()) }.is_none());
        let receiver = thread::spawn({
            let c = c.clone();
            move || try_recv(&c)
        });
        // SAFETY: as above; it isn't used after this.
        let sent = unsafe {
            let outcome = leave_future(c.get(), w, true);
            release_future(w);
            matches!(outcome, Ok(true))
        };
        assert_eq!(receiver.join().unwrap(), sent.then_some(7));
        assert_eq!(*woken.0.lock().unwrap(), u32::from(sent));
        assert_eq!(NODES.load(Ordering::Relaxed), 0);
    });
}
