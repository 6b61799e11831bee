//! The heap: objects of one size, a list of the free objects, and a write barrier.
//!
//! None of these functions is a safe point: they have no check of the stack, they aren't declared
//! preemptible, and they aren't inlined into code that is. So a goroutine that is stopped is never
//! in the middle of one. Go's compiler marks its barriers as unsafe points for the same reason.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use gosched::proc;

/// The number of objects.
const OBJECTS: usize = 1 << 14;

/// The value of an object that was swept.
const POISON: u64 = 0xdead_dead_dead_dead;

/// A reference to an object, or none.
pub type Ref = Option<&'static Object>;

/// A number and two references.
pub struct Object {
    value: AtomicU64,
    fields: [AtomicPtr<Object>; 2],
    /// Whether a reference to this object was found in this cycle: the object is grey, or black.
    marked: AtomicBool,
    /// The next object that is free, or grey.
    link: AtomicPtr<Object>,
}

static HEAP: [Object; OBJECTS] = [const {
    Object {
        value: AtomicU64::new(POISON),
        fields: [const { AtomicPtr::new(ptr::null_mut()) }; 2],
        marked: AtomicBool::new(false),
        link: AtomicPtr::new(ptr::null_mut()),
    }
}; OBJECTS];

/// The first of the free objects, and the first of the grey ones: objects that were found, but not
/// looked into yet.
static FREE: AtomicPtr<Object> = AtomicPtr::new(ptr::null_mut());
static GREY: AtomicPtr<Object> = AtomicPtr::new(ptr::null_mut());

/// Whether a cycle runs: the barrier is on, and new objects are black. It changes only while the
/// world is stopped. Go's `writeBarrier.enabled`.
static MARKING: AtomicBool = AtomicBool::new(false);

/// How many objects were made so far.
pub static MADE: AtomicUsize = AtomicUsize::new(0);

/// Returns the object that a pointer in an object, or the head of a list, refers to.
fn load(place: &AtomicPtr<Object>) -> Ref {
    // SAFETY: the pointer is null, or refers to an object of HEAP, which is a static.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

fn pointer(to: Ref) -> *mut Object {
    to.map_or(ptr::null_mut(), |object| ptr::from_ref(object).cast_mut())
}

/// Takes the first object off a list. No object that was taken is put back before this returns (see
/// the callers). So if the head is still the same object, its link is the same, too.
fn pop(list: &AtomicPtr<Object>) -> Ref {
    loop {
        let first = load(list)?;
        let next = first.link.load(Ordering::Relaxed);
        if list.compare_exchange(pointer(Some(first)), next, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Some(first);
        }
    }
}

/// Makes an object. If none is free, waits for the collector.
pub fn new(value: u64) -> &'static Object {
    loop {
        if let Some(object) = alloc(value) {
            return object;
        }
        // SAFETY: on a goroutine, which has no thread-locals.
        unsafe { proc::gosched() };
    }
}

/// Takes a free object. Go's `mallocgc`.
#[inline(never)]
fn alloc(value: u64) -> Ref {
    // Objects are put on this list only while the world is stopped, and this is no safe point.
    let object = pop(&FREE)?;
    object.value.store(value, Ordering::Relaxed);
    object.marked.store(MARKING.load(Ordering::Relaxed), Ordering::Relaxed);
    MADE.fetch_add(1, Ordering::Relaxed);
    Some(object)
}

impl Object {
    pub fn value(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    pub fn get(&self, field: usize) -> Ref {
        load(&self.fields[field])
    }

    /// Stores a reference, with Go's write barrier (`mbarrier.go`). While the collector marks, the
    /// barrier shades both references: the old one, whose last copy may go to a stack that was
    /// scanned already, and the new one, whose last copy may be on a stack that wasn't scanned yet.
    #[inline(never)]
    pub fn set(&self, field: usize, to: Ref) {
        if MARKING.load(Ordering::Relaxed) {
            self.get(field).inspect(|was| was.shade());
            to.inspect(|to| to.shade());
        }
        self.fields[field].store(pointer(to), Ordering::Release);
    }

    /// The barrier for a reference that goes from one stack to another, as an argument of a new
    /// goroutine does. In Go this is a store, too.
    #[inline(never)]
    pub fn hand_over(&'static self) -> &'static Object {
        if MARKING.load(Ordering::Relaxed) {
            self.shade();
        }
        self
    }

    /// Makes the object grey, unless it is grey or black already. Go's `shade`, and `greyobject`.
    pub fn shade(&self) {
        if self.marked.swap(true, Ordering::Relaxed) {
            return;
        }
        let this = ptr::from_ref(self).cast_mut();
        let mut first = GREY.load(Ordering::Relaxed);
        loop {
            self.link.store(first, Ordering::Relaxed);
            match GREY.compare_exchange(first, this, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }
}

/// Returns the object that has a word as its address, or as an address within it. Go's
/// `findObject`.
pub fn find(word: usize) -> Ref {
    let offset = word.wrapping_sub(HEAP.as_ptr().addr());
    HEAP.get(offset / size_of::<Object>()).filter(|object| object.value() != POISON)
}

/// Takes a grey object. The caller shades what the object refers to.
pub fn grey() -> Ref {
    // Only the collector takes from this list.
    pop(&GREY)
}

/// Begins a cycle. The world is stopped.
pub fn begin_marking() {
    MARKING.store(true, Ordering::Relaxed);
}

/// Ends a cycle: frees each object that isn't marked. Returns how many objects were swept, and how
/// many are left. The world is stopped. Go's `sweep`, which Go does bit by bit.
pub fn sweep() -> (usize, usize) {
    let (mut swept, mut left, mut free) = (0, 0, None);
    for object in HEAP.iter().rev() {
        if object.marked.swap(false, Ordering::Relaxed) {
            left += 1;
            continue;
        }
        if object.value.swap(POISON, Ordering::Relaxed) != POISON {
            object.fields.iter().for_each(|field| field.store(ptr::null_mut(), Ordering::Relaxed));
            swept += 1;
        }
        object.link.store(pointer(free), Ordering::Relaxed);
        free = Some(object);
    }
    FREE.store(pointer(free), Ordering::Release);
    MARKING.store(false, Ordering::Relaxed);
    (swept, left)
}
