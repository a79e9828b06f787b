//! Writes the pages of `results/` from `results/raw/`: `cargo run -p cutegen-tests --bin results`.

use std::fs;

use cutegen_tests::results::{self, Page};
use cutegen_tests::workspace;

fn main() -> Result<(), String> {
    let root = workspace();
    let rows = results::read(&root)?;
    for page in Page::ALL {
        let text = results::render(page, &rows, &root)?;
        fs::write(root.join(page.path()), text).map_err(|error| format!("{}: {error}", page.path()))?;
    }
    Ok(())
}
