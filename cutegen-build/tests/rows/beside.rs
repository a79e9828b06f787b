//! What is checked beside the cases: divisions over all exponents, and that the emulator's guard pages catch a read behind a
//! tensor.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::evaluate::{Distribution, Reference};
use cutegen_build::plan::Plan;
use cutegen_build::print;

use crate::judge::Subject;
use crate::{Contents, build, judged, objects, proposed, translate};

/// Of the plans, a folder to work in, and that of headers.
type Check = fn(&[Plan], &Path, &[PathBuf]) -> Result<(), String>;

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("divisor, 1 roundings", |plans, folder, headers| division(plans, folder, headers, "1")),
    ("divisor, 2 roundings", |plans, folder, headers| division(plans, folder, headers, "2")),
    ("guard", guard),
];

/// What a row divides by, over all exponents: as it is, and as short as outputs of few bits allow.
fn division(plans: &[Plan], folder: &Path, headers: &[PathBuf], roundings: &str) -> Result<(), String> {
    let (_, candidate) = proposed("any_softmax", "reg-x1t128u16q1c1-osd", plans)?;
    let (as_it_is, short) = ("NARROW_QUOTIENT = false", "NARROW_QUOTIENT = true");
    assert!(candidate.source.contains(as_it_is), "a softmax of f32 is not short");
    let source = candidate.source.replace(as_it_is, if roundings == "1" { as_it_is } else { short });
    let folder = folder.join(format!("divisor-{roundings}"));
    std::fs::create_dir(&folder).expect("a folder of its own");
    let text = translate::translate(&source, &crate::DIALECT);
    let program = format!("{text}\nconst double ROUNDINGS = {roundings};\n{}", include_str!("division.cpp"));
    build::compile(&program, &folder, headers)?;
    let ran = Command::new(folder.join("kernel")).output().expect("it starts");
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
}

/// A kernel that loads vectors behind its rows is caught, by the page behind the tensor and by nothing else: what it reads
/// too much it does not use, so that all values are right.
fn guard(plans: &[Plan], folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    let (plan, honest) = proposed("any_softmax", "reg-x4t128u4q1c1-osd", plans)?;
    let (before, load) = honest.source.split_once("CG_DEVICE auto load(").expect("a load");
    let (load, after) = load.split_once("\n}\n").expect("its end");
    let within = "    if (!part.has(chunk, u)) continue;\n";
    assert_eq!(load.matches(within).count(), 1, "where a load ends with its row");
    let mut planted = honest.clone();
    planted.source = format!("{before}CG_DEVICE auto load({}\n}}\n{after}", load.replace(within, ""));
    let reference = objects::shared(&print::reference::print(plan), objects::REFERENCE)?;
    let reference = Reference::load(&reference).map_err(|error| error.to_string())?;
    let run = |name: &str, candidate| {
        let folder = folder.join(format!("guard-{name}"));
        std::fs::create_dir(&folder).expect("a folder of its own");
        build::build(candidate, &folder, headers)?;
        // of a chunk of 2048 columns, the last row has what lies before the guard, and the guard the others
        let subject = Subject { plan, candidate, reference: &reference, folder: &folder, scalar: 1e-5 };
        judged(&subject, (2, 1024), Contents::Drawn(Distribution::Normal))
    };
    run("honest", &honest)?;
    match run("planted", &planted) {
        Ok(_) => Err("a read behind a tensor went unseen".to_owned()),
        Err(reason) if reason.contains("an access behind a buffer") => Ok(()),
        Err(reason) => Err(format!("a read behind a tensor is another failure: {reason}")),
    }
}
