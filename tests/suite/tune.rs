//! What `tune` tries and what it says: kernels without a template cost no time, a wrong naive kernel costs no candidate, and
//! progress names its phase.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, write};
use serde_json::Value;

/// No template fills integers.
const COUNTS: &str = "
[kernels.counts]
axes = { n = '1..=64' }
inputs = { x = 'i64[n]' }
outputs = { y = 'i64[n]' }
math = 'y[n] = x[n] + 1'
workloads = [{ n = 64 }]
";

const SHIFTED: &str = "
[kernels.shifted]
axes = { n = '1..=64' }
inputs = { x = 'f32[n]' }
outputs = { y = 'f32[n]' }
math = 'y[n] = x[n] + 1'
workloads = [{ n = 64 }, { n = 16 }]
";

/// Its template is several times as fast as its naive kernel.
const ROWS: &str = "
[kernels.rows]
axes = { m = '1..=16', d = 512 }
inputs = { x = 'f32[m, d]' }
outputs = { y = 'f32[m, d]' }
math = 'y[m, d] = softmax(d, x[m, d])'
workloads = [{ m = 16 }]
";

/// Compiles what the gate judges, but for naive kernels, in which it adds 2 instead of 1.
const COMPILER: &str = "#!/bin/sh
case \" $* \" in
*\" -c \"*) sed -i 's/acc(1\\.0)/acc(2.0)/' ./*.cpp ;;
esac
exec g++ \"$@\"
";

struct Library {
    folder: PathBuf,
}

impl Library {
    fn new(name: &str, kernels: &[&str]) -> Self {
        install_toolchain();
        let this = Self { folder: scratch(name) };
        write(&this.folder.join("specs/all.toml"), &format!("edition = 1\n{}", kernels.concat()));
        this
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]);
        command
    }

    /// `tune`, by a compiler that miscompiles naive kernels.
    fn tune_wrong(&self, args: &[&str]) -> Ran {
        let compiler = self.folder.join("bin/c++");
        write(&compiler, COMPILER);
        std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).expect("executable");
        run(self.command(&["tune"]).args(args).env("CXX", compiler))
    }
}

fn events(ran: &Ran) -> Vec<Value> {
    let event = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    ran.stdout.lines().map(event).collect()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == name).collect()
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

#[test]
fn kernels_without_a_template_are_skipped_with_the_reason() {
    let more = COUNTS.replace("counts]", "others]").replace("+ 1", "+ 2");
    let library = Library::new("tune-unfilled", &[COUNTS, &more]);
    let ran = must(&mut library.command(&["tune"]));
    for name in ["counts", "others"] {
        let told: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with(name)).collect();
        let why = "skipped: no template fills this: tensor `x` is i64: those of the host want floats of 16 bits and more";
        assert!(told.len() == 1 && told[0].ends_with(why), "{told:?}");
    }
    assert_eq!(last_line(&ran.stderr), "0 of 2 faster, 2 have no template");
    assert!(!library.folder.join("home/cutegen/store").exists(), "nothing was judged");

    let ran = must(&mut library.command(&["tune", "counts", "--judge-naive"]));
    assert!(
        ran.stderr.contains("judged naive in ") && ran.stderr.contains("in the user store: naive"),
        "{}",
        ran.stderr
    );
    let told = "0 of 1 faster, 1 has nothing faster than its naive kernel; next: cargo cutegen accept \
         --specs specs --cache cache";
    assert_eq!(last_line(&ran.stderr), told);
}

#[test]
fn a_wrong_naive_kernel_fails_by_its_facts_and_before_any_candidate() {
    let library = Library::new("tune-wrong", &[SHIFTED]);
    let ran = library.tune_wrong(&["--json"]);
    assert_eq!(ran.code, Some(1), "{}\n{}", ran.stdout, ran.stderr);
    let events = events(&ran);
    let judged = named(&events, "judged");
    assert!(judged.len() == 1 && judged[0]["candidate"] == "naive", "{judged:?}");
    let phases: Vec<&str> = named(&events, "progress").iter().filter_map(|e| e["phase"].as_str()).collect();
    assert_eq!(phases, ["judging-naive"], "no candidate is compiled");
    assert!(named(&events, "tried").is_empty());

    for wanted in ["output `y`, element [", ", at n=", " inputs: got ", ", want ", ", bound "] {
        assert!(ran.stderr.contains(wanted), "{wanted}: {}", ran.stderr);
    }
    assert_eq!(
        last_line(&ran.stderr),
        "judge it alone: cargo cutegen verify shifted --target host --specs specs --cache cache"
    );
    assert!(!ran.stderr.contains("toolchain"), "{}", ran.stderr);
}

#[test]
fn the_naive_kernel_is_judged_first_and_progress_names_its_phase() {
    let library = Library::new("tune-phases", &[COUNTS, ROWS]);
    let events = events(&must(&mut library.command(&["tune", "--json"])));
    let at = |name: &str| events.iter().position(|event| event["event"] == name).expect(name);
    assert_eq!(events[at("judged")]["candidate"], "naive");
    assert!(at("judged") < at("tried") && at("tried") < at("ranked"));
    in_order(&named(&events, "progress"));
    let counted = events.last().expect("a last line");
    let counts = ["of", "faster", "no-template"].map(|name| counted[name].as_u64());
    assert_eq!((&counted["event"], counts), (&"tuned".into(), [2, 1, 1].map(Some)));

    let ran = must(&mut library.command(&["tune"]));
    let told = "1 of 2 faster, 1 has no template";
    assert!(last_line(&ran.stderr).starts_with(told), "the answer of before: {}", ran.stderr);
    must(&mut library.command(&["accept"]));
    let ran = must(&mut library.command(&["tune"]));
    let told = "0 of 2 faster, 1 stays as locked, 1 has no template";
    assert_eq!(last_line(&ran.stderr), told, "it is accepted already");
}

/// Phases follow one another as a search does; within one, counts rise by one at most.
fn in_order(progress: &[&Value]) {
    let part = |event: &Value| {
        let number = |name: &str| event[name].as_u64().expect("a number");
        (event["phase"].as_str().expect("a phase").to_owned(), number("done"), number("of"))
    };
    let parts: Vec<(String, u64, u64)> = progress.iter().map(|event| part(event)).collect();
    let mut phases: Vec<&str> = parts.iter().map(|(phase, ..)| phase.as_str()).collect();
    phases.dedup();
    assert_eq!(phases[..2], ["judging-naive", "compiling"], "{parts:?}");
    assert!(phases.contains(&"screening") && phases.contains(&"timing"), "{parts:?}");
    assert!(phases.last() == Some(&"final-evaluation"), "{parts:?}");
    // compiling and screening take turns, candidate by candidate
    let turn = |phase: &str| if phase == "screening" { "compiling".to_owned() } else { phase.to_owned() };
    for pair in parts.windows(2) {
        let [(before, was, all), (phase, done, of)] = pair else { unreachable!("pairs") };
        assert!(done <= of, "{parts:?}");
        if turn(before) == turn(phase) && done > &0 {
            assert!(of == all && (*done == *was || *done == was + 1), "{pair:?}")
        } else {
            assert_eq!(*done, 0, "{pair:?}")
        }
    }
}

/// The same math over another domain: another question, and the same code.
#[test]
fn a_second_kernel_of_the_same_code_compiles_nothing() {
    let more = SHIFTED.replace("shifted]", "others]").replace("1..=64", "1..=128");
    let library = Library::new("tune-compiled", &[SHIFTED, &more]);
    let compiles = |kernel: &str| {
        let ran = must(library.command(&["tune", kernel, "--again"]).arg("--json"));
        let ranked = named(&events(&ran), "ranked")[0]["compiles"].clone();
        [ranked["made"].as_u64(), ranked["cached"].as_u64()].map(Option::unwrap_or_default)
    };
    let [made, cached] = compiles("shifted");
    assert!(made > 1 && cached == 0, "{made} {cached}");
    assert_eq!(compiles("others"), [0, made]);
    let show = |args: &[&str]| must(cutegen(&library.folder.join("home")).args(args)).stdout;
    let held = show(&["toolchain", "cache"]);
    assert!(held.starts_with(&format!("{made} compiles, ")) && held.contains("home/"), "{held}");
    assert!(show(&["toolchain", "cache", "--clear"]).ends_with("removed\n"));
    assert!(show(&["toolchain", "cache"]).starts_with("0 compiles, 0.0 MiB in "));
}
