//! Files of `std::fs`.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};

use gosched::{scope, yield_now};

use crate::settings::{Folder, bytes};

crate::tests! { files }

fn files() {
    let folder = Folder::new("files");
    scope(|s| {
        for n in 0..6 {
            let folder = &folder;
            s.go(move || {
                for turn in 0..40 {
                    one(folder, n * 100 + turn);
                }
            });
        }
    });
    assert_eq!(fs::read_dir(folder.path("")).expect("a folder").count(), 0);
}

/// Writes a file, syncs it, moves it, reads it, adds to it, copies it, and removes it.
fn one(folder: &Folder, n: usize) {
    let data = bytes(n, n * 1013 % 200_000);
    let (path, other) = (folder.path(n), folder.path(format!("{n}.moved")));
    let mut file = File::create_new(&path).expect("it can be made");
    data.chunks(3000).for_each(|piece| file.write_all(piece).expect("it can be written"));
    yield_now();
    file.sync_all().expect("it can be synced");
    fs::rename(&path, &other).expect("it can be moved");
    assert!(fs::read(&other).expect("it can be read") == data, "another file");
    yield_now();
    let mut file = OpenOptions::new().read(true).append(true).open(&other).expect("it can be opened");
    for i in 0..100 {
        writeln!(file, "\n{i}").expect("it can be written");
    }
    yield_now();
    assert_eq!(fs::copy(&other, &path).expect("it can be copied"), file.metadata().expect("a length").len());
    file.seek(SeekFrom::Start(data.len() as u64)).expect("it can be sought");
    let lines: Vec<_> = BufReader::new(file).lines().map(|line| line.expect("a line")).collect();
    let expected: Vec<_> = (0..100).flat_map(|i| [String::new(), i.to_string()]).collect();
    assert_eq!(lines, expected);
    yield_now();
    fs::remove_file(&path).and_then(|()| fs::remove_file(&other)).expect("they can be removed");
}
