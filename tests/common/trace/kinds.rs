//! The kinds of events, by Go's numbers, and what each is told with.

/// What a number means that an event is told with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An identity: of a goroutine, a P, a thread, a task.
    G,
    P,
    M,
    Task,
    /// The next number of a P or a goroutine in this generation.
    Sequence,
    Status,
    String,
    Stack,
    Number,
}

macro_rules! kinds {
    ($($name:ident = $number:literal [$($role:ident)*])*) => {
        /// A kind of event that happens at a time. (Those of a garbage collector aren't among
        /// them.)
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($name = $number),*
        }

        impl Kind {
            pub fn of(number: u8) -> Option<Kind> {
                match number {
                    $($number => Some(Kind::$name),)*
                    _ => None,
                }
            }

            /// What comes behind the time.
            pub fn roles(self) -> &'static [Role] {
                match self {
                    $(Kind::$name => &[$(Role::$role),*],)*
                }
            }
        }
    };
}

kinds! {
    ProcsChange = 9 [Number Stack]
    ProcStart = 10 [P Sequence]
    ProcStop = 11 []
    ProcSteal = 12 [P Sequence M]
    ProcStatus = 13 [P Status]
    GoCreate = 14 [G Stack Stack]
    GoCreateSyscall = 15 [G]
    GoStart = 16 [G Sequence]
    GoDestroy = 17 []
    GoDestroySyscall = 18 []
    GoStop = 19 [String Stack]
    GoBlock = 20 [String Stack]
    GoUnblock = 21 [G Sequence Stack]
    GoSyscallBegin = 22 [Sequence Stack]
    GoSyscallEnd = 23 []
    GoSyscallEndBlocked = 24 []
    GoStatus = 25 [G M Status]
    STWBegin = 26 [String Stack]
    STWEnd = 27 []
    GoLabel = 39 [String]
    UserTaskBegin = 40 [Task Task String Stack]
    UserTaskEnd = 41 [Task Stack]
    UserRegionBegin = 42 [Task String Stack]
    UserRegionEnd = 43 [Task String Stack]
    UserLog = 44 [Task String String Stack]
    GoSwitch = 45 [G Sequence]
    GoSwitchDestroy = 46 [G Sequence]
    GoCreateBlocked = 47 [G Stack Stack]
    GoStatusStack = 48 [G M Status Stack]
}

/// What stands at the head of a batch that has no events of a thread, and of each entry in it.
pub mod tables {
    pub const BATCH: u8 = 1;
    pub const STACKS: u8 = 2;
    pub const STACK: u8 = 3;
    pub const STRINGS: u8 = 4;
    pub const STRING: u8 = 5;
    pub const CPU_SAMPLES: u8 = 6;
    pub const CPU_SAMPLE: u8 = 7;
    pub const FREQUENCY: u8 = 8;
}
