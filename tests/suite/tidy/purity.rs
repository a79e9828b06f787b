//! The purity map: which files may touch the environment, children, the clock, the network, and which modules touch
//! nothing. Edit the tables here.

use super::Finding;
use super::source::{is_shipped, lines_with, shipped};

/// An effect, the words that betray it, and the files or folders (with `/`) of shipped code that own it.
struct Effect {
    name: &'static str,
    words: &'static [&'static str],
    owners: &'static [&'static str],
}

const EFFECTS: &[Effect] = &[
    Effect {
        name: "the environment",
        words: &["env::var", "env::var_os", "env::vars", "env::vars_os", "env::set_var", "env::remove_var"],
        owners: &["cargo-cutegen/src/", "cutegen-build/src/env.rs"],
    },
    Effect {
        name: "child processes",
        words: &["process::Command", "Command::new"],
        owners: &[
            "cargo-cutegen/src/",
            "cutegen-build/src/toolchain/cxx.rs",
            "cutegen-build/src/toolchain/install.rs",
            "cutegen-build/src/compile/",
            "cutegen-build/src/evaluate/",
            "cutegen-build/src/ask/",
            // the archiver
            "cutegen-build/src/emit/archive.rs",
            // the reference's compiler
            "cutegen-build/src/search/compiled.rs",
            // the judge
            "cutegen-build/src/search/judging/mod.rs",
        ],
    },
    Effect {
        name: "the clock",
        words: &["Instant::now", "SystemTime::now"],
        owners: &[
            "cargo-cutegen/src/",
            "cutegen-build/src/event.rs",
            // how long a search took
            "cutegen-build/src/search/mod.rs",
            "cutegen-build/src/search/naive.rs",
            // how long judging took, for the record
            "cutegen-build/src/search/verify.rs",
            "cutegen-build/src/search/final_evaluation.rs",
            "cutegen-build/src/search/final_evaluation/incumbent_set.rs",
            // how long a candidate held a device
            "cutegen-build/src/search/step/",
            "cutegen-build/src/compile/",
            "cutegen-build/src/evaluate/",
            "cutegen-build/src/model/client/",
            "cutegen-build/src/ask/",
        ],
    },
    Effect {
        name: "the network",
        words: &["TcpStream", "TcpListener", "UdpSocket", "reqwest::"],
        owners: &["cutegen-build/src/model/client/"],
    },
    Effect {
        name: "the end of the process",
        words: &["process::exit", "process::abort"],
        // commands, and workers that are the running binary re-executed
        owners: &["cargo-cutegen/src/main.rs", "cutegen-build/src/worker.rs"],
    },
];

/// Modules that turn values into values.
const PURE: &[&str] = &[
    "cutegen-spec/src/",
    "cutegen-build/src/plan",
    "cutegen-build/src/print",
    "cutegen-build/src/render",
    "cutegen-build/src/kit",
    "cutegen-build/src/experience",
    "cutegen-build/src/generate/answers",
    "cutegen-build/src/model/wire",
    "cutegen-build/src/strategy",
    "cutegen-build/src/refine",
    "cutegen-build/src/accept",
];
const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "fs::read",
    "fs::write",
    "std::env",
    "std::net",
    "std::process",
    "std::time",
    "std::thread",
    "println!",
    "eprintln!",
    "libloading",
    "cudarc",
];

/// An effect appears only in the files that own it.
pub(super) fn confined(path: &str, text: &str) -> Vec<Finding> {
    if !is_shipped(path) {
        return Vec::new();
    }
    let code = shipped(text);
    let foreign = EFFECTS.iter().filter(|effect| !effect.owners.iter().any(|owner| owns(owner, path)));
    let hits = foreign.flat_map(|effect| {
        let lines = effect.words.iter().flat_map(|word| lines_with(&code, word));
        let what =
            |line| Finding::new(line, format!("touches {}; see tests/suite/tidy/purity.rs", effect.name));
        lines.map(what).collect::<Vec<_>>()
    });
    hits.collect()
}

/// A pure module names nothing that reads or changes the world.
pub(super) fn pure(path: &str, text: &str) -> Vec<Finding> {
    if !is_shipped(path) || !PURE.iter().any(|module| path.starts_with(module)) {
        return Vec::new();
    }
    let code = shipped(text);
    let hits = IMPURE_WORDS
        .iter()
        .flat_map(|word| lines_with(&code, word).into_iter().map(move |line| (line, word)));
    hits.map(|(line, word)| Finding::new(line, format!("a pure module names `{word}`"))).collect()
}

fn owns(owner: &str, path: &str) -> bool {
    if owner.ends_with('/') { path.starts_with(owner) } else { path == owner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effect_is_found_outside_its_owners() {
        for effect in EFFECTS {
            for word in effect.words {
                let text = format!("//! Not {word} in docs.\nfn f() {{ std::{word}(); }}\n");
                assert!(!confined("cutegen-runtime/src/x.rs", &text).is_empty(), "{word}");
                let owner = effect.owners.last().expect("an effect has an owner");
                let inside = if owner.ends_with('/') { format!("{owner}x.rs") } else { (*owner).to_owned() };
                assert_eq!(confined(&inside, &text), [], "{word} in {inside}");
            }
        }
    }

    #[test]
    fn tests_may_have_effects() {
        assert_eq!(confined("tests/suite/x.rs", "fn f() { Command::new(x); }"), []);
        assert_eq!(
            confined("cutegen-build/src/x.rs", "#[cfg(test)]\nmod t { fn f() { Command::new(x); } }"),
            []
        );
    }

    #[test]
    fn an_impure_pure_module_is_found() {
        for word in IMPURE_WORDS {
            let text = format!("fn f() {{ {word}; }}");
            assert!(!pure("cutegen-spec/src/x.rs", &text).is_empty(), "{word}");
            assert!(!pure("cutegen-build/src/plan/x.rs", &text).is_empty(), "{word}");
            assert_eq!(pure("cutegen-build/src/store/x.rs", &text), []);
        }
    }
}
