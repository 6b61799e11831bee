//! Functions that tests of the poller share.

use std::fmt::Debug;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, pipe};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use gosched::net::Pollable;
use gosched::time::sleep;

use gosched::run;

use crate::harness::Test;

pub const MS: Duration = Duration::from_millis(1);
pub const HOUR: Duration = Duration::from_secs(3600);

/// Fails unless `main` ends well, with one P and with several.
pub fn with_one_p_and_several(test: Test, main: impl Fn() + Send + Sync) {
    for procs in ["1", "4"] {
        let process = test.process(|| run(&main));
        process.env("GOMAXPROCS", procs).end().with("exit status: 0");
    }
}

pub fn stream_pair() -> (Pollable<UnixStream>, Pollable<UnixStream>) {
    let (a, b) = UnixStream::pair().unwrap();
    (Pollable::new(a).unwrap(), Pollable::new(b).unwrap())
}

pub fn pipe_pair() -> (Pollable<PipeReader>, Pollable<PipeWriter>) {
    let (rx, tx) = pipe().unwrap();
    (Pollable::new(rx).unwrap(), Pollable::new(tx).unwrap())
}

#[track_caller]
pub fn kind<T: Debug>(result: io::Result<T>) -> ErrorKind {
    result.unwrap_err().kind()
}

pub fn read_one(mut from: impl Read) -> io::Result<u8> {
    let mut byte = [0];
    from.read_exact(&mut byte).map(|()| byte[0])
}

/// Lets others run for a while. Usually they wait by then; if not, a test checks less.
pub fn let_them_wait() {
    sleep(20 * MS);
}

/// Limits the descriptors of this process.
pub fn limit_descriptors(to: u64) {
    let limit = libc::rlimit { rlim_cur: to, rlim_max: 4096 };
    // SAFETY: the kernel reads the limit.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}
