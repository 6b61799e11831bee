//! The results of functions, where they work and where they don't, compared with std's.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::FileTimes;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use gosched::fs::{self, File, OpenOptions};
use gosched::process::Command;
use gosched::run;

use crate::fs::Folder;
use crate::harness::tests;

tests! {
    functions_are_as_std_has_them
    files_are_as_std_has_them
    files_become_stds_and_descriptors
    folders_are_read
}

/// Converts a result to text, without times and numbers of inodes.
fn text<T: Debug>(result: io::Result<T>) -> String {
    format!("{result:?}")
}

/// Returns the result of each function that takes a path, where it works and where it doesn't.
macro_rules! functions {
    ($fs:path, $folder:expr) => {{
        use $fs as fs;
        let folder = $folder;
        let path = |name: &str| folder.path(name);
        let read_only = std::fs::Permissions::from_mode(0o444);
        let mut found = Vec::new();
        for name in ["file", "folder", "missing/a", "missing/b", "with\0zero"] {
            let path = path(name);
            found.extend([
                text(fs::create_dir(folder.path("folder"))),
                text(fs::create_dir(&path)),
                text(fs::write(&path, "contents")),
                text(fs::read(&path)),
                text(fs::read_to_string(&path)),
                text(fs::exists(&path)),
                text(
                    fs::metadata(&path)
                        .map(|metadata| (metadata.len() * u64::from(metadata.is_file()), metadata.is_dir())),
                ),
                text(fs::set_permissions(&path, read_only.clone())),
                text(fs::metadata(&path).map(|metadata| metadata.permissions().mode())),
                text(fs::copy(&path, folder.path("copy"))),
                text(fs::hard_link(&path, folder.path("link"))),
                text(fs::read(folder.path("copy"))),
                text(fs::read(folder.path("link"))),
                text(fs::rename(&path, folder.path("renamed"))),
                text(fs::rename(folder.path("renamed"), &path)),
                text(fs::read_link(&path)),
                text(fs::canonicalize(&path)),
                text(fs::read_dir(&path).map(|entries| entries.count())),
                text(fs::remove_dir(&path)),
                text(fs::remove_file(&path)),
                text(fs::remove_file(folder.path("copy"))),
                text(fs::remove_file(folder.path("link"))),
                text(fs::remove_dir_all(&path)),
            ]);
        }
        found.push(text(fs::create_dir_all(path("a/b/c"))));
        found.push(text(fs::create_dir(path("a"))));
        found.push(text(fs::write(path("a/b/file"), [0xff, 0xfe])));
        found.push(text(fs::create_dir_all(path("a/b/file/c"))));
        found.push(text(fs::read_to_string(path("a/b/file"))));
        symlink(path("a/b/file"), path("a/link")).unwrap();
        found.push(text(fs::read_link(path("a/link"))));
        found.push(text(fs::canonicalize(path("a/../a/link"))));
        found.push(text(fs::metadata(path("a/link")).map(|metadata| metadata.is_file())));
        found.push(text(fs::symlink_metadata(path("a/link")).map(|metadata| metadata.is_symlink())));
        found.push(text(fs::remove_dir(path("a"))));
        found.push(text(fs::remove_dir_all(path("a"))));
        found.push(text(fs::exists(path("a"))));
        found
    }};
}

fn functions_are_as_std_has_them() {
    // Uses the same folder, because its name is in the results.
    let expected = functions!(std::fs, Folder::new());
    assert!(expected.iter().filter(|result| result.starts_with("Ok")).count() > 20);
    assert!(expected.iter().filter(|result| result.starts_with("Err")).count() > 20);
    run(|| assert_eq!(functions!(gosched::fs, Folder::new()), expected));
}

/// Returns the results of the functions of files, and of the ways to open them.
macro_rules! files {
    ($fs:path, $folder:expr) => {{
        use $fs as fs;
        let folder = $folder;
        let path = folder.path("file");
        let mut found = vec![
            text(fs::File::open(&path).map(drop)),
            text(fs::File::open("with\0zero").map(drop)),
            text(fs::OpenOptions::new().open(&path).map(drop)),
            text(fs::OpenOptions::new().read(true).truncate(true).open(&path).map(drop)),
            text(fs::OpenOptions::new().write(true).create(true).mode(0o640).open(&path).map(drop)),
            text(fs::File::create_new(&path).map(drop)),
            text(fs::OpenOptions::new().write(true).custom_flags(libc::O_DIRECTORY).open(&path).map(drop)),
        ];
        let mut file = fs::File::create(&path).unwrap();
        found.push(text(file.metadata().map(|metadata| (metadata.len(), metadata.permissions().mode()))));
        found.push(text(file.write(b"0123456789")));
        found.push(text(file.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cd")])));
        found.push(text(file.flush()));
        found.push(text(file.sync_data()));
        found.push(text(file.read(&mut [0; 4])));
        found.push(text(file.read_to_end(&mut Vec::new())));
        let file = fs::File::options().read(true).write(true).open(&path).unwrap();
        let mut buf = [0; 4];
        found.push(text((&file).read(&mut buf).map(|n| (n, buf))));
        found.push(text((&file).seek(SeekFrom::Current(-1))));
        found.push(text((&file).seek(SeekFrom::Current(-9))));
        found.push(text((&file).read_exact(&mut buf).map(|()| buf)));
        let (mut first, mut second) = ([0; 1], [0; 3]);
        let both = &mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        found.push(text((&file).read_vectored(both)));
        found.push(format!("{first:?} {second:?}"));
        found.push(text(file.read_at(&mut buf, 12).map(|n| (n, buf))));
        found.push(text(file.read_exact_at(&mut buf, 12)));
        found.push(text(file.write_at(b"XY", 1)));
        found.push(text(file.write_all_at(b"Z", 20)));
        found.push(text((&file).stream_position()));
        let mut rest = String::new();
        found.push(text((&file).read_to_string(&mut rest).map(|n| (n, rest))));
        found.push(text((&file).read_exact(&mut buf)));
        found.push(text(file.set_len(3)));
        found.push(text(file.set_len(u64::MAX)));
        found.push(text(file.sync_all()));
        found.push(text((&file).seek(SeekFrom::End(0))));
        found.push(text(file.set_permissions(PermissionsExt::from_mode(0o600))));
        let then = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        found.push(text(file.set_modified(then(1_000_000_000))));
        found.push(text(file.metadata().and_then(|metadata| metadata.modified())));
        found.push(text(file.set_times(FileTimes::new().set_accessed(then(3)).set_modified(then(4)))));
        let times = file.metadata().map(|metadata| (metadata.accessed().ok(), metadata.modified().ok()));
        found.push(text(times));
        let clone = file.try_clone().unwrap();
        found.push(text((&clone).write_all(b"end")));
        found.push(text((&file).stream_position()));
        let mut all = Vec::new();
        let read_only = fs::File::open(&path).unwrap();
        found.push(text((&read_only).read_to_end(&mut all).map(|_| all)));
        found.push(text((&read_only).write(b"x")));
        found.push(text((&read_only).write_all(b"x")));
        found.push(text(read_only.set_len(0)));
        found.push(text((&fs::File::open("/").unwrap()).read(&mut buf)));
        let log = fs::OpenOptions::new().append(true).open(&path).unwrap();
        found.push(text((&log).write_all(b"!")));
        found.push(text(fs::read(&path)));
        found
    }};
}

fn files_are_as_std_has_them() {
    let expected = files!(std::fs, Folder::new());
    run(|| assert_eq!(files!(gosched::fs, Folder::new()), expected));
}

fn files_become_stds_and_descriptors() {
    run(|| {
        let folder = Folder::new();
        let mut theirs = std::fs::OpenOptions::new();
        theirs.read(true).write(true).create(true).truncate(true);
        let file = OpenOptions::from(theirs).open(folder.path("file")).unwrap();
        let fd = file.as_raw_fd();
        assert_eq!(file.as_fd().as_raw_fd(), fd);
        let file = File::from(OwnedFd::from(file));
        let mut file = File::from(std::fs::File::from(file)).into_std();
        assert_eq!(file.as_raw_fd(), fd);
        file.write_all(b"std's").unwrap();
        let output = File::options().append(true).open(folder.path("file")).unwrap();
        let mut echo = Command::new("echo");
        assert!(echo.arg(", and a child's").stdout(output).status().unwrap().success());
        assert_eq!(fs::read_to_string(folder.path("file")).unwrap(), "std's, and a child's\n");
    });
}

fn folders_are_read() {
    run(|| {
        let folder = Folder::new();
        let names: BTreeSet<String> = (0..1000).map(|i| format!("file {i}")).collect();
        names.iter().for_each(|name| fs::write(folder.path(name), name).unwrap());
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(&folder.0).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            assert_eq!(entry.path(), folder.path(&name));
            assert_eq!(entry.metadata().unwrap().len(), name.len() as u64);
            assert!(entry.file_type().unwrap().is_file());
            assert_eq!(entry.ino(), entry.metadata().unwrap().ino());
            assert!(found.insert(name));
        }
        assert_eq!(found, names);
        // The entry's file was removed meanwhile.
        let entry = fs::read_dir(&folder.0).unwrap().next().unwrap().unwrap();
        fs::remove_file(entry.path()).unwrap();
        assert_eq!(entry.metadata().unwrap_err().kind(), ErrorKind::NotFound);
    });
}
