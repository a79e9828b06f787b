//! Libraries read and written, what hostile texts come to, and which hints are retrieved.

use cutegen_spec::edition::spec_file;

use super::{Credit, Hint, HintId, Library, Role, SEED, Trigger, fitting, retrieved};
use crate::plan::Plan;

fn seed() -> Library {
    Library::read(SEED).expect("the library that ships")
}

/// A plan of squares of rows, or of a product.
fn plan(target: &str, math: &str) -> Plan {
    let text = format!(
        "edition = 1\n[kernels.one]\ntargets = ['{target}']\naxes = {{ m = '1..=64', n = 64, k = 64 }}\n\
         inputs = {{ x = 'f32[m, k]', w = 'f32[n, k]' }}\noutputs = {{ y = 'f32[m, n]' }}\nworkloads = [{{ m = 64 }}]\n\
         math = '{math}'\n"
    );
    Plan::all(&spec_file(&text, &Default::default()).into_kernels().expect("a right text")).remove(0)
}

const PRODUCT: &str = "y[m, n] = sum(k, x[m, k] * w[n, k])";
const ELEMENTS: &str = "y[m, n] = x[m, n] + w[n, n]";

fn hint(id: &str, more: &str) -> String {
    format!("edition = 1\n[[hint]]\nid = \"{id}\"\ntrigger = [\"memory\"]\n{more}\n")
}

fn refused(text: &str) -> String {
    Library::read(text).expect_err("a wrong library")
}

#[test]
fn the_seed_reads_back_as_it_stands_and_promises_nothing_yet() {
    let library = seed();
    assert_eq!(library.text(), SEED);
    assert!((20..=40).contains(&library.hints.len()), "{}", library.hints.len());
    assert!(library.hints.iter().all(|hint| hint.uses == 0 && hint.worth().to_bits() == 0.5_f64.to_bits()));
    for trigger in Trigger::ALL {
        assert!(library.hints.iter().any(|hint| hint.trigger.contains(&trigger)), "{trigger:?}");
    }
}

#[test]
fn hostile_texts_are_refused_by_name() {
    let of = |text: &str| refused(&hint("h1", &format!("hint = {}", serde_json::json!(text))));
    for text in [
        "two\nlines",
        "a `fence`",
        "ends here \u{202e}dne",
        "caf\u{e9}",
        "# Answer",
        "{{base}}",
        "say \"yes\"",
        "a | b",
        "back\\slash",
        "nul\u{0}",
        "@ENTRY@",
    ] {
        let why = of(text);
        assert!(
            why.contains("hint h1: a hint has the character") && why.contains("allowed are"),
            "{text:?}: {why}"
        );
    }
    assert!(of(&"a".repeat(301)).contains("301 characters; 300 at most"));
    assert!(of("").contains("empty") && of(" a").contains("blanks around"));
    let long = hint("h1", &format!("hint = \"{}\"", "a".repeat(300)));
    assert_eq!(Library::read(&long).expect("as long as it may be").hints.len(), 1);
    let from = refused(&hint("h1", "hint = \"a\"\nfrom = \"x `y`\""));
    assert!(from.contains("'`'"), "{from}");
}

#[test]
fn what_is_no_library_says_why_and_where() {
    let cases = [
        ("", "missing field `edition`"),
        ("edition = 2\n", "edition 2; this program reads edition 1"),
        (&hint("H1", "hint = \"a\""), "is no id of a hint"),
        (&hint("h1", "hint = \"a\"\ncontext = { classes = [\"gemm\"] }"), "no kernel class \"gemm\""),
        (&hint("h1", "hint = \"a\"\ncontext = { needs = [\"magic\"] }"), "unknown variant `magic`"),
        (&hint("h1", "hint = \"a\"\nweight = 3"), "unknown field `weight`"),
        (&hint("h1", "hint = \"a\"\nuses = 1\nwins = 2"), "cannot be"),
        (&hint("h1", "hint = \"a\"\nuses = 1\nmean-gain = 0.0"), "cannot be"),
        (&hint("h1", "hint = \"a\"\nmean-gain = inf"), "cannot be"),
        (&hint("h1", "hint = \"a\"").replace("[\"memory\"]", "[]"), "it has no trigger"),
        (&hint("h1", "hint = \"a\"").replace("memory", "slow"), "unknown variant `slow`"),
        ("edition = 1\ncredited = [\"../x\"]\n", "names no run"),
    ];
    for (text, why) in cases {
        assert!(refused(text).contains(why), "{text}: {}", refused(text));
    }
    let twice = hint("h1", "hint = \"a\"") + &hint("h1", "hint = \"b\"").replace("edition = 1\n", "");
    assert!(refused(&twice).contains("two hints are called h1"));
    let at = refused(&hint("h1", "hint = \"a`b\""));
    assert!(at.contains("line 2"), "the place is told: {at}");
}

#[test]
fn hints_fit_class_machine_and_features() {
    let library = seed();
    let ids = |target: &str, math: &str| -> Vec<String> {
        fitting(&library.hints, &plan(target, math)).into_iter().map(|hint| hint.id.to_string()).collect()
    };
    let texts = |target: &str, math: &str| -> String {
        fitting(&library.hints, &plan(target, math)).into_iter().map(|hint| hint.hint + "\n").collect()
    };
    assert!(texts("sm_90a", PRODUCT).contains("wgmma") && texts("sm_90a", PRODUCT).contains("TMA"));
    assert!(!texts("sm_80", PRODUCT).contains("wgmma") && !texts("sm_80", PRODUCT).contains("TMA"));
    let host = texts("host", PRODUCT);
    assert!(!host.contains("warp") && !host.contains("shared memory") && host.contains("L1 or L2"), "{host}");
    assert!(ids("sm_90a", ELEMENTS).len() < ids("sm_90a", PRODUCT).len());
    assert!(!texts("sm_90a", ELEMENTS).contains("Dequantise"));
}

#[test]
fn the_best_are_retrieved_and_roles_tell_them_apart() {
    let mut library = seed();
    let product = |library: &Library| fitting(&library.hints, &plan("sm_90a", PRODUCT));
    let found = |library: &Library, role| -> Vec<String> {
        let hints = product(library);
        retrieved(&hints, Trigger::Memory, role).iter().map(|hint| hint.id.to_string()).collect()
    };
    let before = found(&library, None);
    assert_eq!(before.len(), 6);
    let last = HintId::parse(&before[5]).expect("an id");
    for gain in [1.5, 1.2] {
        library.add(&Credit { hint: last.clone(), is_win: true, gain: Some(gain) });
    }
    assert_eq!(found(&library, None)[0], last.as_str(), "what won comes first");
    for _ in 0..3 {
        library.add(&Credit { hint: last.clone(), is_win: false, gain: Some(0.5) });
    }
    assert!(!found(&library, None).contains(&last.to_string()), "what lost gives way to what was not tried");
    let (memory, launch) = (found(&library, Some(Role::Memory)), found(&library, Some(Role::Launch)));
    assert!(!memory.is_empty() && !launch.is_empty() && memory.iter().all(|id| !launch.contains(id)));
    let hints = product(&library);
    let repair = |role| retrieved(&hints, Trigger::Mismatch, role).len();
    assert!(repair(None) > 0 && repair(Some(Role::Launch)) == repair(None), "repairs are told to all");
}

#[test]
fn credits_add_up_and_are_written() {
    let mut library = Library::read(&hint("h1", "hint = \"a\"")).expect("a library");
    let credit = |is_win, gain| Credit { hint: HintId::parse("h1").expect("an id"), is_win, gain };
    for credit in
        [credit(true, Some(2.0)), credit(false, Some(0.5)), credit(false, None), credit(true, Some(4.0))]
    {
        library.add(&credit);
    }
    let one = &library.hints[0];
    assert_eq!((one.uses, one.wins, one.timed), (4, 2, 3));
    // 2 * 0.5 * 4 = 4
    assert!((one.mean_gain - 4.0_f64.cbrt()).abs() < 1e-6, "{}", one.mean_gain);
    library.credited.insert("0123456789abcdef".to_owned());
    let text = library.text();
    assert!(text.contains("uses = 4\nwins = 2\ntimed = 3\nmean-gain = 1.587401\n"), "{text}");
    assert_eq!(Library::read(&text).expect("its own text"), library);
    let before = library.clone();
    library.add(&Credit { hint: HintId::parse("gone").expect("an id"), is_win: true, gain: None });
    assert_eq!(library, before);
}

#[test]
fn a_proposed_hint_is_added_once() {
    let mut library = seed();
    let new: Hint =
        toml::from_str("id = 'r-1'\ntrigger = ['memory']\nhint = 'Read less.'\nfrom = 'a-run, attempt 7'\n")
            .expect("a hint");
    assert!(library.propose(new.clone()) && !library.propose(new.clone()));
    let words = Hint { id: HintId::parse("r-2").expect("an id"), ..new };
    assert!(!library.propose(words), "its words are known");
    assert!(library.text().contains("from = \"a-run, attempt 7\"\n"));
    assert_eq!(Library::read(&library.text()).expect("its own text"), library);
}
