//! A process that writes to a store, for tests that race and kill it.
//!
//! `store-writer put ROOT SALT BYTES` waits for a line on stdin, puts one answer, and prints what came of it and what
//! it then reads. `store-writer loop ROOT FIRST BYTES` prints `ready` and replaces the entry until killed.

use std::io::{self, BufRead as _};
use std::process::ExitCode;

use cutegen_build::store::{Lookup, Store};
use cutegen_tests::store_sample::Sample;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["put", root, salt, bytes] => {
            let mut line = String::new();
            let _ = io::stdin().lock().read_line(&mut line);
            put(&Store::new(*root), number(salt), number(bytes));
            ExitCode::SUCCESS
        }
        ["loop", root, first, bytes] => forever(&Store::new(*root), number(first), number(bytes)),
        _ => {
            eprintln!("usage: store-writer put|loop ROOT SALT BYTES");
            ExitCode::from(2)
        }
    }
}

fn put(store: &Store, salt: u64, bytes: u64) {
    let sample = sample(salt, bytes);
    match sample.put(store) {
        Ok(put) => println!("put: {put:?}"),
        Err(error) => println!("error: {}", error.to_string().replace('\n', " | ")),
    }
    match store.get_full(&sample.record.key) {
        Lookup::Hit(entry) => println!("get: hit {}", entry.record.variants[0].origin),
        Lookup::Miss => println!("get: miss"),
        Lookup::Corrupt(bad) => println!("get: corrupt {bad}"),
    }
}

fn forever(store: &Store, first: u64, bytes: u64) -> ! {
    let samples: Vec<Sample> = (first..first + 4).map(|salt| sample(salt, bytes)).collect();
    println!("ready");
    loop {
        for sample in &samples {
            if let Err(error) = sample.put(store) {
                println!("error: {error}");
            }
        }
    }
}

fn sample(salt: u64, bytes: u64) -> Sample {
    Sample::new(64, salt, usize::try_from(bytes).expect("a size"))
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}
