//! libcurl's easy interface, which blocks the thread in `poll`.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::net::SocketAddr;
use std::slice;

use gosched::{scope, yield_now};

use crate::http::{body, serve};
use crate::settings::bytes;

crate::tests! { downloads uploads names }

type Code = c_int;

const GLOBAL_DEFAULT: c_long = 3;
const TIMEOUT: c_int = 13;
const NOSIGNAL: c_int = 99;
const POSTFIELDSIZE: c_int = 60;
const WRITEDATA: c_int = 10001;
const URL: c_int = 10002;
const PROXY: c_int = 10004;
const POSTFIELDS: c_int = 10015;
const WRITEFUNCTION: c_int = 20011;
const RESPONSE_CODE: c_int = 0x20_0000 + 2;

#[link(name = "curl")]
unsafe extern "C" {
    fn curl_global_init(flags: c_long) -> Code;
    fn curl_easy_init() -> *mut c_void;
    fn curl_easy_setopt(curl: *mut c_void, option: c_int, ...) -> Code;
    fn curl_easy_perform(curl: *mut c_void) -> Code;
    fn curl_easy_getinfo(curl: *mut c_void, info: c_int, ...) -> Code;
    fn curl_easy_cleanup(curl: *mut c_void);
    fn curl_easy_strerror(code: Code) -> *const c_char;
}

/// Appends a piece of a body to the Vec `to`.
unsafe extern "C" fn take(from: *const u8, size: usize, n: usize, to: *mut c_void) -> usize {
    // SAFETY: `fetch` passes a Vec, and libcurl passes `size * n` bytes.
    unsafe { (*to.cast::<Vec<u8>>()).extend_from_slice(slice::from_raw_parts(from, size * n)) };
    size * n
}

/// A handle of libcurl's, which makes its calls over one connection.
struct Easy(*mut c_void);

impl Easy {
    fn new() -> Easy {
        // SAFETY: `begin` has initialized libcurl.
        let curl = unsafe { curl_easy_init() };
        assert!(!curl.is_null());
        Easy(curl)
    }

    /// Sends a GET, or a POST of `post`, and returns the body of the response, whose status must be
    /// 200.
    fn fetch(&self, url: &str, post: Option<&[u8]>) -> Vec<u8> {
        let mut received = Vec::<u8>::new();
        let (url, mut status) = (CString::new(url).expect("no 0"), 0 as c_long);
        let take: unsafe extern "C" fn(_, _, _, _) -> _ = take;
        // SAFETY: each option has a value of its type, and what it points to lives until the call
        // ends.
        let code = unsafe {
            curl_easy_setopt(self.0, URL, url.as_ptr());
            // Overrides a proxy of the environment's, which can't reach this machine's server.
            curl_easy_setopt(self.0, PROXY, c"".as_ptr());
            // No SIGALRM: libcurl's documentation asks for this in a program with several threads.
            curl_easy_setopt(self.0, NOSIGNAL, 1 as c_long);
            curl_easy_setopt(self.0, TIMEOUT, 100 as c_long);
            curl_easy_setopt(self.0, WRITEFUNCTION, take);
            curl_easy_setopt(self.0, WRITEDATA, &raw mut received);
            if let Some(post) = post {
                curl_easy_setopt(self.0, POSTFIELDS, post.as_ptr());
                curl_easy_setopt(self.0, POSTFIELDSIZE, post.len() as c_long);
            }
            curl_easy_perform(self.0)
        };
        // SAFETY: libcurl returns a text that is never freed.
        let message = unsafe { CStr::from_ptr(curl_easy_strerror(code)) };
        assert_eq!(code, 0, "{url:?}: {message:?}");
        // SAFETY: this information is a long, and `status` has room for it.
        unsafe { curl_easy_getinfo(self.0, RESPONSE_CODE, &raw mut status) };
        assert_eq!(status, 200, "{url:?}");
        received
    }
}

impl Drop for Easy {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's own, and isn't used any more.
        unsafe { curl_easy_cleanup(self.0) };
    }
}

/// Starts the server, and goroutines that call `f` with a handle, the address and a number.
fn begin(f: fn(&Easy, SocketAddr, usize)) {
    // SAFETY: no other thread uses libcurl yet.
    assert_eq!(unsafe { curl_global_init(GLOBAL_DEFAULT) }, 0);
    let address = serve();
    scope(|s| {
        for n in 0..8 {
            s.go(move || {
                let easy = Easy::new();
                for i in 0..30 {
                    f(&easy, address, n * 30 + i);
                    yield_now();
                }
            });
        }
    });
}

fn downloads() {
    begin(|easy, address, n| {
        assert!(easy.fetch(&format!("http://{address}/{n}"), None) == body(n), "another body");
    });
}

fn uploads() {
    begin(|easy, address, n| {
        let sent = bytes(n, 1 + n * 3001 % 60_000);
        assert!(easy.fetch(&format!("http://{address}/"), Some(&sent)) == sent, "another body");
    });
}

/// Each goroutine has a connection of its own. libcurl looks the name up on a thread.
fn names() {
    begin(|_, address, n| {
        let url = format!("http://localhost:{}/{n}", address.port());
        assert!(Easy::new().fetch(&url, None) == body(n), "another body");
    });
}
