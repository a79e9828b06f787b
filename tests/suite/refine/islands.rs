//! `islands` as its users meet it: two populations, a program that makes mistakes, and verified kernels to begin beside.

use std::process::Command;

use cutegen_tests::{cutegen, run, scratch, workspace, write};

use super::all;
use super::script::{Library, decided, edit, fenced, lanes, loses, optimised};

/// What a run of the scripted program comes to, entry by entry. Both islands are under way at once.
const DECISIONS: &[&str] = &[
    "first",
    "first",
    "kernel",
    "compiled 3",
    "right 3",
    "optimise about 3",
    "kernel",
    "compiled 7",
    "wrong 7",
    "diagnose about 7",
    "kernel",
    "compiled 11",
    "right 11",
    "optimise about 11",
    "words",
    "patch about 7",
    "kernel",
    "compiled 17",
    "right 17",
    "kernel",
    "compiled 20",
    "right 20",
    "optimise about 20",
    // the first island stagnates, and takes the kernel of the other one
    "optimise about 20",
    "kernel",
    "compiled 25",
    "right 25",
    "kernel",
    "compiled 28",
    "right 28",
    "accepted 11",
];

/// Slow, wrong, fast and built in another way, the fix of the wrong one in words, a loss, the fix in code, and losses.
fn answers() -> Vec<String> {
    let tail = "    for (; at < k; ++at) sum += row[at] * row[at];";
    let short = tail.replace("at < k;", "at < k - 1;");
    let apart = |source: String| source.replace("const float* row", "const float* __restrict row");
    vec![
        fenced(&lanes(2)),
        fenced(&lanes(4).replace(tail, &short)),
        apart(optimised("2x", 32)),
        "The tail leaves out the last element of a row.\nHints: h38\n".to_owned(),
        loses("1.1x", 3),
        edit(&short, tail),
        loses("1.1x", 5),
        loses("1.1x", 6),
    ]
}

#[test]
fn islands_look_at_each_other_and_take_from_each_other() {
    let library = Library::new("islands");
    for (number, answer) in (1..).zip(answers()) {
        write(&library.folder.join(format!("answers/answer-{number}.md")), &answer);
    }
    let path = |name: &str| library.folder.join(name).display().to_string();
    let (program, folder) = (path("program.py"), path("answers"));
    let settings = ["islands=2", "stagnation=1", "requests=8"].map(|setting| ["--set", setting]);
    let mut words = vec!["refine", "squares", "--run", "scripted", "--strategy", "islands"];
    words.extend(settings.iter().flatten());
    words.extend(["--", "python3", &program, &folder]);
    let ran = library.command(&words);
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(decided(&library.log()), DECISIONS);
    let told = |request: usize, word: &str| {
        let prompt = library.prompt(request);
        assert!(prompt.contains(word), "request {request} does not say `{word}`:\n{prompt}");
    };
    told(1, "Your part in this run is what is computed together");
    told(2, "Your part in this run is how bytes move");
    told(3, "# This round: what is computed together");
    told(4, "# Hints\n");
    told(5, "Attempt 3, another way (memory 0, compute 1, parallelism 0, of 0 to 3)");
    told(8, "Attempt 11, the best so far (memory 1, compute 1, parallelism 0, of 0 to 3)");
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));
    let taken = library.command(&["experience"]);
    assert!(taken.ok && all(&taken).contains("uses of hints in 1 runs"), "{}", all(&taken));
    let again = library.command(&["refine", "squares", "--run", "scripted", "--strategy", "refine"]);
    assert!(
        again.code == Some(2) && all(&again).contains("has its strategy and settings"),
        "{}",
        all(&again)
    );
    let other = library.command(&["refine", "squares", "--run", "b", "--strategy", "alone"]);
    assert!(other.code == Some(2) && all(&other).contains("there are: refine, "), "{}", all(&other));
}

/// Sums of squares of rows, by a block of so many threads each.
pub(super) fn on_device(threads: usize) -> String {
    let contract = format!(
        "// contract:\n// steps = [{{ entry = \"@ENTRY@\", grid = [\"m\"], block = [{threads}], \
         args = [\"ptr(x)\", \"ptr(y)\", \"axis(k)\"] }}]\n"
    );
    format!(
        "{contract}#include <kit/reduce.cuh>\n\
         extern \"C\" __global__ void @ENTRY@(const float* x, float* y, int64_t k) {{\n\
         \x20 __shared__ float slots[32];\n  float sum = 0;\n\
         \x20 for (int64_t at = threadIdx.x; at < k; at += {threads}) sum += x[blockIdx.x * k + at] * x[blockIdx.x * k + at];\n\
         \x20 sum = kit::block_reduce<kit::Sum<float>>(sum, slots);\n\
         \x20 if (threadIdx.x == 0) y[blockIdx.x] = sum;\n}}\n"
    )
}

#[test]
fn one_trip_to_a_device_is_for_all_answers_that_are_there() {
    let library = Library::new("islands-device");
    let spec = std::fs::read_to_string(library.folder.join("specs/squares.toml")).expect("a spec");
    write(&library.folder.join("specs/squares.toml"), &spec.replace("\"host\"", "\"sm_90a\""));
    let begin = ["refine", "squares", "--run", "r", "--strategy", "islands", "--set", "islands=2"];
    assert_eq!(library.command(&begin).code, Some(4));
    let reply = |request: usize, text: &str| {
        write(&library.exchange("r").join(format!("{request}-reply.md")), text);
    };
    reply(1, &fenced(&on_device(128)));
    let ran = library.command(&["step"]);
    assert_eq!(ran.code, Some(4), "{}", all(&ran));
    let told = "request 2 awaits an answer; candidate 3 waits for a device (";
    assert!(all(&ran).contains(told), "{}", all(&ran));
    reply(2, &fenced(&on_device(256)));
    let ran = library.command(&["step"]);
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(
        decided(&library.log_of("r")),
        ["first", "first", "kernel", "compiled 3", "kernel", "compiled 5"]
    );
    assert!(all(&ran).contains("candidates 3, 5 wait for a device ("), "{}", all(&ran));
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));
    let results = library.folder.join("none.tar.gz").display().to_string();
    let ran = library.command(&["step", "--results", &results]);
    assert_eq!(ran.code, Some(3), "it judged nothing: {}", all(&ran));
    let bundle = library.folder.join("pack.tar.gz").display().to_string();
    let packed = library.command(&["pack", "--out", &bundle]);
    assert!(all(&packed).contains("cutegen step --specs specs --cache cache --results"), "{}", all(&packed));
}

#[test]
fn first_kernels_are_asked_for_beside_verified_ones_of_the_store() {
    let folder = scratch("islands-seeds");
    let copied = Command::new("cp").arg("-r").arg(workspace().join("cache")).arg(&folder).status();
    assert!(copied.expect("cp").success());
    let prompts = |name: &str, more: &[&str]| -> [String; 2] {
        let mut command = cutegen(&folder.join("home"));
        command
            .args(["refine", "softmax", "--target", "sm_90a", "--strategy", "islands", "--run", name])
            .args(["--set", "warm-start=0"])
            .args(more);
        command.arg("--specs").arg(workspace().join("kernel-specs")).arg("--cache").arg(folder.join("cache"));
        let ran = run(&mut command);
        assert_eq!(ran.code, Some(4), "{}", all(&ran));
        let keys = std::fs::read_dir(folder.join("cutegen-exchange")).expect("prompts");
        let key = keys.map(|key| key.expect("an entry").path()).next().expect("a key");
        let prompt = |number: usize| key.join(format!("{name}/{number}-prompt.md"));
        [1, 2].map(|number| std::fs::read_to_string(prompt(number)).expect("a prompt"))
    };
    let [one, two] = prompts("a", &[]);
    let title = "A verified kernel of another computation, rowwise, which shares";
    assert!(one.contains(title) && two.contains(title), "{one}");
    let beside =
        |prompt: &str| prompt.split_once("# Other kernels\n").map(|(_, rest)| rest[..2000].to_owned());
    assert_ne!(beside(&one), beside(&two), "each island begins beside another one");
    let without = prompts("b", &["--set", "seeds=0"]);
    assert!(without.iter().all(|prompt| !prompt.contains("# Other kernels")));
}
