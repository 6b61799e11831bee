//! Bugs with locks.

programs! {
    double_lock
    ab_ba
    philosophers
    read_twice
    forgotten_unlock
    overdraft
    lost_update
    flag_before_value
    initialized_twice
}

/// A function that holds the lock calls one that takes it, if the page is missing.
mod double_lock {
    use gosched::scope;
    use gosched::sync::Mutex;

    type Page = Mutex<Option<u32>>;

    fn load(page: &Page) -> u32 {
        *page.lock().get_or_insert(42)
    }

    fn program(get: fn(&Page) -> u32) {
        let page = Page::new(None);
        scope(|s| {
            s.go(|| get(&page));
            s.go(|| load(&page));
        });
    }

    pub fn wrong() {
        program(|page| {
            let kept = page.lock();
            kept.unwrap_or_else(|| load(page))
        });
    }

    pub fn right() {
        program(|page| {
            let kept = *page.lock();
            kept.unwrap_or_else(|| load(page))
        });
    }
}

/// Two transfers lock the same accounts. Each first locks the account that it takes from.
mod ab_ba {
    use gosched::scope;
    use gosched::sync::Mutex;

    type Account = Mutex<i32>;

    fn transfer(first: &Account, second: &Account, amount: i32) {
        let mut first = first.lock();
        let mut second = second.lock();
        *first -= amount;
        *second += amount;
    }

    pub fn wrong() {
        let (a, b) = (Account::new(10), Account::new(10));
        scope(|s| {
            s.go(|| transfer(&a, &b, 1));
            s.go(|| transfer(&b, &a, 1));
        });
    }

    pub fn right() {
        let (a, b) = (Account::new(10), Account::new(10));
        scope(|s| {
            s.go(|| transfer(&a, &b, 1));
            s.go(|| transfer(&a, &b, -1));
        });
    }
}

/// Each philosopher has taken the left fork, and waits for the right one.
mod philosophers {
    use gosched::scope;
    use gosched::sync::Mutex;

    const N: usize = 4;

    fn dine(forks_of: fn(usize) -> (usize, usize)) {
        let forks = [const { Mutex::new(()) }; N];
        scope(|s| {
            for i in 0..N {
                let forks = &forks;
                s.go(move || {
                    let (first, second) = forks_of(i);
                    let _first = forks[first].lock();
                    let _second = forks[second].lock();
                });
            }
        });
    }

    pub fn wrong() {
        dine(|i| (i, (i + 1) % N));
    }

    pub fn right() {
        dine(|i| (i.min((i + 1) % N), i.max((i + 1) % N)));
    }
}

/// A reader takes the lock again to read. A writer that has come in between waits for the first
/// read, and goes before the second one.
mod read_twice {
    use gosched::scope;
    use gosched::sync::RwLock;

    fn program(is_even: fn(&RwLock<u32>) -> bool) {
        let number = RwLock::new(0);
        scope(|s| {
            s.go(|| *number.write() += 2);
            s.go(|| assert!(is_even(&number)));
        });
    }

    pub fn wrong() {
        program(|number| {
            let seen = number.read();
            *number.read() % 2 == 0 && *seen % 2 == 0
        });
    }

    pub fn right() {
        program(|number| *number.read() % 2 == 0);
    }
}

/// A goroutine that finds nothing returns without unlocking.
mod forgotten_unlock {
    use std::mem::forget;

    use gosched::scope;
    use gosched::sync::Mutex;

    type Stack = Mutex<Vec<u32>>;

    fn program(pop: fn(&Stack) -> Option<u32>) {
        let stack = Stack::default();
        scope(|s| {
            s.go(|| pop(&stack));
            s.go(|| stack.lock().push(1));
        });
    }

    pub fn wrong() {
        program(|stack| {
            let mut stack = stack.lock();
            if stack.is_empty() {
                forget(stack);
                return None;
            }
            stack.pop()
        });
    }

    pub fn right() {
        program(|stack| stack.lock().pop());
    }
}

/// There is enough money at the look, and less at the withdrawal.
mod overdraft {
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(withdraw: fn(&Mutex<i32>, i32)) {
        let balance = Mutex::new(100);
        scope(|s| {
            s.go(|| withdraw(&balance, 60));
            s.go(|| withdraw(&balance, 70));
        });
        assert!(balance.into_inner() >= 0);
    }

    pub fn wrong() {
        program(|balance, amount| {
            let enough = *balance.lock() >= amount;
            if enough {
                *balance.lock() -= amount;
            }
        });
    }

    pub fn right() {
        program(|balance, amount| {
            let mut balance = balance.lock();
            if *balance >= amount {
                *balance -= amount;
            }
        });
    }
}

/// Another goroutine counts between the look at the counter and its change.
mod lost_update {
    use gosched::scope;
    use gosched::sync::Mutex;

    fn program(count: fn(&Mutex<u32>)) {
        let counter = Mutex::new(0);
        scope(|s| {
            for _ in 0..2 {
                s.go(|| count(&counter));
            }
        });
        assert_eq!(counter.into_inner(), 2);
    }

    pub fn wrong() {
        program(|counter| {
            let seen = *counter.lock();
            *counter.lock() = seen + 1;
        });
    }

    pub fn right() {
        program(|counter| *counter.lock() += 1);
    }
}

/// The flag that says that the value is there is set before the value.
mod flag_before_value {
    use std::sync::atomic::{AtomicBool, Ordering};

    use gosched::scope;
    use gosched::sync::{Mutex, Once};

    pub fn wrong() {
        let (ready, value) = (AtomicBool::new(false), Mutex::new(0));
        let get = || {
            if !ready.swap(true, Ordering::SeqCst) {
                *value.lock() = 42;
            }
            assert_eq!(*value.lock(), 42);
        };
        scope(|s| {
            s.go(get);
            s.go(get);
        });
    }

    pub fn right() {
        let (once, value) = (Once::new(), Mutex::new(0));
        let get = || {
            once.call_once(|| *value.lock() = 42);
            assert_eq!(*value.lock(), 42);
        };
        scope(|s| {
            s.go(get);
            s.go(get);
        });
    }
}

/// A fact seen under the read lock is outdated once the write lock is held.
mod initialized_twice {
    use gosched::scope;
    use gosched::sync::RwLock;

    #[derive(Default)]
    struct Config {
        value: Option<u32>,
        loads: u32,
    }

    fn program(load: fn(&RwLock<Config>)) {
        let config = RwLock::new(Config::default());
        scope(|s| {
            s.go(|| load(&config));
            s.go(|| load(&config));
        });
        assert_eq!(config.into_inner().loads, 1);
    }

    fn load(config: &mut Config) {
        config.loads += 1;
        config.value = Some(42);
    }

    pub fn wrong() {
        program(|config| {
            let missing = config.read().value.is_none();
            if missing {
                load(&mut config.write());
            }
        });
    }

    pub fn right() {
        program(|config| {
            let missing = config.read().value.is_none();
            if missing {
                let mut config = config.write();
                if config.value.is_none() {
                    load(&mut config);
                }
            }
        });
    }
}
