//! Programs of candidates: their source for the host with a `main`, and the system's compiler over it. The headers that
//! all begin with are read once.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::generate::Candidate;
use cutegen_spec::contract::Arg;

use crate::objects::includes;
use crate::translate;

/// What the programs begin with, which is most of what there is to compile.
const BEGIN: &str = "begin.hpp";

/// Compiles the headers that a candidate's program begins with, for the others: all templates begin alike.
pub(crate) fn precompile(candidate: &Candidate, folder: &Path, headers: &[PathBuf]) {
    let begin = folder.join(BEGIN);
    std::fs::write(&begin, includes(&program(candidate))).expect("written");
    let ran = compiler(folder, headers).args(["-x", "c++-header"]).arg(&begin).output();
    let ran = ran.expect("c++ starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

fn compiler(folder: &Path, headers: &[PathBuf]) -> Command {
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-O1", "-w", "-pthread", "-I"]).arg(folder);
    command.args(headers.iter().flat_map(|root| [Path::new("-I"), root]));
    command
}

/// The program of a candidate, as `kernel` in a folder below that of the headers.
pub(crate) fn build(candidate: &Candidate, folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    compile(&program(candidate), folder, headers)
}

/// A program that begins with a template's text, as `kernel` in a folder below that of the headers.
pub(crate) fn compile(source: &str, folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    let text = folder.join("kernel.cpp");
    std::fs::write(&text, source).expect("written");
    let above = folder.parent().expect("a parent");
    let mut command = compiler(above, headers);
    let begin = above.join(BEGIN);
    if includes(source) == std::fs::read_to_string(&begin).unwrap_or_default() {
        command.arg("-include").arg(begin);
    }
    let ran = command.arg("-o").arg(folder.join("kernel")).arg(&text).output().expect("c++ starts");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    let errors: Vec<&str> = said.lines().filter(|line| line.contains("error")).take(5).collect();
    if ran.status.success() { Ok(()) } else { Err(format!("does not compile: {errors:#?}")) }
}

/// The translated source with a `main` that takes a folder of buffers and the sizes of each launch.
fn program(candidate: &Candidate) -> String {
    let mut steps = String::new();
    for step in &candidate.contract.steps {
        let buffers = step.args.iter().enumerate().map(|(i, _)| format!("a[{i}]"));
        steps.push_str(&format!(
            "  {{\n    const int64_t grid = next(), block = next(), together = next(), shared = next();\n    \
             emu_launch(grid, block, together, BLOCK, shared, [&] {{ {}({}); }});\n  }}\n",
            step.entry,
            buffers.collect::<Vec<_>>().join(", ")
        ));
    }
    let arguments = candidate.contract.steps[0].args.iter().enumerate().map(|(i, arg)| match arg {
        Arg::Ptr(_) | Arg::Workspace(_) => format!("  a.push_back(emu_buffer(folder + \"/{i}\"));\n"),
        Arg::Axis(_) => "  a.emplace_back();\n  a.back().whole = next();\n".to_owned(),
        Arg::Int(_) | Arg::Map(_) => panic!("no kernel that is emulated has {arg}"),
        Arg::Scalar(_) => "  a.emplace_back();\n  a.back().real = emu_bits<float>(int(next()));\n".to_owned(),
    });
    format!(
        "{}\nint main(int, char** words) {{\n  const std::string folder = *++words;\n  \
         const auto next = [&] {{ return atoll(*++words); }};\n  std::vector<EmuArgument> a;\n{}{steps}  \
         for (size_t i = 0; i < a.size(); ++i) if (a[i].at) emu_write(folder + \"/\" + std::to_string(i), a[i]);\n}}\n",
        translate::translate(&candidate.source, &crate::DIALECT),
        arguments.collect::<String>()
    )
}
