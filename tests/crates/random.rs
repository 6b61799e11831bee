//! Random number generators, most of which are thread-locals.

use std::io::{Read, Seek, Write};

use rand::{Rng, SeedableRng};

use crate::works;

works! {
    rand_of_a_seed
    rand_of_the_thread
    fastrand_of_a_seed
    uuid_of_the_thread
    tempfile_with_a_random_name
}

fn rand_of_a_seed(n: u64, pause: &dyn Fn()) -> String {
    let mut rng = rand::rngs::StdRng::seed_from_u64(n);
    let mut draw = || {
        pause();
        rng.random_range(0..1_000_000u32)
    };
    format!("{:?}", [draw(), draw(), draw()])
}

/// No two draws are equal, whatever other goroutines draw.
fn rand_of_the_thread(_: u64, pause: &dyn Fn()) -> String {
    let mut rng = rand::rng();
    let mut draws: Vec<u64> = (0..50)
        .flat_map(|_| {
            pause();
            [rng.random::<u64>(), rand::random()]
        })
        .collect();
    draws.sort();
    draws.dedup();
    draws.len().to_string()
}

/// The thread's generator gets a seed here, and its sequence isn't disturbed by other goroutines.
fn fastrand_of_a_seed(n: u64, pause: &dyn Fn()) -> String {
    fastrand::seed(n);
    let draw = || {
        pause();
        fastrand::u32(..)
    };
    format!("{:?}", [draw(), draw(), draw()])
}

fn uuid_of_the_thread(_: u64, pause: &dyn Fn()) -> String {
    let first = uuid::Uuid::new_v4();
    pause();
    let second = uuid::Uuid::new_v4();
    format!("{} {}", first != second, second.get_version_num())
}

fn tempfile_with_a_random_name(n: u64, pause: &dyn Fn()) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    pause();
    write!(file, "number {n}").unwrap();
    pause();
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    text
}
