//! [`GoschedTimer`]: times of hyper's by gosched's timers.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use gosched::time::{self, Timer};
use hyper::rt;

use crate::drive::lock;

/// Makes hyper's sleeps, by the runtime's timers and its [clock](gosched::time::now). A builder of
/// hyper's needs it for each timeout and interval.
///
/// ```
/// use std::time::Duration;
///
/// use gosched::block_on;
/// use gosched_hyper::GoschedTimer;
/// use hyper::rt::Timer;
///
/// gosched::run(|| {
///     let timer = GoschedTimer::new();
///     let deadline = timer.now() + Duration::from_millis(1);
///     block_on(timer.sleep_until(deadline));
///     assert!(timer.now() >= deadline);
/// });
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct GoschedTimer;

impl GoschedTimer {
    /// Makes a timer. All are alike.
    pub fn new() -> Self {
        GoschedTimer
    }
}

impl rt::Timer for GoschedTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn rt::Sleep>> {
        self.sleep_until(time::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(Sleep { deadline, alarm: Alarm::default() })
    }

    fn now(&self) -> Instant {
        time::now()
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn rt::Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Sleep>() {
            Some(mut sleep) => sleep.deadline = deadline,
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

/// Ends at a time.
struct Sleep {
    deadline: Instant,
    alarm: Alarm,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        self.alarm.poll(deadline, context)
    }
}

impl rt::Sleep for Sleep {}

/// A timer that wakes a task at a time that may move. A later time costs nothing: the timer fires
/// at the earlier one, and is set anew.
#[derive(Default)]
pub(crate) struct Alarm {
    /// The time for which the timer is set.
    set_for: Option<Instant>,
    /// The timer, and the task that it wakes.
    timer: Option<(Timer, Waker)>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    fired: AtomicBool,
    /// Wakes the task that has polled last.
    waker: Mutex<Option<Waker>>,
}

impl Alarm {
    /// Is ready if `deadline` has passed. Otherwise it wakes the task then.
    pub(crate) fn poll(&mut self, deadline: Instant, context: &Context<'_>) -> Poll<()> {
        let waker = context.waker();
        if !self.timer.as_ref().is_some_and(|(_, old)| old.will_wake(waker)) {
            *lock(&self.shared.waker) = Some(waker.clone());
            if let Some((_, old)) = &mut self.timer {
                old.clone_from(waker);
            }
        }
        // Acquire: pairs with the release of the timer, which takes the waker afterwards. So a
        // timer that hasn't fired here finds this waker.
        if self.set_for.is_some_and(|set_for| set_for <= deadline)
            && !self.shared.fired.load(Ordering::Acquire)
        {
            return Poll::Pending;
        }
        self.shared.fired.store(false, Ordering::Relaxed);
        let left = deadline.saturating_duration_since(time::now());
        if left.is_zero() {
            self.set_for = None;
            return Poll::Ready(());
        }
        self.set_for = Some(deadline);
        match &self.timer {
            Some((timer, _)) => drop(timer.reset(left)),
            None => {
                let shared = self.shared.clone();
                let timer = Timer::after_func(left, move || {
                    shared.fired.store(true, Ordering::Release);
                    let waker = lock(&shared.waker).clone();
                    if let Some(waker) = waker {
                        waker.wake();
                    }
                });
                self.timer = Some((timer, waker.clone()));
            }
        }
        Poll::Pending
    }
}
