//! Locks of this version, of the one before, and of later ones.

use super::{Lock, Locked, State, v1};
use crate::digest::CacheKey;
use crate::edition;
use crate::key::Question;
use crate::record::{GATE, Record};
use crate::settings::Settings;
use crate::target::Target;
use crate::unread::Unread;

/// `y[m] = relu(x[m])` for the host, searched, as the present version has it.
fn record() -> String {
    let text = "edition = 1\n[kernels.relu]\naxes = { m = '1..=64' }\ninputs = { x = 'f32[m]' }\n\
                outputs = { y = 'f32[m]' }\nmath = 'y[m] = relu(x[m])'\n";
    let kernels = edition::spec_file(text, &Settings::default()).into_kernels().expect("right specs");
    let question = Question::new(&kernels[0], &Target::host());
    let variant = |name: &str, kind: &str, digit: &str| {
        let digest = digit.repeat(64);
        format!(
            "[[variants]]\nname = \"{name}\"\nkind = \"{kind}\"\neligibility = \"true\"\nprefer = \"true\"\n\
             origin = \"test\"\ntoolchain = \"c++\"\n\
             artifact = {{ file = \"{name}.o\", artifact = \"{digest}\", stored = \"{digest}\", bytes = 8 }}\n\
             source = {{ file = \"{name}.cpp\", digest = \"{digest}\" }}\n\
             [[variants.contract.steps]]\nentry = \"k\"\ngrid = [\"1\", \"1\", \"1\"]\n\
             block = [\"1\", \"1\", \"1\"]\nargs = [\"ptr(t0)\", \"ptr(t1)\"]\n"
        )
    };
    let question_text = toml::to_string(&question).expect("prints");
    format!(
        "version = 2\nkey = \"{}\"\n[question]\n{question_text}{}{}",
        question.key(),
        variant("fast", "tuned", "1"),
        variant("naive", "naive", "0")
    )
}

fn parsed(text: &str) -> Record {
    Record::parse(text).unwrap_or_else(|unread| panic!("{unread}\n{text}"))
}

#[test]
fn a_record_re_sealed_is_not_the_pinned_one() {
    let text = record();
    let locked = Locked::pin("relu", "host", &parsed(&text));
    assert!(locked.matches(&parsed(&text)));
    for (from, to) in [
        ("\"ptr(t0)\", \"ptr(t1)\"", "\"ptr(t1)\", \"ptr(t0)\""),
        ("eligibility = \"true\"", "eligibility = \"a0 % 8 == 0\""),
        ("prefer = \"true\"", "prefer = \"a0 >= 2\""),
        ("prefer = \"true\"", "prefer = \"true\"\ntiles = [\"a0 by 8\"]"),
    ] {
        let other = text.replacen(from, to, 1);
        assert!(other != text && !locked.matches(&parsed(&other)), "{to}");
    }
    let state = Locked { state: super::State::Untuned, ..locked };
    assert!(!state.matches(&parsed(&text)), "the state is what the variants say");
}

/// The record with its first variant predicted, and with these lines of evidence.
fn predicted(evidence: &str) -> String {
    let text = record().replacen("\"tuned\"", "\"predicted\"", 1);
    let begin = "[variants.evidence]\ndevice = \"host x86_64\"\nseed = 1\nshapes = []\ndistributions = []\n\
                 elements = 1\nworst-share = 0.5\nrepeats = 1\nsanitizer = \"none\"\n";
    let evidence = if evidence.is_empty() { String::new() } else { format!("{begin}{evidence}") };
    let (head, naive) = text.rsplit_once("[[variants]]\n").expect("the naive kernel");
    format!("{head}{evidence}[[variants]]\n{naive}")
}

#[test]
fn a_predicted_variant_is_another_than_a_tuned_one() {
    let (tuned, predicted) = (parsed(&record()), parsed(&predicted("")));
    let locked = |record| Locked::pin("relu", "host", record);
    assert_eq!((locked(&tuned).state, locked(&predicted).state), (State::Tuned, State::Predicted));
    let called_predicted = Locked { state: State::Predicted, ..locked(&tuned) };
    for pinned in [locked(&predicted), called_predicted] {
        assert!(!pinned.matches(&tuned), "its kind is pinned");
    }
    let mut lock = Lock::default();
    lock.set(locked(&predicted));
    let text = lock.to_toml().expect("prints");
    assert!(text.contains("state = \"predicted\""), "{text}");
    assert_eq!(Lock::parse(&text), Ok(lock));
}

#[test]
fn a_predicted_variant_is_dispatched_once_it_is_judged() {
    let names = |evidence: &str| -> Vec<String> {
        parsed(&predicted(evidence)).dispatched().variants.into_iter().map(|variant| variant.name).collect()
    };
    assert_eq!(names(""), ["naive"]);
    assert_eq!(names(&format!("gate = {}\n", GATE + 1)), ["naive"], "no gate that is known here");
    assert_eq!(names(&format!("gate = {GATE}\n")), ["fast", "naive"]);
    let whole = parsed(&record());
    assert_eq!(whole.dispatched(), whole, "a tuned one waits for nothing");
}

#[test]
fn a_predicted_variant_has_no_time_and_stands_beside_no_tuned_one() {
    let refused = |text: &str| match Record::parse(text) {
        Err(Unread::Wrong(why)) => why,
        other => panic!("{other:?}"),
    };
    let timed = format!(
        "gate = {GATE}\n[[variants.evidence.timings]]\nmicros = 1.0\nincumbent = \"naive\"\nspeedup = 2.0\nlow = 1.9\n\
         high = 2.1\nsamples = 30\n[variants.evidence.timings.workload]\nm = 7\n"
    );
    assert_eq!(refused(&predicted(&timed)), "variant `fast` is predicted, and has a time");
    let tuned = predicted(&timed).replacen("\"predicted\"", "\"tuned\"", 1);
    assert!(parsed(&tuned).is_tuned());
    let (head, naive) = tuned.rsplit_once("[[variants]]\n").expect("the naive kernel");
    let (_, fast) =
        record().split_once("[[variants]]\n").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two");
    let fast = fast.rsplit_once("[[variants]]\n").expect("the naive kernel").0;
    let other = fast
        .replace("fast", "other")
        .replace("\"tuned\"", "\"predicted\"")
        .replace(&"1".repeat(64), &"2".repeat(64));
    let both = format!("{head}[[variants]]\n{other}[[variants]]\n{naive}");
    assert_eq!(refused(&both), "an entry with tuned variants has predicted ones");
}

#[test]
fn a_lock_of_version_1_is_read_by_a_migration_alone() {
    let record = parsed(&record());
    let mut lock = Lock::default();
    lock.set(Locked::pin("relu", "host", &record));
    let text = lock.to_toml().expect("prints");
    assert_eq!(Lock::parse(&text), Ok(lock));
    assert_eq!(v1::Lock::parse(&text), Ok(None));
    let pins = |line: &&str| !line.starts_with("variant = ");
    let old =
        text.lines().filter(pins).collect::<Vec<_>>().join("\n").replacen("version = 2", "version = 1", 1);
    assert_eq!(Lock::parse(&old), Err(Unread::Old { what: "lock" }));
    let old = v1::Lock::parse(&old).expect("read").expect("of version 1");
    assert!(old.kernels[0].matches(&record));
    let mut other = record;
    other.variants.reverse();
    assert!(!old.kernels[0].matches(&other));
}

#[test]
fn what_a_later_version_adds_is_refused_by_its_name() {
    let text = record();
    for (from, to, name) in [
        ("kind = \"tuned\"", "kind = \"guessed\"", "`guessed`"),
        ("origin = \"test\"", "origin = \"test\"\nmodel = \"m\"", "`model`"),
        ("\"ptr(t0)\"", "\"im2col(t0, 64)\"", "`im2col(t0, 64)`"),
        ("\"ptr(t0)\"", "\"word(a0)\"", "`word(a0)`"),
        ("entry = \"k\"", "entry = \"k\"\nlaunch-attribute = 1", "`launch-attribute`"),
        (
            "[[variants.contract.steps]]",
            "[variants.contract]\nworkspace = [{ bytes = \"4\", initial = \"kept-alive\" }]\n[[variants.contract.steps]]",
            "`kept-alive`",
        ),
        ("version = 2", "version = 3", "record version 3"),
    ] {
        let later = text.replacen(from, to, 1);
        assert_ne!(later, text, "{to}");
        let Err(unread) = Record::parse(&later) else { panic!("{to} is read") };
        assert!(matches!(unread, Unread::Newer(_)), "{to}: {unread:?}");
        let told = unread.to_string();
        assert!(told.contains(name) && told.contains("a newer one may"), "{told}");
    }
    let later = "version = 2\nsigned-by = \"me\"\n";
    let told = Lock::parse(later).expect_err("a field of later").to_string();
    assert!(told.contains("line 2: unknown field `signed-by`"), "{told}");
}

#[test]
fn a_record_that_passes_something_off_is_refused() {
    let text = record();
    let of = |digit: &str| digit.repeat(64);
    for (from, to, told) in [
        ("name = \"fast\"", "name = \"naive\"".to_owned(), "two variants are named"),
        ("name = \"fast\"", "name = \"NAIVE\"".to_owned(), "two variants are named"),
        (&of("1"), of("0"), "are one kernel, called naive and not"),
        ("\"fast.o\"", "\"fast.o.zst\"".to_owned(), "whose objects are not compressed"),
        ("stored = \"1", "stored = \"2".to_owned(), "yet its two digests differ"),
        ("bytes = 8", "bytes = 67108865".to_owned(), "more than the 67108864 allowed"),
        ("\"fast.o\"", "\"../fast.o\"".to_owned(), "outside its entry"),
    ] {
        let other = text.replace(from, &to);
        assert_ne!(other, text, "{to}");
        let unread = Record::parse(&other).map(|_| ()).expect_err(told);
        assert!(unread.to_string().contains(told), "{told}: {unread}");
    }
    let edge = text.replacen("bytes = 8", "bytes = 67108864", 1);
    assert!(Record::parse(&edge).is_ok());
}

fn locked(number: usize, target: &str) -> Locked {
    let key = CacheKey::parse(&format!("{number:064x}")).expect("a key");
    let name = format!("k{number}");
    Locked { name, target: target.to_owned(), key, state: State::Untuned, variants: Vec::new() }
}

/// In whatever order they come, by `set` or in a file that a merge left unsorted.
#[test]
fn kernels_are_found_and_stay_sorted() {
    let mut lock = Lock::default();
    for number in [3, 1, 20, 2, 11, 1] {
        ["sm_90a", "host"].iter().for_each(|target| lock.set(locked(number, target)));
    }
    let names: Vec<_> = lock.kernels.iter().map(|k| (k.name.as_str(), k.target.as_str())).collect();
    let sorted = ["k1", "k11", "k2", "k20", "k3"].map(|name| [(name, "host"), (name, "sm_90a")]);
    assert_eq!(names, sorted.concat());
    let text = lock.to_toml().expect("prints");
    lock.kernels.reverse();
    let read = Lock::parse(&lock.to_toml().expect("prints")).expect("parses");
    assert_eq!(read.to_toml().as_ref(), Ok(&text));
    for number in [1, 2, 3, 11, 20] {
        assert_eq!(read.get(&format!("k{number}"), "host"), Some(&locked(number, "host")));
    }
    assert_eq!((read.get("k4", "host"), read.get("k1", "sm_80")), (None, None));
}
