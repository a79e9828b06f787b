//! Writes `results/README.md` from `results/raw/`: `cargo run -p cutegen-tests --bin results`.

use std::fs;

use cutegen_tests::{results, workspace};

fn main() -> Result<(), String> {
    let root = workspace();
    let text = results::render(&results::read(&root)?, &root)?;
    fs::write(root.join(results::PAGE), text).map_err(|error| format!("{}: {error}", results::PAGE))
}
