//! example
fn main() {}
