//! The attributes of [gosched](https://docs.rs/gosched), which exports and documents them, as
//! `gosched::main` and `gosched::test`, with its feature `macros`.
//!
//! They need only the places of a function's name, its arguments and its body. So this crate reads
//! tokens itself. It has no dependencies, which would take longer to build than gosched.

// Their documentation is in gosched, where its links lead to the items.
#![allow(missing_docs)]

mod error;
mod function;
mod options;
mod template;

use proc_macro::TokenStream;

use error::Error;
use function::Function;
use options::Options;
use template::fill;

#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(item, |function| run_main(options, function)).unwrap_or_else(|error| error.emit("gosched::main"))
}

#[proc_macro_attribute]
pub fn test(options: TokenStream, item: TokenStream) -> TokenStream {
    expand(item, |function| run_test(options, function)).unwrap_or_else(|error| error.emit("gosched::test"))
}

fn expand(
    item: TokenStream,
    expand: impl FnOnce(&Function) -> Result<TokenStream, Error>,
) -> Result<TokenStream, Error> {
    let function = Function::parse(item)?;
    expand(&function).map_err(|error| error.of(&function.name))
}

/// Makes a `main` that runs the function. The function's result is reported on the goroutine,
/// because it needn't be `Send`: a `Box<dyn Error>` isn't.
fn run_main(options: TokenStream, function: &Function) -> Result<TokenStream, Error> {
    let [procs, std, threads] = Options::parse(options)?.named(["procs", "std", "threads"])?;
    let set_procs = "::gosched::set_gomaxprocs(
        const { ::std::num::NonZeroUsize::new(PROCS).expect(\"procs is 1 at least\") }
    );";
    let set_procs = procs.map_or_else(TokenStream::new, |procs| fill(set_procs, &[("PROCS", &procs.tokens)]));
    let set_std = match std {
        Some(std) if std.bool()? => "::gosched::park_std_waits().expect(\"std's waits can park\");",
        _ => "",
    };
    let set_threads = match threads {
        Some(threads) if threads.bool()? => {
            "::gosched::make_threads_goroutines().expect(\"threads can be goroutines\");"
        }
        _ => "",
    };
    // A function that never returns leaves code that isn't reached.
    let main = "BEFORE fn NAME() -> ::std::process::ExitCode {
        fn NAME() RETURNS BODY
        SET_STD
        SET_THREADS
        #[allow(unreachable_code)]
        ::gosched::run(|| { SET_PROCS ::std::process::Termination::report(NAME()) })
    }";
    let [set_std, set_threads] = [set_std, set_threads].map(|text| fill(text, &[]));
    let parts = [("SET_STD", &set_std), ("SET_THREADS", &set_threads), ("SET_PROCS", &set_procs)];
    Ok(function.fill(main, &parts))
}

/// Makes a test that runs the function. If the function returns nothing, neither does the test, as
/// `#[should_panic]` requires.
fn run_test(options: TokenStream, function: &Function) -> Result<TokenStream, Error> {
    function.is_no_test_yet()?;
    let [timeout, leaks] = Options::parse(options)?.named(["timeout", "leaks"])?;
    let mut settings = String::new();
    if let Some(timeout) = timeout {
        settings += &format!(".timeout(::std::time::Duration::from_millis({}))", timeout.millis()?);
    }
    if let Some(leaks) = leaks {
        settings += &format!(".leaks({})", leaks.bool()?);
    }
    let (returns, body) = if matches!(&*function.returns.to_string(), "" | "-> ()") {
        ("", "NAME")
    } else {
        ("-> ::std::process::ExitCode", "|| ::std::process::Termination::report(NAME())")
    };
    let test = format!(
        "#[::core::prelude::v1::test] BEFORE fn NAME() {returns} {{
            fn NAME() RETURNS BODY
            ::gosched::testing::Test::new(::core::stringify!(NAME)){settings}.run({body})
        }}"
    );
    Ok(function.fill(&test, &[]))
}
