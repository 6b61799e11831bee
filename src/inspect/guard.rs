//! Which requests are refused, by their headers.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr};

use crate::inspect::http::{Answer, Request};

/// The shortest token, in bytes.
const SHORTEST_TOKEN: usize = 16;

/// The settings that decide about a request.
#[derive(Clone, Default)]
pub(super) struct Guard {
    pub(super) token: Option<String>,
    /// Names that the program allows, in lower case.
    pub(super) hosts: Vec<String>,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "...");
        f.debug_struct("Guard").field("token", &token).field("hosts", &self.hosts).finish()
    }
}

impl Guard {
    /// Checks the settings for a listener at `ip`, or on a Unix socket.
    pub(super) fn check_settings(&self, ip: Option<IpAddr>) -> io::Result<()> {
        let refuse = |why| Err(io::Error::new(ErrorKind::InvalidInput, why));
        match &self.token {
            Some(token) if token.len() < SHORTEST_TOKEN => {
                refuse("gosched::inspect: the token has less than 16 bytes")
            }
            None if ip.is_some_and(|ip| !ip.to_canonical().is_loopback()) => {
                refuse("gosched::inspect: a listener that isn't on a loopback address needs a token")
            }
            _ => Ok(()),
        }
    }

    /// Checks where a request comes from. Returns the answer to a request that is refused.
    pub(super) fn check_origin(&self, request: &Request) -> Result<(), Answer> {
        if !self.is_own_host(&request.host) {
            return Err(Answer::error("421 Misdirected Request", "this host isn't allowed here"));
        }
        // Browsers send these with each request that a page makes; a page can't forge them.
        if let Some(origin) = &request.origin
            && origin.split_once("://").is_none_or(|(_, from)| !from.eq_ignore_ascii_case(&request.host))
        {
            return Err(Answer::error("403 Forbidden", "a request of another origin"));
        }
        if let Some(site) = &request.fetch_site
            && !matches!(site.as_str(), "same-origin" | "none")
        {
            return Err(Answer::error("403 Forbidden", "a request of another site"));
        }
        Ok(())
    }

    /// Checks a request's token, if there must be one.
    pub(super) fn check_token(&self, request: &Request) -> Result<(), Answer> {
        let Some(token) = &self.token else { return Ok(()) };
        let given = request.authorization.as_deref().unwrap_or_default();
        let given = given.strip_prefix("Bearer ").unwrap_or_default();
        if is_equal(token.as_bytes(), given.as_bytes()) {
            return Ok(());
        }
        Err(Answer::error("401 Unauthorized", "a token is needed"))
    }

    /// Whether `host`, a header's value with or without a port, names this server. An address can't
    /// be made to resolve to another one, so with a token any address does.
    fn is_own_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let ip: Option<IpAddr> = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
            None => name.parse().ok().filter(IpAddr::is_ipv4),
        };
        match ip {
            Some(ip) => self.token.is_some() || ip.to_canonical().is_loopback() || self.hosts.contains(&name),
            None => name == "localhost" || self.hosts.contains(&name),
        }
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Compares without stopping at the first difference, so that the time tells nothing.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let own = |guard: &Guard, host: &str| guard.is_own_host(host);
        let plain = Guard { token: None, hosts: vec!["debug.example.org".to_owned()] };
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1", "127.8.0.1:7070", "[::1]:7070", "debug.example.org:1"]
        {
            assert!(own(&plain, host), "{host}");
        }
        let others = [
            "",
            "example.org",
            "localhost.example.org",
            "localhost:",
            "10.0.0.1",
            "[::2]:7070",
            "::1",
            "127.1",
            "127.0.0.1.example.org",
            "localhost:80:80",
        ];
        for host in others {
            assert!(!own(&plain, host), "{host}");
        }
        let secret = Guard { token: Some("0123456789abcdef".to_owned()), hosts: Vec::new() };
        assert!(own(&secret, "10.0.0.1:80") && own(&secret, "[2001:db8::1]"));
        assert!(!own(&secret, "example.org") && !own(&secret, "debug.example.org"));
    }

    #[test]
    fn settings() {
        let ip = |text: &str| Some(text.parse().unwrap());
        let plain = Guard::default();
        assert!(plain.check_settings(ip("127.0.0.1")).is_ok() && plain.check_settings(ip("::1")).is_ok());
        assert!(plain.check_settings(None).is_ok());
        assert!(plain.check_settings(ip("0.0.0.0")).is_err() && plain.check_settings(ip("::")).is_err());
        let with = |token: &str| Guard { token: Some(token.to_owned()), ..Guard::default() };
        assert!(with("0123456789abcdef").check_settings(ip("0.0.0.0")).is_ok());
        assert!(with("0123456789abcde").check_settings(ip("127.0.0.1")).is_err());
        assert!(!format!("{:?}", with("0123456789abcdef")).contains("0123"), "the token is a secret");
    }
}
