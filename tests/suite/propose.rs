//! `propose` as its users meet it: a kernel written by hand goes from a file to a verdict, a wrong one is told why, and what is
//! accepted is what `accept` brings into the package.

use std::path::PathBuf;

use cutegen_tests::{Ran, cutegen, install_toolchain, run, scratch, write};
use serde_json::Value;

const SPEC: &str = r#"
edition = 1
[kernels.squares]
axes = { m = "1..=512", k = "8..=512" }
inputs = { x = "f32[m, k]" }
outputs = { y = "f32[m]" }
math = "y[m] = sum(k, x[m, k] * x[m, k])"
workloads = [{ m = 512, k = 512 }]
targets = ["host"]
"#;

/// Sums of squares of rows, in so many lanes; the loop begins at the first element.
const SOURCE: &str = r#"// contract:
// steps = [{ entry = "@ENTRY@", args = ["ptr(x)", "ptr(y)", "axis(m)", "axis(k)"] }]
#include <cstdint>
extern "C" __attribute__((visibility("default"), externally_visible)) void @ENTRY@(void** params) {
  const float* x = *static_cast<const float**>(params[0]);
  float* y = *static_cast<float**>(params[1]);
  const int64_t m = *static_cast<const int64_t*>(params[2]), k = *static_cast<const int64_t*>(params[3]);
  for (int64_t i = 0; i < m; ++i) {
    float lanes[32] = {}, sum = 0;
    const float* row = x + i * k;
    int64_t at = 0;
    for (; at + 32 <= k; at += 32)
      for (int lane = 0; lane < 32; ++lane) lanes[lane] += row[at + lane] * row[at + lane];
    for (; at < k; ++at) sum += row[at] * row[at];
    for (int lane = 0; lane < 32; ++lane) sum += lanes[lane];
    y[i] = sum;
  }
}
"#;

/// Everything that it printed.
fn all(ran: &Ran) -> String {
    format!("{}\n{}", ran.stdout, ran.stderr)
}

struct Library {
    folder: PathBuf,
}

impl Library {
    fn new(name: &str) -> Self {
        install_toolchain();
        let folder = scratch(name);
        write(&folder.join("specs/squares.toml"), SPEC);
        Self { folder }
    }

    fn command(&self, args: &[&str]) -> Ran {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(&self.folder).args(args).args(["--specs", "specs", "--cache", "cache"]);
        run(&mut command)
    }

    fn propose(&self, text: &str) -> (Ran, Value) {
        write(&self.folder.join("reply.md"), text);
        let ran = self.command(&["propose", "squares", "--source", "reply.md", "--by", "a test", "--json"]);
        let mut lines = ran.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let verdict = lines.rfind(|line| line.get("verdict").is_some()).unwrap_or(Value::Null);
        (ran, verdict)
    }
}

#[test]
fn a_kernel_by_hand_goes_from_a_file_to_the_package() {
    let library = Library::new("propose-accepted");
    let (ran, verdict) = library.propose(&format!("Here it is:\n\n```cpp\n{SOURCE}```\n"));
    assert_eq!((ran.code, verdict["verdict"].as_str()), (Some(0), Some("accepted")), "{}", all(&ran));
    let name = verdict["candidate"].as_str().expect("a name").to_owned();
    assert!(
        name.starts_with("m-") && verdict["speedup"].as_f64().is_some_and(|times| times > 1.01),
        "{verdict}"
    );
    let accepted = library.command(&["accept", "squares"]);
    assert!(accepted.code == Some(0) && all(&accepted).contains(&name), "{}", all(&accepted));
    let explained = library.command(&["explain", "squares"]);
    assert!(
        all(&explained).contains("submitted") && all(&explained).contains("by a test"),
        "{}",
        all(&explained)
    );
    let rebuilt = library.command(&["verify", "--rebuild"]);
    assert_eq!(rebuilt.code, Some(0), "what is stored needs no kit: {}", all(&rebuilt));
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_accepted() {
    let library = Library::new("propose-wrong");
    let told = |from: &str, to: &str| {
        assert!(SOURCE.contains(from), "{from}");
        let (ran, verdict) = library.propose(&format!("```\n{}```\n", SOURCE.replacen(from, to, 1)));
        assert_eq!(ran.code, Some(1), "{}", all(&ran));
        (all(&ran), verdict)
    };
    // a compiler's line is that of the reply: line 1 is the fence
    let (said, verdict) = told("float lanes[32] = {}, sum = 0;", "float lanes[32] = {}, sum = zero;");
    assert_eq!(verdict["diagnostics"][0]["line"], 10, "{said}");
    let (said, verdict) = told("#include <cstdint>", "#include <fstream>");
    assert_eq!(
        (verdict["verdict"].as_str(), verdict["diagnostics"][0]["line"].as_u64()),
        (Some("refused"), Some(4)),
        "{said}"
    );
    let (said, verdict) = told("for (; at < k; ++at) sum", "for (; at < k - 1; ++at) sum");
    assert_eq!(verdict["verdict"], "wrong", "{said}");
    let (said, verdict) = told("ptr(x)", "ptr(z)");
    assert!(said.contains("line 3: `ptr(z)` is no argument") && verdict.is_null(), "{said}");
    let explained = library.command(&["explain", "squares"]);
    assert!(!all(&explained).contains("submitted"), "{}", all(&explained));
}

#[test]
fn a_prompt_is_written_for_who_is_to_answer() {
    let library = Library::new("propose-prompt");
    let ran = library.command(&["propose", "squares", "--prompt", "prompt.md"]);
    assert!(ran.ok, "{}", all(&ran));
    let prompt = std::fs::read_to_string(library.folder.join("prompt.md")).expect("a prompt");
    for told in [
        "y[m] = sum(k, x[m, k] * x[m, k])",
        "axis m = 1..=512",
        "void @ENTRY@(void** params)",
        "kit/host.hpp",
    ] {
        assert!(prompt.contains(told), "no {told} in\n{prompt}");
    }
}
