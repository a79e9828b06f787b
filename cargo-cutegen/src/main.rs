//! cargo-cutegen
fn main() {}
