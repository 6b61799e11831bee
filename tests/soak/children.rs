//! Programs that are run and waited for, as std and the C library do it.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::ledger::{Count, count};
use crate::random::Rng;

pub fn work(mut rng: Rng, end: Instant) {
    while Instant::now() < end {
        let code = rng.below(100) as i32;
        let script = format!("read line; echo $line; exit {code}");
        match rng.below(3) {
            0 => {
                let status = Command::new("sh").args(["-c", &format!("exit {code}")]).status();
                assert_eq!(status.expect("there is a shell").code(), Some(code));
            }
            1 => {
                let mut command = Command::new("sh");
                command.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped());
                let output = command.output().expect("there is a shell");
                assert_eq!((output.status.code(), &output.stdout[..]), (Some(code), &b"\n"[..]));
            }
            _ => {
                let command = format!("exit {code}\0");
                // SAFETY: a text that ends with a zero.
                let status = unsafe { libc::system(command.as_ptr().cast()) };
                assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == code, "{status}");
            }
        }
        count(Count::Children, 1);
    }
}
