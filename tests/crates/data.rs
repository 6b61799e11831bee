//! Parsers, formats, a database and a protocol, which keep caches in thread-locals.

use std::io::{Cursor, Read, Write};
use std::sync::{Arc, LazyLock};

use chrono::{Local, TimeZone};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

use crate::works;

works! {
    regex_of_all
    serde_json_of_a_thread
    chrono_of_the_local_time
    image_as_png
    sqlite_in_memory
    rustls_handshakes
}

static WORDS: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new(r"(?<word>\pL+)-(?<n>\d+)").unwrap());

/// A search uses memory that belongs to the thread.
fn regex_of_all(n: u64, pause: &dyn Fn()) -> String {
    let text = format!("wörter-{n} und mehr-{} x-y", n + 1);
    let mut found = Vec::new();
    for captures in WORDS.captures_iter(&text) {
        pause();
        found.push(format!("{}={}", &captures["word"], &captures["n"]));
    }
    found.join(" ")
}

fn serde_json_of_a_thread(n: u64, pause: &dyn Fn()) -> String {
    let mut value = serde_json::json!({ "n": n, "list": [1.5, n, null], "text": "ä\n" });
    pause();
    let text = serde_json::to_string(&value).unwrap();
    pause();
    value["again"] = serde_json::from_str(&text).unwrap();
    pause();
    value.to_string()
}

/// The time zone is cached in a thread-local.
fn chrono_of_the_local_time(n: u64, pause: &dyn Fn()) -> String {
    let time = Local.timestamp_opt(n as i64 * 86_400, 0).unwrap();
    pause();
    let text = time.to_rfc3339();
    pause();
    format!("{text} {}", chrono::DateTime::parse_from_rfc3339(&text).unwrap().timestamp())
}

fn image_as_png(n: u64, pause: &dyn Fn()) -> String {
    let image = image::RgbImage::from_fn(16, 16, |x, y| image::Rgb([x as u8, y as u8, n as u8]));
    let mut bytes = Vec::new();
    image.write_to(&mut Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    pause();
    let again = image::load_from_memory(&bytes).unwrap().into_rgb8();
    pause();
    format!("{} {:?}", again == image, again.get_pixel(3, 4))
}

fn sqlite_in_memory(n: u64, pause: &dyn Fn()) -> String {
    let db = rusqlite::Connection::open_in_memory().unwrap();
    db.execute_batch("CREATE TABLE t (a INTEGER, b TEXT)").unwrap();
    for i in 0..5 {
        pause();
        db.execute("INSERT INTO t VALUES (?1, ?2)", (n + i, format!("row {i}"))).unwrap();
    }
    let mut query = db.prepare("SELECT a, b FROM t ORDER BY a DESC").unwrap();
    let rows = query.query_map((), |row| {
        pause();
        Ok(format!("{} {}", row.get::<_, u64>(0)?, row.get::<_, String>(1)?))
    });
    format!("{:?}", rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap())
}

/// The configurations of both sides of a TLS connection.
struct Sides {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

static SIDES: LazyLock<Sides> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let key = PrivateKeyDer::try_from(made.key_pair.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let server = ServerConfig::builder().with_no_client_auth();
    let server = server.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    Sides { client: Arc::new(client), server: Arc::new(server) }
});

fn rustls_handshakes(n: u64, pause: &dyn Fn()) -> String {
    let name = ServerName::try_from("localhost").unwrap();
    let mut client = ClientConnection::new(SIDES.client.clone(), name).unwrap();
    let mut server = ServerConnection::new(SIDES.server.clone()).unwrap();
    write!(client.writer(), "number {n}").unwrap();
    let mut wire = Vec::new();
    while client.is_handshaking() || server.is_handshaking() || client.wants_write() {
        pause();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        server.read_tls(&mut &wire[..]).unwrap();
        server.process_new_packets().unwrap();
        wire.clear();
        pause();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        client.read_tls(&mut &wire[..]).unwrap();
        client.process_new_packets().unwrap();
        wire.clear();
    }
    let mut text = vec![0; format!("number {n}").len()];
    server.reader().read_exact(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}
