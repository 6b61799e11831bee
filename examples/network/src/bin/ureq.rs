//! Two hundred requests at once by ureq, with gosched's sockets and resolver, and ureq's own TLS.
//! One more request is never answered, and times out.
//!
//! ```text
//! cargo run --release --bin ureq
//! ```

#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::Duration;

use gosched::context::Context;
use gosched::sync::err_group;
use network::server::{self, NAME, SILENCE};
use network::ureq_transport::{Names, Sockets};
use network::{Failure, more_descriptors};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, RustlsConnector};
use ureq::{Agent, Error};

const REQUESTS: usize = 200;

fn main() -> Result<(), Failure> {
    more_descriptors()?;
    gosched::run(|| {
        let (address, certificate) = server::serve()?;
        let agent = agent(&certificate);
        let url = |path: &str| format!("https://{NAME}:{}{path}", address.port());
        err_group(&Context::background(), |group| {
            for n in 0..REQUESTS {
                let (agent, url) = (&agent, url(&format!("/{n}")));
                group.go(move |_| {
                    let body = agent.get(url).call()?.into_body().read_to_vec()?;
                    assert!(body == server::body(n), "another body");
                    Ok(())
                });
            }
            Ok::<(), Failure>(())
        })?;
        let timeout = Some(Duration::from_millis(50));
        let silence = agent.get(url(SILENCE)).config().timeout_global(timeout).build().call();
        assert!(matches!(silence, Err(Error::Timeout(_))), "{silence:?}");
        println!("{REQUESTS} requests at once, and one timeout");
        Ok(())
    })
}

/// Makes an agent that trusts one certificate.
fn agent(certificate: &CertificateDer<'static>) -> Agent {
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .root_certs(RootCerts::new_with_certs(&[Certificate::from_der(certificate).to_owned()]))
        .build();
    // A proxy that the environment names is of no use: the server is in this process.
    let config = Agent::config_builder().tls_config(tls).proxy(None).build();
    Agent::with_parts(
        config,
        ConnectProxyConnector::default().chain(Sockets).chain(RustlsConnector::default()),
        Names::default(),
    )
}
