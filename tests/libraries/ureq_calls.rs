//! ureq, an HTTP client that uses std's sockets and their timeouts.

use std::time::Duration;

use gosched::{scope, yield_now};

use crate::http::{body, serve};

crate::tests! { calls }

fn calls() {
    let address = serve();
    let agent = ureq::AgentBuilder::new().timeout(Duration::from_secs(100)).build();
    scope(|s| {
        for n in 0..8 {
            let agent = agent.clone();
            s.go(move || {
                for n in n * 30..(n + 1) * 30 {
                    let response = agent.get(&format!("http://{address}/{n}")).call().expect("an answer");
                    let mut received = Vec::new();
                    response.into_reader().read_to_end(&mut received).expect("a body");
                    assert!(received == body(n), "another body");
                    yield_now();
                }
            });
        }
    });
}
