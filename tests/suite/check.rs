//! What `check`, `explain` and `run` say of kernels that are locked and right: warnings of defaults and of what was never judged, and
//! hints that name a command only where it helps.

use std::path::PathBuf;
use std::process::Command;

use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, write};
use serde_json::Value;

/// Two run-time axes and no workloads; a product too dear for the reference at its workload; scores that the naive kernel
/// keeps in its workspace; integers, which no template fills.
const SPECS: &str = "edition = 1
[kernels.open]
axes = { m = '1..=8192', n = '1..=64' }
inputs = { x = 'f32[m, n]' }
outputs = { y = 'f32[m, n]' }
math = 'y[m, n] = x[m, n] + 1'
[kernels.product]
axes = { m = '1..=4096', n = 1536, k = 384 }
inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }
outputs = { y = 'f32[m, n]' }
math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'
workloads = [{ m = 1 }, { m = 4096 }]
[kernels.counts]
axes = { n = '1..=64' }
inputs = { x = 'i64[n]' }
outputs = { y = 'i64[n]' }
math = 'y[n] = x[n] + 1'
workloads = [{ n = 64 }]
[kernels.scores]
axes = { s = '1..=16384', t = 's', d = 32 }
inputs = { q = 'f32[s, d]', v = 'f32[s, d]' }
outputs = { y = 'f32[s, d]' }
math = '''
p[s, t] = softmax(t, sum(d, q[s, d] * q[t, d]))
y[s, d] = sum(t, p[s, t] * v[t, d])
'''
workloads = [{ s = 64 }, { s = 16384 }]
";

struct Library {
    folder: PathBuf,
}

impl Library {
    /// All kernels, locked.
    fn new(name: &str, specs: &str) -> Self {
        install_toolchain();
        let this = Self { folder: scratch(name) };
        write(&this.folder.join("specs/all.toml"), specs);
        must(&mut this.command(&["lock"]));
        this
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]);
        command
    }

    fn done(&self, args: &[&str]) -> Ran {
        must(&mut self.command(args))
    }
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no `{start}` in:\n{text}"))
}

#[test]
fn check_warns_of_default_workloads_and_of_large_workspaces() {
    let library = Library::new("check-warnings", SPECS);
    let ran = library.done(&["check"]);
    let undeclared = "warning: no workloads are declared, so only one is timed: ";
    assert_eq!(line(&ran.stdout, undeclared), format!("{undeclared}open at m=4096 n=64"));
    let large = line(&ran.stdout, "warning: workspace above 1 GiB at a workload: ");
    assert!(large.contains(": scores on host ") && large.ends_with(" GB at s=16384"), "{large}");

    let rows = library.done(&["check", "--json"]);
    let rows: Vec<Value> =
        rows.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |name: &str| rows.iter().find(|row| row["kernel"] == name).expect("a row");
    // 16384 times 16384 scores in f32 at least
    let bytes = of("scores")["workloads"][1]["workspace"].as_i64().expect("bytes");
    assert!(bytes >= 4 << 28, "{bytes}");
    assert_eq!(of("scores")["most-workspace"], bytes);
    assert_eq!(
        (&of("counts")["workloads"][0]["workspace"], &of("counts")["most-workspace"]),
        (&0.into(), &0.into())
    );
    assert_eq!(of("open")["workloads"][0]["is-declared"], false);
}

#[test]
fn a_workload_that_was_never_judged_is_warned_of() {
    let of_product = SPECS.split("[kernels.counts]").next().expect("the first part");
    let library = Library::new("check-judged", of_product);
    library.done(&["verify", "product", "--record"]);
    let ran = library.done(&["check", "product"]);
    // 4096 x 1536 x 384 multiply-adds are beyond what the host's reference may cost
    let told = line(&ran.stdout, "warning: judged at other shapes, and never at a workload: ");
    assert!(told.ends_with(": product/naive on host at m=4096"), "m = 1 was judged: {told}");
    assert!(
        ran.stdout.contains("cargo cutegen run NAME --axes AXIS=N --random 1 --compare reference"),
        "{}",
        ran.stdout
    );
    let explained = library.done(&["explain", "product"]);
    line(&explained.stdout, "warning: naive: judged at other shapes, and never at a workload: m=4096");
}

#[test]
fn a_hint_names_tune_only_where_a_template_is() {
    let library = Library::new("check-hints", SPECS);
    let run_it = |name: &str, axes: &str| {
        library.done(&["run", name, "--random", "3", "--axes", axes, "--compare", "reference"]).stdout
    };
    let why = "nothing is tuned: no template fills this: tensor `x` is i64";
    let told = run_it("counts", "n=7");
    assert!(told.contains(why) && !told.contains("cutegen tune"), "{told}");
    let told = run_it("open", "m=5,n=3");
    assert!(told.contains("to search: cargo cutegen tune open"), "{told}");
    // the verdict comes first
    let verdict = line(&told, "   y against the f64 reference: within bound: ");
    let share =
        verdict.split("within bound: ").nth(1).and_then(|rest| rest.split(" %").next()).expect(verdict);
    assert!(share.parse::<f64>().is_ok_and(|share| (0.0..=100.0).contains(&share)), "{verdict}");

    let ran = run(&mut library.command(&["check", "counts", "--tuned"]));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("no template fills this: tensor `x` is i64")
            && !ran.stderr.contains("cutegen tune"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_moved_range_is_told_with_the_name_of_its_axis() {
    let library = Library::new("check-axes", SPECS);
    write(
        &library.folder.join("specs/all.toml"),
        &SPECS.replace(
            "n = '1..=64' }\ninputs = { x = 'f32[m, n]' }",
            "n = '1..=32' }\ninputs = { x = 'f32[m, n]' }",
        ),
    );
    let ran = run(&mut library.command(&["check", "open"]));
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let moved = "axes: locked `m = 1..=8192 by 1; n = 1..=64 by 1`, now `m = 1..=8192 by 1; n = 1..=32 by 1`";
    assert!(ran.stderr.contains(moved), "{}", ran.stderr);
}
