//! Screens the kernels of a spec file, one after another: a search of each without the gate, and the winner timed against
//! cuBLASLt's fastest heuristic. `tests/bench/products.py` runs it on a GPU node and reads what it writes.
//!
//! ```sh
//! cargo build --release -p cutegen-build --features search --example screen
//! screen SPECS.toml KERNEL OUT.json [--points N] [--instruction mma-sync|wgmma]
//! screen SPECS.toml KERNEL --list
//! ```

use std::path::Path;
use std::process::ExitCode;

use cutegen_build::event::Event;
use cutegen_build::generate::Instruction;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_build::refine::select;
use cutegen_build::search::{Screen, Searcher};
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;

type Fail = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    cutegen_build::worker::become_worker_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Result<(), Fail> {
    let [specs, kernel, out, flags @ ..] = args else {
        return Err(
            "usage: screen SPECS.toml KERNEL OUT.json|--list [--points N] [--instruction NAME]".into()
        );
    };
    let plan = plan(Path::new(specs), kernel)?;
    if *out == "--list" {
        return list(&plan);
    }
    let what = screen(flags)?;
    let mut told = |event: &Event| match event {
        Event::Note { text } => eprintln!("{text}"),
        Event::Tried { candidate, outcome, speedup, .. } => println!("{candidate} {speedup:?} {outcome}"),
        _ => {}
    };
    let screened = Searcher::new()?.screen(&plan, &what, &mut told)?;
    let text = serde_json::to_string(&screened)?;
    let part = format!("{out}.part");
    std::fs::write(&part, text)?;
    Ok(std::fs::rename(part, out)?)
}

/// The kernel's plan for a GPU.
fn plan(specs: &Path, kernel: &str) -> Result<Plan, Fail> {
    let text = std::fs::read_to_string(specs).map_err(|error| format!("{}: {error}", specs.display()))?;
    let kernels = spec_file(&text, &Settings::default()).into_kernels().map_err(|all| format!("{all:?}"))?;
    let plans = Plan::all(&kernels).into_iter();
    let mut found = plans.filter(|plan| plan.spec.name.to_string() == *kernel && !plan.target.is_host());
    found.next().ok_or_else(|| format!("{}: no kernel `{kernel}` for a GPU", specs.display()).into())
}

fn screen(flags: &[&str]) -> Result<Screen, Fail> {
    let mut what = Screen::default();
    for flag in flags.chunks(2) {
        match flag {
            ["--points", count] => what.points = Some(count.parse()?),
            ["--instruction", "mma-sync"] => what.instruction = Some(Instruction::MmaSync),
            ["--instruction", "wgmma"] => what.instruction = Some(Instruction::Wgmma),
            other => return Err(format!("no such flag: {}", other.join(" ")).into()),
        }
    }
    Ok(what)
}

/// Points of the space, and those that a search tries first marked; needs no device.
fn list(plan: &Plan) -> Result<(), Fail> {
    let space = Templates::new("").space(plan);
    let first = select(plan, &space);
    for candidate in &space {
        let mark = if first.iter().any(|c| c.name == candidate.name) { "*" } else { "" };
        println!("{}{mark}", candidate.name);
    }
    Ok(())
}
