//! Against compilers, by the text of a source. What the guard would refuse is tried round it as well.

use std::process::Command;
use std::time::Duration;

use cutegen_build::compile::{CompileFor, CompileJob, CompileOutcome, Limits, compile_unguarded};

use crate::bed::{Bed, CANARY, Layer, tight, without};
use crate::place::{HEADERS, Place};
use crate::{Attack, Came, Side};

const FILES: &[Layer] = &[Layer::Guard, Layer::Landlock];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Nvrtc,
    /// NVRTC in a fork of a zygote.
    Fork,
    Cxx,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Nvrtc => "nvrtc",
            Tool::Fork => "nvrtc in a fork",
            Tool::Cxx => "c++",
        }
    }

    fn place(self, bed: &Bed, limits: Limits) -> Place {
        let setup = bed.setup(limits);
        match self {
            Tool::Nvrtc | Tool::Cxx => Place::Alone(setup),
            Tool::Fork => Place::fork(&setup),
        }
    }

    fn job(self, source: String) -> CompileJob {
        let source = if self == Tool::Fork { format!("{HEADERS}// \n{source}") } else { source };
        let compile_for = match self {
            Tool::Nvrtc | Tool::Fork => CompileFor::Cuda { arch: "sm_90a".to_owned() },
            Tool::Cxx => CompileFor::Host {
                triple: "x86_64-unknown-linux-gnu".to_owned(),
                level: "x86-64-v3".to_owned(),
            },
        };
        CompileJob { source, entries: vec!["k".to_owned()], compile_for }
    }

    /// A kernel that holds the string which `text` is.
    fn holding(self, text: &str) -> String {
        match self {
            Tool::Nvrtc | Tool::Fork => format!(
                "__device__ const char leak[] =\n{text}\n;\nextern \"C\" __global__ void k(char* p) {{ *p = leak[threadIdx.x]; }}\n"
            ),
            Tool::Cxx => format!(
                "const char leak[] =\n{text}\n;\nextern \"C\" __attribute__((externally_visible)) const char* k(int i) {{ return leak + i; }}\n"
            ),
        }
    }
}

pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = Vec::new();
    for tool in [Tool::Nvrtc, Tool::Fork, Tool::Cxx] {
        all.extend(INCLUDES.iter().map(|(name, text)| reading(tool, name, text)));
        all.push(quoting(tool));
        all.push(probing(tool, "probe_by_has_include", |secret| {
            format!("#if __has_include(\"{secret}\")\n#else\n#error none\n#endif\n")
        }));
        all.push(lasting(tool, "template_bomb", TEMPLATES));
        all.push(lasting(tool, "macro_bomb", MACROS));
        all.push(large(tool));
    }
    all.push(probing(Tool::Cxx, "probe_by_pragma", |secret| {
        format!("#pragma GCC dependency \"{secret}\"\n")
    }));
    all.push(embedding());
    all.push(endless());
    all.extend(by_environment());
    all
}

/// How a file is named. `SECRET` is its path, `UP` leads from a header's folder to the root.
const INCLUDES: &[(&str, &str)] = &[
    ("include_absolute", "#include \"SECRET\""),
    ("include_upwards", "#include <cute/UPSECRET>"),
    ("include_by_macro", "#define A(x) #x\n#define F \"SECRET\"\n#include F"),
    ("include_next", "#include_next \"SECRET\""),
    ("include_as_another_line", "# 1 \"kernel.h\" 1\n#include \"SECRET\""),
    ("include_link_in_a_root", "#include <cute/link.h>"),
];

fn attack(
    tool: Tool,
    name: &'static str,
    stopped_by: &'static [Layer],
    run: impl Fn(&Bed, Side) -> Came + 'static,
) -> Attack {
    Attack { name, against: tool.name(), stopped_by, run: Box::new(run) }
}

fn reading(tool: Tool, name: &'static str, text: &'static str) -> Attack {
    attack(tool, name, FILES, move |bed, side| {
        let up = "../".repeat(40);
        let text = text.replace("UPSECRET", &format!("{}SECRET", up.trim_end_matches('/')));
        shown(tool, tool.holding(&text.replace("SECRET", &bed.at("secret").display().to_string())), bed, side)
    })
}

/// A failed assertion repeats its text, at a line of the candidate.
fn quoting(tool: Tool) -> Attack {
    attack(tool, "assertion_quotes_a_file", FILES, move |bed, side| {
        let source = format!("static_assert(false,\n#include \"{}\"\n);\n", bed.at("secret").display());
        shown(tool, source, bed, side)
    })
}

/// On: by the front door, and round the guard. Off: round the guard and without Landlock.
fn shown(tool: Tool, source: String, bed: &Bed, side: Side) -> Came {
    let job = tool.job(source);
    let told = |limits: Limits| {
        let answer = tool.place(bed, limits).unguarded(&job);
        answer.as_ref().is_ok_and(|raw| holds(&raw.bytes, CANARY)) || format!("{answer:?}").contains(CANARY)
    };
    Came::of(match side {
        Side::On => front_door(tool, &job, bed) || told(tight()),
        Side::Off => told(without(tight(), &[Layer::Landlock])),
    })
}

fn front_door(tool: Tool, job: &CompileJob, bed: &Bed) -> bool {
    match tool.place(bed, tight()).guarded(job) {
        CompileOutcome::Compiled(artifact) => holds(&artifact.bytes, CANARY),
        CompileOutcome::Failed(failure) => format!("{:?}", failure.diagnostics).contains(CANARY),
    }
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// Whether a file exists, told by whether the source compiles. Only the guard stands before that.
fn probing(tool: Tool, name: &'static str, text: fn(&str) -> String) -> Attack {
    attack(tool, name, &[Layer::Guard, Layer::Landlock], move |bed, side| {
        let [there, missing] = ["secret", "no-such-file"].map(|name| {
            let job = tool.job(text(&bed.at(name).display().to_string()) + &tool.holding("\"x\""));
            match side {
                Side::On => {
                    matches!(tool.place(bed, tight()).guarded(&job), CompileOutcome::Compiled(_))
                }
                Side::Off => {
                    let limits = without(tight(), &[Layer::Landlock]);
                    tool.place(bed, limits).unguarded(&job).is_ok()
                }
            }
        });
        Came::of(there != missing)
    })
}

const TEMPLATES: &str = "template <int N, int M> struct B { enum { v = B<N - 1, 2 * M>::v & B<N - 1, 2 * M + 1>::v }; };\n\
     template <int M> struct B<0, M> { enum { v = 1 }; };\nint x = B<24, 1>::v;\n";
const MACROS: &str =
    "#define A(x) x x x x x x x x x x x x x x x x\n#define B(x) A(A(A(A(x))))\nint y = 0 B(B(+ 1));\n";

/// Goes on for longer than it may.
fn lasting(tool: Tool, name: &'static str, source: &'static str) -> Attack {
    attack(tool, name, &[Layer::Limits], move |bed, side| {
        let short = Limits { cpu: Duration::from_secs(1), wall: Duration::from_secs(2), ..tight() };
        let limits = match side {
            Side::On => short,
            Side::Off => Limits { wall: Duration::from_secs(6), ..without(short, &[Layer::Limits]) },
        };
        let place = tool.place(bed, limits);
        let (answer, took) = place.timed(&tool.job(source.to_owned()));
        Came::of(answer.is_ok() || took > Duration::from_secs(5))
    })
}

fn large(tool: Tool) -> Attack {
    attack(tool, "output_bomb", &[Layer::Limits], move |bed, side| {
        let source = match tool {
            Tool::Nvrtc | Tool::Fork => {
                "__device__ char big[4 << 20] = {1};\nextern \"C\" __global__ void k(char* p) { *p = big[threadIdx.x]; }"
            }
            Tool::Cxx => "extern \"C\" __attribute__((externally_visible)) const char k[4 << 20] = {1};",
        };
        let limits = if side == Side::On { tight() } else { without(tight(), &[Layer::Limits]) };
        let answer = tool.place(bed, limits).unguarded(&tool.job(source.to_owned()));
        Came::of(answer.is_ok_and(|raw| raw.bytes.len() > 4 << 20))
    })
}

/// The assembler reads a file into the object.
fn embedding() -> Attack {
    attack(Tool::Cxx, "incbin", FILES, move |bed, side| {
        let secret = bed.at("secret");
        let text = format!("__asm__(\".section .rodata\\n.incbin \\\"{}\\\"\\n.text\");\n", secret.display());
        shown(Tool::Cxx, text + &Tool::Cxx.holding("\"x\""), bed, side)
    })
}

/// A header without end; what is left of it without Landlock is that it takes all the memory it may.
fn endless() -> Attack {
    attack(Tool::Cxx, "include_endless_device", FILES, |bed, side| {
        let job = Tool::Cxx.job("#include \"/dev/zero\"\n".to_owned());
        let took = |limits| {
            let answer = compile_unguarded(&job, &bed.setup(limits)).expect("no error");
            let failure = answer.expect_err("no end, no object");
            failure.diagnostics.is_empty()
        };
        Came::of(match side {
            Side::On => took(tight()),
            Side::Off => took(without(tight(), &[Layer::Landlock])),
        })
    })
}

/// Variables that compilers obey. They are set in this process; without a worker, the compiler does what they say.
fn by_environment() -> [Attack; 2] {
    let planted = |bed: &Bed, object: &[u8]| (bed.at("outside/rules").exists(), holds(object, CANARY));
    let tried = move |bed: &Bed, side| {
        let _ = std::fs::remove_file(bed.at("outside/rules"));
        let source = "#include <planted.h>\nextern \"C\" __attribute__((externally_visible)) const char* k(int i) { return planted + i; }\n";
        let object = match side {
            Side::On => {
                let limits = without(tight(), &[Layer::Landlock, Layer::Seccomp, Layer::Namespaces]);
                let answer = compile_unguarded(&Tool::Cxx.job(source.to_owned()), &bed.setup(limits));
                answer.expect("no error").map(|raw| raw.bytes).unwrap_or_default()
            }
            Side::Off => by_itself(bed, source),
        };
        planted(bed, &object)
    };
    let layer: &[Layer] = &[Layer::Environment];
    [
        attack(Tool::Cxx, "environment_adds_a_folder", layer, move |bed, side| Came::of(tried(bed, side).1)),
        attack(Tool::Cxx, "environment_writes_a_file", layer, move |bed, side| Came::of(tried(bed, side).0)),
    ]
}

fn by_itself(bed: &Bed, source: &str) -> Vec<u8> {
    let (text, object) = (bed.at("outside/k.cpp"), bed.at("outside/k.o"));
    std::fs::write(&text, source).expect("written");
    let mut command = Command::new("c++");
    command.env("CPATH", bed.at("by-name")).env("DEPENDENCIES_OUTPUT", bed.at("outside/rules"));
    let run = command.arg("-c").arg(&text).arg("-o").arg(&object).output().expect("c++ runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::read(&object).expect("an object")
}
