//! A program that is linked in some way.

fn main() {
    gosched_links::check();
}
