//! Products of any shapes beside cuBLASLt: of each what a search would try first, timed together; the fastest that screening
//! passes is timed once more, beside the fastest of the library's heuristics. Times are the gate's.
//!
//! `CUTEGEN_BARS_SPECS` names a file of specs; `CUTEGEN_BARS_OF=mma-sync` leaves only that template's points. `--part` of
//! other measurements is `CUTEGEN_BARS_ONLY=K/N` here.

use cutegen_build::evaluate::wire::gemm::gemm_of;
use cutegen_build::evaluate::wire::protocol::Regime;
use cutegen_build::evaluate::{Candidate, Comparison, Incumbent, Judge, Outcome, Unmeasured};
use cutegen_build::generate;
use cutegen_build::generate::template::Templates;
use cutegen_build::plan::Plan;
use cutegen_build::refine;

use super::budget::Budget;
use super::search::Subject;
use super::{keep, leased};
use crate::{fixtures, specs};

/// Of the fastest so many are screened before a kernel counts as not found.
const SCREENED: usize = 4;

/// One shape.
#[derive(serde::Serialize)]
struct Row {
    kernel: String,
    /// The question's digest, by which parts are merged.
    key: String,
    axes: Vec<i64>,
    extents: Vec<i64>,
    tried: usize,
    candidate: String,
    device: String,
    library: String,
    #[serde(flatten)]
    comparison: Comparison,
}

pub(super) fn products_are_timed() {
    let budget = Budget::of_environment();
    leased(&cutegen_runtime::cuda::context(0).expect("a device"));
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    for plan in budget.chosen(plans()) {
        if !budget.has_time() {
            left.push(plan.spec.name.to_string());
            continue;
        }
        let subject = Subject::new(plan);
        timed(&subject, &mut rows, &mut left);
        keep("products", &serde_json::json!({ "rows": rows, "not_measured": left }));
    }
    let geomean =
        (rows.iter().map(|row: &Row| row.comparison.speedup.ln()).sum::<f64>() / rows.len() as f64).exp();
    let worst = rows.iter().map(|row| row.comparison.speedup).fold(f64::INFINITY, f64::min);
    println!("    {} products, geomean {geomean:.3}, worst {worst:.3}; not measured: {left:?}", rows.len());
    assert!(!rows.is_empty(), "no kernel was chosen");
}

/// The kernels of the file of specs.
fn plans() -> Vec<Plan> {
    let path = std::env::var_os("CUTEGEN_BARS_SPECS").expect("CUTEGEN_BARS_SPECS names a file of specs");
    specs::plans_of(&std::fs::read_to_string(path).expect("readable"))
}

/// What a search would try first, of the template that is asked for.
fn tried_first(plan: &Plan) -> Vec<generate::Candidate> {
    let only = std::env::var("CUTEGEN_BARS_OF").ok();
    let mut space = Templates::new("").space(plan);
    space.retain(|candidate| match only.as_deref() {
        None => true,
        Some(name) => candidate.origin.replace('_', "-").contains(name),
    });
    refine::select(plan, &space)
}

/// All workloads of a kernel.
fn timed(subject: &Subject, rows: &mut Vec<Row>, left: &mut Vec<String>) {
    let tried = tried_first(&subject.plan);
    let gates = fixtures::compiled(&tried);
    let mut judge = subject.judge();
    for axes in subject.workloads() {
        let told = format!("{} at {axes:?}", subject.name);
        match fastest(subject, &mut judge, (&tried, &gates), &axes)
            .and_then(|at| beside(subject, &mut judge, (&tried[at], &gates[at]), &axes))
        {
            Ok(row) => {
                let row = Row { tried: tried.len(), ..row };
                println!(
                    "    {told}: {} {:.2} us, {:.3} of {}",
                    row.candidate, row.comparison.candidate_us, row.comparison.speedup, row.library
                );
                rows.push(row);
            }
            Err(reason) => left.push(format!("{told}: {reason}")),
        }
    }
}

/// The fastest of those that are eligible and that screening passes.
fn fastest(
    subject: &Subject,
    judge: &mut Judge,
    (tried, gates): (&[generate::Candidate], &[Candidate]),
    axes: &[i64],
) -> Result<usize, String> {
    let addresses = vec![0; subject.plan.spec.tensors.len()];
    let eligible: Vec<usize> =
        (0..tried.len()).filter(|at| tried[*at].eligibility.holds(axes, &addresses)).collect();
    let first = eligible.first().ok_or("nothing is eligible")?;
    let lined: Vec<Candidate> = eligible.iter().map(|at| gates[*at].clone()).collect();
    let ranked = judge.batch(&gates[*first], &lined, axes, usize::MAX).map_err(|error| error.to_string())?;
    let mut times: Vec<(f64, usize)> = eligible
        .into_iter()
        .zip(ranked)
        .filter_map(|(at, found)| Some((found.ok()?.candidate_us, at)))
        .collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let passes = |at: &usize| matches!(judge.screen(&gates[*at]), Ok(Outcome::Passed { .. }));
    times
        .into_iter()
        .map(|(_, at)| at)
        .take(SCREENED)
        .find(passes)
        .ok_or("nothing passed screening".to_owned())
}

/// One candidate beside the library, both timed afresh.
fn beside(
    subject: &Subject,
    judge: &mut Judge,
    (candidate, gate): (&generate::Candidate, &Candidate),
    axes: &[i64],
) -> Result<Row, String> {
    let gemm = gemm_of(&subject.plan, axes).ok_or("no product of the library")?;
    let extents = vec![gemm.n as i64, gemm.m as i64, gemm.k as i64];
    let measured = judge.measure(gate, &Incumbent::CublasLt(gemm), axes, Regime::Burst);
    let measured = measured.map_err(|error| error.to_string())?.map_err(|unmeasured| match unmeasured {
        Unmeasured::Candidate(outcome) => outcome.to_string(),
        Unmeasured::Incumbent(reason) => reason,
    })?;
    Ok(Row {
        kernel: subject.name.clone(),
        key: subject.plan.key.to_string(),
        axes: axes.to_vec(),
        extents,
        tried: 0,
        candidate: candidate.name.clone(),
        device: measured.device,
        library: measured.about.unwrap_or_default(),
        comparison: measured.comparison,
    })
}
