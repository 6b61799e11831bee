//! Setting timers, and waits with a limit. Where goroutines are threads, timers fire when a model
//! says so.

#[path = "../../../../../src/runtime/time/fire.rs"]
pub(crate) mod fire;
#[path = "../../../../../src/runtime/time/in_run.rs"]
pub(crate) mod in_run;
#[path = "../../../../../src/runtime/time/modify.rs"]
mod modify_in_heap;
#[path = "../../../../../src/runtime/time/sleep.rs"]
pub(crate) mod sleep;

pub(crate) mod modify {
    use std::ffi::c_void;
    use std::ptr;

    use loom::sync::{Condvar, Mutex};

    use crate::runtime::base::os::time_is;
    use crate::runtime::data::atomic::Ordering;
    use crate::runtime::data::timer::{Timer, TimerFn};
    use crate::runtime::made::goroutines_are_threads;
    use crate::runtime::time::modify_in_heap;

    pub(crate) use crate::runtime::time::modify_in_heap::resettimer;

    /// A time that doesn't come by itself.
    pub(crate) const LATER: i64 = 1000;

    loom::lazy_static! {
        /// The timers that are set, and a sign that one was.
        static ref SET: (Mutex<Set>, Condvar) = (Mutex::default(), Condvar::new());
    }

    #[derive(Default)]
    struct Set {
        any_was: bool,
        /// Whether the time has come for good.
        has_come: bool,
        now: Vec<Setting>,
    }

    /// A timer, and the function that is called when it fires, with its arguments.
    struct Setting(*const Timer, TimerFn, *mut c_void, usize);

    // SAFETY: a timer fires on any thread.
    unsafe impl Send for Setting {}

    impl Setting {
        fn fire(self) {
            // SAFETY: the arguments are those for which the timer was set.
            unsafe { self.1(self.2, self.3) }
        }
    }

    impl Set {
        fn put(&mut self, setting: Setting) {
            self.any_was = true;
            self.now.push(setting);
        }

        fn take(&mut self, t: &Timer) -> Option<Setting> {
            let i = self.now.iter().position(|set| ptr::eq(set.0, t))?;
            Some(self.now.swap_remove(i))
        }
    }

    pub(crate) fn addtimer(t: &'static Timer) {
        if !goroutines_are_threads() {
            return modify_in_heap::addtimer(t);
        }
        let (set, changed) = &*SET;
        let setting = Setting(t, t.f.get().unwrap(), t.arg.get(), t.seq.load(Ordering::Relaxed));
        let mut held = set.lock().unwrap();
        if held.has_come {
            drop(held);
            loom::thread::spawn(move || setting.fire());
            return;
        }
        held.put(setting);
        changed.notify_one();
    }

    pub(crate) fn deltimer(t: &'static Timer) -> bool {
        if !goroutines_are_threads() {
            return modify_in_heap::deltimer(t);
        }
        SET.0.lock().unwrap().take(t).is_some()
    }

    pub(crate) fn modtimer(
        t: &'static Timer,
        when: i64,
        period: i64,
        f: Option<TimerFn>,
        arg: *mut c_void,
        seq: usize,
    ) -> bool {
        if !goroutines_are_threads() {
            return modify_in_heap::modtimer(t, when, period, f, arg, seq);
        }
        t.f.set(f);
        let mut set = SET.0.lock().unwrap();
        let was_set = set.take(t).is_some();
        set.put(Setting(t, f.unwrap(), arg, seq));
        was_set
    }

    /// Takes the setting of a timer. The timer fires when the result is called.
    pub(crate) fn fires(t: &'static Timer) -> impl FnOnce() + Send {
        let setting = SET.0.lock().unwrap().take(t).unwrap();
        move || setting.fire()
    }

    /// Makes the time of all timers come, also of those that are set from now on.
    pub(crate) fn time_comes_for_good() {
        time_is(LATER);
        let mut held = SET.0.lock().unwrap();
        held.has_come = true;
        let settings = std::mem::take(&mut held.now);
        drop(held);
        settings.into_iter().for_each(Setting::fire);
    }

    /// Makes the time of the only timer come, once it is set. It may have been stopped by then.
    pub(crate) fn time_comes() {
        let (set, changed) = &*SET;
        let mut held = set.lock().unwrap();
        while !held.any_was {
            held = changed.wait(held).unwrap();
        }
        time_is(LATER);
        let setting = held.now.pop();
        drop(held);
        if let Some(setting) = setting {
            setting.fire();
        }
    }
}
