//! A program in Rust, linked as the settings say.

fn main() {
    gosched_links::check();
}
