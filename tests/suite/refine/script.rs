//! A library with one kernel, and a program that answers for it as a script says.

use std::path::PathBuf;
use std::process::Command;

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

/// Keeps what it is asked, and answers the same to the same prompt. An answer that is recorded must not be asked for again.
const PROGRAM: &str = r#"
import os, sys
folder = sys.argv[1]
prompt = sys.stdin.read()
number = 1
while os.path.exists(f"{folder}/asked-{number}.md"):
    if open(f"{folder}/asked-{number}.md").read() == prompt:
        break
    number += 1
else:
    with open(f"{folder}/part", "w") as file:
        file.write(prompt)
    os.rename(f"{folder}/part", f"{folder}/asked-{number}.md")
forbidden = f"{folder}/forbidden"
if os.path.exists(forbidden) and number <= int(open(forbidden).read()):
    sys.exit(9)
with open(f"{folder}/asks", "a") as file:
    file.write(f"{number}\n")
sys.stdout.write(open(f"{folder}/answer-{number}.md").read())
"#;

/// Sums of squares of rows, in so many lanes.
pub(super) fn lanes(count: usize) -> String {
    SOURCE.replace("LANES", &count.to_string())
}

const SOURCE: &str = r#"// contract:
// steps = [{ entry = "@ENTRY@", args = ["ptr(x)", "ptr(y)", "axis(m)", "axis(k)"] }]
#include <cstdint>
extern "C" __attribute__((visibility("default"), externally_visible)) void @ENTRY@(void** params) {
  const float* x = *static_cast<const float**>(params[0]);
  float* y = *static_cast<float**>(params[1]);
  const int64_t m = *static_cast<const int64_t*>(params[2]), k = *static_cast<const int64_t*>(params[3]);
  for (int64_t i = 0; i < m; ++i) {
    float lanes[LANES] = {}, sum = 0;
    const float* row = x + i * k;
    int64_t at = 0;
    for (; at + LANES <= k; at += LANES)
      for (int lane = 0; lane < LANES; ++lane) lanes[lane] += row[at + lane] * row[at + lane];
    for (; at < k; ++at) sum += row[at] * row[at];
    for (int lane = 0; lane < LANES; ++lane) sum += lanes[lane];
    y[i] = sum;
  }
}
"#;

/// The same kernel four times over: slower than any other, however busy the machine is.
fn slow(source: &str) -> String {
    let rows = "  for (int64_t i = 0; i < m; ++i) {";
    source.replace(
        rows,
        &format!("  volatile int turns = 4;\n  for (int turn = 0; turn < turns; ++turn)\n{rows}"),
    )
}

pub(super) fn fenced(source: &str) -> String {
    format!("Here it is.\n\n```cpp\n{source}```\n")
}

pub(super) fn edit(old: &str, new: &str) -> String {
    format!("```edit\n<<<<<<< old\n{old}\n=======\n{new}\n>>>>>>> new\n```\n")
}

pub(super) fn optimised(predicted: &str, count: usize) -> String {
    optimised_by(predicted, count, &lanes(count))
}

/// The same with a kernel that is no gain.
pub(super) fn loses(predicted: &str, count: usize) -> String {
    optimised_by(predicted, count, &slow(&lanes(count)))
}

fn optimised_by(predicted: &str, count: usize, source: &str) -> String {
    let remarks =
        format!("Hypothesis: {count} lanes hide latency.\nPredicted: {predicted}\nHints: h30, h99\n");
    format!("{remarks}\n{}", fenced(source))
}

/// The program's answers in order: a contract that names no tensor, a name that is declared nowhere, an edit of what is not
/// there, a row's last element left out, the same kernel again, a gain, losses, and a file that is read.
pub(super) fn answers() -> Vec<String> {
    let tail = "    for (; at < k; ++at) sum += row[at] * row[at];";
    let short = tail.replace("at < k;", "at < k - 1;");
    let remark = lanes(4).replace("  for (int64_t i", "  // rows\n  for (int64_t i");
    let reads = slow(&lanes(6)).replace("#include <cstdint>", "#include <cstdint>\n#include <fstream>");
    vec![
        fenced(&lanes(4).replace("ptr(x)", "ptr(z)")),
        fenced(&lanes(4).replace("sum = 0;", "sum = zero;")),
        "`zero` is declared nowhere: begin the sum with 0.\n".to_owned(),
        edit("    float lanes[4] = {}, total = zero;", "    float lanes[4] = {}, sum = 0;"),
        fenced(&lanes(4).replace(tail, &short)),
        "The tail leaves out the last element of a row.\n".to_owned(),
        edit(&short, tail),
        fenced(&remark),
        optimised("2x", 32),
        loses("1.5x", 3),
        fenced(&reads),
        "Files are refused: take the include out.\n".to_owned(),
        edit("#include <cstdint>\n#include <fstream>", "#include <cstdint>"),
        loses("1.1x", 5),
    ]
}

/// A library of one kernel with its folder.
pub(super) struct Library {
    pub(super) folder: PathBuf,
}

impl Library {
    pub(super) fn new(name: &str) -> Self {
        Self::with(name, &answers())
    }

    /// Its program gives these answers.
    pub(super) fn with(name: &str, answers: &[String]) -> Self {
        install_toolchain();
        let folder = scratch(name);
        write(&folder.join("specs/squares.toml"), SPEC);
        write(&folder.join("program.py"), PROGRAM);
        for (number, answer) in (1..).zip(answers) {
            write(&folder.join(format!("answers/answer-{number}.md")), answer);
        }
        Self { folder }
    }

    /// The same library, with its runs, at another place.
    pub(super) fn copy(&self, name: &str) -> Self {
        let other = Self::new(name);
        for folder in ["cutegen-runs", "cutegen-exchange"] {
            let copied =
                Command::new("cp").arg("-r").arg(self.folder.join(folder)).arg(&other.folder).status();
            assert!(copied.expect("cp").success());
        }
        other
    }

    pub(super) fn cutegen(&self, args: &[&str]) -> Command {
        let mut command = cutegen(&self.folder.join("home"));
        command.current_dir(&self.folder).args(["--specs", "specs", "--cache", "cache"]).args(args);
        command
    }

    pub(super) fn command(&self, args: &[&str]) -> Ran {
        run(&mut self.cutegen(args))
    }

    /// A run with the scripted program, begun or gone on with.
    pub(super) fn refining(&self) -> Command {
        self.refining_with(&[])
    }

    /// The same with further arguments.
    pub(super) fn refining_with(&self, further: &[&str]) -> Command {
        let program = self.folder.join("program.py").display().to_string();
        let answers = self.folder.join("answers").display().to_string();
        let begin = ["refine", "squares", "--run", "scripted"];
        let ask = ["--", "python3", &program, &answers];
        self.cutegen(&[&begin[..], further, &ask[..]].concat())
    }

    pub(super) fn refine(&self) -> Ran {
        run(&mut self.refining())
    }

    pub(super) fn path_of(&self, run: &str) -> PathBuf {
        let runs = std::fs::read_dir(self.folder.join("cutegen-runs")).expect("runs");
        let folder = runs.map(|entry| entry.expect("an entry").path()).next().expect("a key");
        folder.join(format!("{run}.jsonl"))
    }

    /// Where prompts and answers of a run lie that has begun.
    pub(super) fn exchange(&self, run: &str) -> PathBuf {
        let key = self.path_of(run).parent().and_then(|folder| folder.file_name()).expect("a key").to_owned();
        self.folder.join("cutegen-exchange").join(key).join(run)
    }

    pub(super) fn log_path(&self) -> PathBuf {
        self.path_of("scripted")
    }

    pub(super) fn log_of(&self, run: &str) -> String {
        std::fs::read_to_string(self.path_of(run)).expect("a log")
    }

    /// The log; empty where the run has not begun.
    pub(super) fn log(&self) -> String {
        if !self.folder.join("cutegen-runs").is_dir() {
            return String::new();
        }
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Numbers of the answers that the program gave, in order.
    pub(super) fn asked(&self) -> Vec<usize> {
        let text = std::fs::read_to_string(self.folder.join("answers/asks")).expect("it was asked");
        text.lines().map(|line| line.parse().expect("a number")).collect()
    }

    /// What the program was asked, by the number of its answer.
    pub(super) fn prompt(&self, number: usize) -> String {
        std::fs::read_to_string(self.folder.join(format!("answers/asked-{number}.md"))).expect("it was asked")
    }

    /// From now on the program refuses to give these again: they are recorded.
    pub(super) fn forbid_below(&self, recorded: usize) {
        write(&self.folder.join("answers/forbidden"), &recorded.to_string());
    }
}

/// The entries of a log in words: `first`, `kernel`, `right 17`.
pub(super) fn decided(log: &str) -> Vec<String> {
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    whole.lines().skip(1).map(|line| entry(&serde_json::from_str(line).expect("an entry"))).collect()
}

fn entry(value: &Value) -> String {
    let text = |value: &Value| value.as_str().expect("a word").to_owned();
    if let Some(request) = value.get("request") {
        let about = request.get("about").map(|about| format!(" about {about}")).unwrap_or_default();
        return text(&request["ask"]) + &about;
    }
    if let Some(verdict) = value.get("verdict") {
        return format!("{} {}", text(&verdict["outcome"]), verdict["candidate"]);
    }
    if let Some(point) = value.get("point") {
        return format!("point of {}: {}", point["of"], content(&point["content"]));
    }
    content(&value["candidate"]["content"])
}

fn content(content: &Value) -> String {
    match content {
        Value::String(word) => word.clone(),
        Value::Object(content) => match content.get("repeat") {
            Some(repeat) => format!("repeat of {}", repeat["of"]),
            None => content.keys().next().expect("a word").clone(),
        },
        other => panic!("{other}"),
    }
}
