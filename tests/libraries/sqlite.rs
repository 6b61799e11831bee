//! SQLite, with a database in a file and a connection for each goroutine.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use gosched::{scope, yield_now};

use crate::settings::Folder;

crate::tests! { wal rollback_journal }

const OK: c_int = 0;
const BUSY: c_int = 5;
const ROW: c_int = 100;
const DONE: c_int = 101;

#[link(name = "sqlite3")]
unsafe extern "C" {
    fn sqlite3_open(path: *const c_char, db: *mut *mut c_void) -> c_int;
    fn sqlite3_close(db: *mut c_void) -> c_int;
    fn sqlite3_busy_timeout(db: *mut c_void, milliseconds: c_int) -> c_int;
    fn sqlite3_errmsg(db: *mut c_void) -> *const c_char;
    fn sqlite3_prepare_v2(
        db: *mut c_void,
        sql: *const c_char,
        length: c_int,
        statement: *mut *mut c_void,
        rest: *mut *const c_char,
    ) -> c_int;
    fn sqlite3_step(statement: *mut c_void) -> c_int;
    fn sqlite3_finalize(statement: *mut c_void) -> c_int;
    fn sqlite3_column_text(statement: *mut c_void, column: c_int) -> *const c_char;
}

/// A connection.
struct Db(*mut c_void);

impl Db {
    fn open(path: &CStr) -> Db {
        let mut db = ptr::null_mut();
        // SAFETY: passes a path, and a place for the connection.
        let code = unsafe { sqlite3_open(path.as_ptr(), &mut db) };
        assert_eq!(code, OK, "it can be opened");
        // SAFETY: the connection is open.
        unsafe { sqlite3_busy_timeout(db, 20) };
        Db(db)
    }

    /// Executes a statement, without a retry. Returns SQLite's code, and the first column of the
    /// first row.
    fn step(&self, sql: &str) -> (c_int, Option<String>) {
        let text = CString::new(sql).expect("no 0");
        let mut statement = ptr::null_mut();
        // SAFETY: the connection is open, the text ends with a 0, and `statement` is a place for
        // what is returned.
        let code = unsafe { sqlite3_prepare_v2(self.0, text.as_ptr(), -1, &mut statement, ptr::null_mut()) };
        if code != OK {
            return (code, None);
        }
        // SAFETY: the statement was prepared. A column's text lives until the next call, and is
        // copied before.
        unsafe {
            let mut code = sqlite3_step(statement);
            let mut text = None;
            if code == ROW {
                let column = sqlite3_column_text(statement, 0);
                text = Some(CStr::from_ptr(column).to_string_lossy().into_owned());
                while code == ROW {
                    code = sqlite3_step(statement);
                }
            }
            sqlite3_finalize(statement);
            (code, text)
        }
    }

    /// Executes a statement until it isn't busy, and returns the first column of its first row.
    ///
    /// SQLite's documentation asks the caller to repeat a statement that returns BUSY
    /// (sqlite.org/rescode.html#busy). SQLite returns it also for a lock that a signal interrupted.
    /// And its busy timeout counts the sleeps that it has begun, not their time, so signals shorten
    /// the timeout.
    fn run(&self, sql: &str) -> Option<String> {
        loop {
            match self.step(sql) {
                (DONE, text) => return text,
                (BUSY, _) => yield_now(),
                (code, _) => {
                    // SAFETY: the connection is open, and its message is printed before the next
                    // call.
                    let message = unsafe { CStr::from_ptr(sqlite3_errmsg(self.0)) };
                    panic!("{sql}: {code}: {message:?}");
                }
            }
        }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // SAFETY: the connection is open, and isn't used any more.
        assert_eq!(unsafe { sqlite3_close(self.0) }, OK, "it can be closed");
    }
}

const WRITERS: usize = 4;
const TRANSACTIONS: usize = 100;
const ENTRIES: usize = 20;

/// Returns the amount of an entry.
fn amount(writer: usize, transaction: usize, entry: usize) -> usize {
    writer * 1_000_000 + transaction * 1000 + entry
}

/// Returns whether a transaction is committed. One in five is rolled back.
fn is_kept(transaction: usize) -> bool {
    transaction % 5 != 4
}

/// Adds entries, and their sum to the total, in transactions.
fn write(path: &CStr, writer: usize) {
    let db = Db::open(path);
    for transaction in 0..TRANSACTIONS {
        db.run("BEGIN IMMEDIATE");
        for entry in 0..ENTRIES {
            let amount = amount(writer, transaction, entry);
            db.run(&format!("INSERT INTO entries VALUES ({writer}, {amount}, hex(randomblob(200)))"));
            db.run(&format!("UPDATE totals SET total = total + {amount}"));
        }
        db.run(if is_kept(transaction) { "COMMIT" } else { "ROLLBACK" });
        yield_now();
    }
}

/// Asserts that a reader sees all entries of a transaction, or none.
fn read(path: &CStr) {
    let db = Db::open(path);
    for _ in 0..TRANSACTIONS {
        let off = db.run("SELECT (SELECT total FROM totals) - (SELECT total(amount) FROM entries)");
        assert_eq!(off.as_deref(), Some("0.0"));
        let torn = db.run(&format!("SELECT count(*) % {ENTRIES} FROM entries"));
        assert_eq!(torn.as_deref(), Some("0"));
        yield_now();
    }
}

fn with_journal(mode: &str) {
    let folder = Folder::new(mode);
    let path = CString::new(folder.path("db").into_os_string().into_encoded_bytes()).expect("no 0");
    let db = Db::open(&path);
    assert_eq!(db.run(&format!("PRAGMA journal_mode = {mode}")).as_deref(), Some(mode));
    db.run("CREATE TABLE entries (writer INTEGER, amount INTEGER, blank TEXT)");
    db.run("CREATE INDEX by_amount ON entries (amount)");
    db.run("CREATE TABLE totals (total INTEGER)");
    db.run("INSERT INTO totals VALUES (0)");
    scope(|s| {
        for writer in 0..WRITERS {
            let path = &path;
            s.go(move || write(path, writer));
            s.go(move || read(path));
        }
    });
    assert_eq!(db.run("PRAGMA integrity_check").as_deref(), Some("ok"));
    let (mut count, mut sum) = (0, 0);
    for writer in 0..WRITERS {
        for transaction in (0..TRANSACTIONS).filter(|&transaction| is_kept(transaction)) {
            count += ENTRIES;
            sum += (0..ENTRIES).map(|entry| amount(writer, transaction, entry)).sum::<usize>();
        }
    }
    assert_eq!(db.run("SELECT count(*) FROM entries"), Some(count.to_string()));
    assert_eq!(db.run("SELECT sum(amount) FROM entries"), Some(sum.to_string()));
    assert_eq!(db.run("SELECT total FROM totals"), Some(sum.to_string()));
}

fn wal() {
    with_journal("wal");
}

fn rollback_journal() {
    with_journal("delete");
}
