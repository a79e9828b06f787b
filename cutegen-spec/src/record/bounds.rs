//! How much a record may hold. A record is text that others wrote, and what is emitted from it is many times as long; so
//! each count has a limit far above what searches find, and far below what a build cannot take.

use super::{Record, Variant};
use crate::contract::Arg;
use crate::eligibility::{Condition, Eligibility};
use crate::int_expr::IntExpr;

/// Most variants of an entry.
const VARIANTS: usize = 32;
/// Most steps of an entry, all variants together.
const STEPS: usize = 128;
/// Most arguments of an entry's steps together.
const ARGS: usize = 2048;
/// Most parts of workspace of an entry, all variants together.
const PARTS: usize = 128;
/// Most conditions of an entry.
const CONDITIONS: usize = 256;
/// Most operators of one expression.
const OPERATIONS: usize = 64;
/// Most operators of an entry.
const ALL_OPERATIONS: usize = 2048;
/// Most bytes of an entry point's name.
const NAME: usize = 256;

/// Whether all counts are within their limits; the error names the first that is not.
pub(super) fn check(record: &Record) -> Result<(), String> {
    let within = |what: &str, count: usize, most: usize| {
        if count <= most {
            Ok(())
        } else {
            Err(format!("{count} {what}, more than the {most} that an entry may have"))
        }
    };
    let sum = |count: fn(&Variant) -> usize| record.variants.iter().map(count).sum();
    within("variants", record.variants.len(), VARIANTS)?;
    within("steps", sum(|v| v.contract.steps.len()), STEPS)?;
    within("arguments", sum(|v| v.contract.steps.iter().map(|step| step.args.len()).sum()), ARGS)?;
    within("parts of workspace", sum(|v| v.contract.workspace.len()), PARTS)?;
    within("conditions", sum(|v| v.eligibility.0.len() + v.prefer.0.len()), CONDITIONS)?;
    let operations = || record.variants.iter().flat_map(expressions).map(IntExpr::operations);
    within("operators in one expression", operations().max().unwrap_or(0), OPERATIONS)?;
    within("operators", operations().sum(), ALL_OPERATIONS)?;
    let names = record.variants.iter().flat_map(|v| &v.contract.steps).map(|step| step.entry.len());
    within("bytes in an entry point's name", names.max().unwrap_or(0), NAME)
}

/// Every expression of a variant.
fn expressions(variant: &Variant) -> impl Iterator<Item = &IntExpr> {
    let steps = variant.contract.steps.iter();
    let launch = steps.flat_map(|s| s.grid.iter().chain(&s.block).chain(&s.cluster).chain([&s.smem]));
    let args = variant.contract.steps.iter().flat_map(|s| &s.args).flat_map(Arg::numbers);
    let parts = variant.contract.workspace.iter().map(|part| &part.bytes);
    launch.chain(args).chain(parts).chain(conditions(&variant.eligibility)).chain(conditions(&variant.prefer))
}

fn conditions(eligibility: &Eligibility) -> impl Iterator<Item = &IntExpr> {
    eligibility.0.iter().filter_map(|condition| match condition {
        Condition::Divides { expr, .. }
        | Condition::AtLeast { expr, .. }
        | Condition::AtMost { expr, .. } => Some(expr),
        Condition::Aligned { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{ARGS, Record, check};
    use crate::eligibility::Eligibility;
    use crate::int_expr::{IntExpr, IntOp};

    /// Any committed record.
    fn record() -> Record {
        let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../example-app/cutegen-store/v1");
        while path.is_dir() {
            let first = fs::read_dir(&path).expect("a folder").map(|item| item.expect("listed").path());
            path = first.filter(|p| p.is_dir() || p.ends_with("record.toml")).min().expect("an entry");
        }
        Record::parse(&fs::read_to_string(path).expect("a record")).expect("parses")
    }

    fn sum(operators: usize) -> IntExpr {
        let add = |sum, _| IntExpr::op(IntOp::Add, sum, IntExpr::Axis(0));
        (0..operators).fold(IntExpr::Const(1), add)
    }

    fn many<T: Clone>(list: &mut Vec<T>, times: usize) {
        *list = list.iter().cycle().take(times).cloned().collect();
    }

    #[test]
    fn each_count_has_a_limit() {
        type Corrupt = fn(&mut Record);
        let cases: [(&str, Corrupt); 8] = [
            ("33 variants, more than the 32 that an entry may have", |r| many(&mut r.variants, 33)),
            ("steps, more than the 128 ", |r| many(&mut r.variants[0].contract.steps, 600)),
            ("arguments, more than the 2048 ", |r| many(&mut r.variants[0].contract.steps[0].args, ARGS + 1)),
            ("200 parts of workspace", |r| {
                let part = crate::contract::WorkspacePart {
                    bytes: sum(0),
                    initial: crate::contract::Initial::Undefined,
                };
                r.variants.iter_mut().for_each(|v| v.contract.workspace.clear());
                r.variants[0].contract.workspace = vec![part; 200];
            }),
            ("conditions, more than the 256 ", |r| {
                r.variants[0].prefer =
                    Eligibility::parse_positional(&["a0 >= 8"; 300].join(" and ")).expect("parses");
            }),
            ("65 operators in one expression", |r| r.variants[0].contract.steps[0].grid[0] = sum(65)),
            ("operators, more than the 2048 ", |r| {
                r.variants[0].contract.steps[0].grid = [sum(64), sum(64), sum(64)];
                many(&mut r.variants[0].contract.steps, 12);
            }),
            ("257 bytes in an entry point's name", |r| {
                r.variants[0].contract.steps[0].entry = "k".repeat(257);
            }),
        ];
        assert_eq!(check(&record()), Ok(()));
        for (expected, corrupt) in cases {
            let mut record = record();
            corrupt(&mut record);
            let told = check(&record).expect_err(expected);
            assert!(told.contains(expected), "{expected}: {told}");
        }
    }
}
