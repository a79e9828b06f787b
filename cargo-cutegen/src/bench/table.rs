//! The table that `bench` prints: from times to cells of text. Pure.

use std::collections::BTreeMap;

use cutegen_build::store::trust::extents;
use cutegen_spec::record::{Figures, Timing, incumbent};
use cutegen_spec::target::Target;

use super::results::{Kernel, Times};
use crate::check::table::digits;
use crate::evidence::interval;

/// Columns of numbers, which end at one edge.
const RIGHT: [usize; 5] = [3, 4, 5, 7, 8];
const TITLE: [&str; 10] =
    ["kernel", "at", "variant", "us", "rate", "of roof", "against", "theirs us", "speed-up", "95 % interval"];

/// Against what the naive kernel is timed where it is what runs: the ratio to itself is of the clock, and no result.
const ALONE: &str = "nothing: it is the naive kernel";

/// The columns' names, padded as their numbers are.
pub(super) fn title(kernels: &[Kernel]) -> Vec<String> {
    cells(kernels).swap_remove(0)
}

/// Lines for each kernel: one for each incumbent and kind of load.
pub(super) fn lines(kernels: &[Kernel]) -> Vec<Vec<String>> {
    cells(kernels).split_off(1)
}

/// Below the table: what a column of ratios comes to, and what is not there.
pub(super) fn remarks(kernels: &[Kernel]) -> Vec<String> {
    let mut said = means(kernels);
    for kernel in kernels {
        said.extend(kernel.not_timed.iter().map(|why| format!("{}: not timed against {why}", kernel.kernel)));
    }
    for (kernel, times) in kernels.iter().flat_map(|kernel| kernel.times.iter().map(move |t| (kernel, t))) {
        let Timing { workload, incumbent, differs: Some(differs), .. } = &times.timing else { continue };
        said.push(format!("{} {}: {incumbent} differs: {differs}", kernel.kernel, extents(workload)));
    }
    said.extend(kernels.iter().filter_map(|kernel| kernel.not_watched.clone()).take(1));
    said
}

fn cells(kernels: &[Kernel]) -> Vec<Vec<String>> {
    let mut all = vec![TITLE.map(str::to_owned).to_vec()];
    all.extend(kernels.iter().flat_map(kernel_lines));
    for column in RIGHT {
        let width = all.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        all.iter_mut().for_each(|row| row[column] = format!("{:>width$}", row[column]));
    }
    all
}

fn kernel_lines(kernel: &Kernel) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    let (mut named, mut at) = (false, None);
    for times in &kernel.times {
        let is_new = at != Some(&times.timing.workload);
        at = Some(&times.timing.workload);
        let head = match (named, is_new) {
            (false, _) => [title_of(kernel), extents(&times.timing.workload), times.variant.clone()],
            (true, true) => [String::new(), extents(&times.timing.workload), times.variant.clone()],
            (true, false) => Default::default(),
        };
        named = true;
        let against = times.timing.incumbent.clone();
        lines.push(line(kernel, times, head, against, &times.timing.burst()));
        if let Some(sustained) = &times.timing.sustained {
            lines.push(line(kernel, times, Default::default(), "  sustained".to_owned(), sustained));
        }
    }
    lines
}

fn title_of(kernel: &Kernel) -> String {
    if kernel.target == Target::host().to_string() {
        format!("{} host", kernel.kernel)
    } else {
        format!("{} {}", kernel.kernel, kernel.target)
    }
}

fn line(
    kernel: &Kernel,
    times: &Times,
    head: [String; 3],
    against: String,
    figures: &Figures,
) -> Vec<String> {
    let dash = || "-".to_owned();
    let of_roof = times.roof.as_ref().map(|roof| format!("{:.0} %", 100.0 * roof.micros / figures.micros));
    let mut cells = head.to_vec();
    cells.extend([
        digits(figures.micros),
        rate(times, &kernel.family, figures.micros),
        of_roof.unwrap_or_else(dash),
    ]);
    cells.extend(if times.timing.incumbent == incumbent::ITSELF {
        [ALONE.to_owned(), dash(), dash(), dash()]
    } else {
        [
            against,
            figures.incumbent_micros.map_or_else(dash, digits),
            format!("{:.2}x", figures.speedup),
            interval(figures) + verdict(figures),
        ]
    });
    cells
}

/// A word where the interval leaves no doubt that ours is slower, or leaves it open.
fn verdict(figures: &Figures) -> &'static str {
    match (figures.low, figures.high) {
        (_, high) if high < 1.0 => "  slower",
        (low, _) if low <= 1.0 => "  even",
        _ => "",
    }
}

/// `3.91 TB/s`, or where operations bound it `812 GFLOP/s`.
fn rate(times: &Times, family: &str, micros: f64) -> String {
    let (amount, unit) =
        if times.is_bound_by_memory(family) { (times.bytes, "B/s") } else { (times.flops, "FLOP/s") };
    let giga = amount / micros / 1e3;
    match giga {
        giga if giga >= 1000.0 => format!("{} T{unit}", digits(giga / 1e3)),
        giga => format!("{} G{unit}", digits(giga)),
    }
}

/// The geometric mean over each incumbent, and the worst.
fn means(kernels: &[Kernel]) -> Vec<String> {
    let mut by: BTreeMap<&str, Vec<(f64, String)>> = BTreeMap::new();
    for (kernel, times) in kernels.iter().flat_map(|kernel| kernel.times.iter().map(move |t| (kernel, t))) {
        let at = format!("{} {}", kernel.kernel, extents(&times.timing.workload));
        by.entry(&times.timing.incumbent).or_default().push((times.timing.speedup, at));
    }
    by.remove(incumbent::ITSELF);
    let told = by.into_iter().filter(|(_, all)| all.len() > 1).filter_map(|(name, all)| {
        let mean = (all.iter().map(|(speedup, _)| speedup.ln()).sum::<f64>() / all.len() as f64).exp();
        let (worst, at) = all.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "over {name}: {mean:.2}x in the geometric mean of {}; least {worst:.2}x, {}",
            all.len(),
            at.trim()
        ))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::{lines, rate, remarks, title};
    use crate::bench::results::{Kernel, Roof, Times};
    use crate::output::aligned;
    use cutegen_spec::record::{Figures, Timing, incumbent};
    use std::collections::BTreeMap;

    fn times(incumbent: &str, n: i64, micros: f64, speedup: f64) -> Times {
        let sustained =
            Figures { micros: 2.0 * micros, speedup, low: speedup, high: speedup, ..Figures::default() };
        let timing = Timing {
            workload: BTreeMap::from([("n".to_owned(), n)]),
            micros,
            incumbent: incumbent.to_owned(),
            incumbent_micros: Some(micros * speedup),
            speedup,
            low: 0.99 * speedup,
            high: 1.01 * speedup,
            samples: 30,
            sustained: (incumbent == "naive").then_some(sustained),
            ..Timing::default()
        };
        let roof = Roof { micros: 20.0, bound: "memory".to_owned(), device: "H200".to_owned() };
        Times {
            variant: "v8".to_owned(),
            bytes: 1e8,
            flops: 1e6,
            roof: Some(roof),
            timing,
            ..Times::default()
        }
    }

    fn kernel() -> Kernel {
        Kernel {
            kernel: "silu_mul".to_owned(),
            target: "sm_90a".to_owned(),
            family: "elementwise".to_owned(),
            times: vec![
                times(incumbent::NAIVE, 16, 25.0, 4.0),
                times(incumbent::TORCH_EAGER, 16, 25.0, 0.5),
                times(incumbent::NAIVE, 32, 40.0, 1.0),
            ],
            not_timed: vec!["cublaslt: it is not here".to_owned()],
            ..Kernel::default()
        }
    }

    #[test]
    fn every_timing_has_a_line() {
        let kernels = [kernel()];
        let lines = lines(&kernels);
        let text = aligned(&title(&kernels), &lines);
        let trimmed = |at: usize| lines[at].iter().map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        // 1e8 bytes in 25 us are 4 TB/s; 20 of 25 us
        let first = [
            "silu_mul sm_90a",
            "n=16",
            "v8",
            "25.0",
            "4.00 TB/s",
            "80 %",
            "naive",
            "100",
            "4.00x",
            "3.960 to 4.040",
        ];
        assert_eq!(trimmed(0), first, "{}", text.join("\n"));
        assert_eq!(trimmed(1)[3..9], ["50.0", "2.00 TB/s", "40 %", "sustained", "-", "4.00x"]);
        assert_eq!(trimmed(2)[..3], ["", "", ""], "the same workload");
        assert!(lines[2][9].ends_with("slower") && lines[3][9].ends_with("even"));
        assert_eq!(trimmed(3)[1], "n=32");
        let ends: Vec<usize> = text[1..].iter().map(|line| line.find("B/s").expect("a rate")).collect();
        assert!(ends.iter().all(|end| *end == ends[0]), "numbers end at one edge:\n{}", text.join("\n"));
    }

    #[test]
    fn the_naive_kernel_against_itself_is_no_result() {
        let kernels = [Kernel { times: vec![times(incumbent::ITSELF, 16, 25.0, 1.0)], ..kernel() }];
        let cells: Vec<String> = lines(&kernels)[0].iter().map(|cell| cell.trim().to_owned()).collect();
        let alone = "nothing: it is the naive kernel";
        assert_eq!(cells[3..], ["25.0", "4.00 TB/s", "80 %", alone, "-", "-", "-"]);
    }

    #[test]
    fn ratios_are_summed_up() {
        let told = remarks(&[kernel()]);
        assert_eq!(told[0], "over naive: 2.00x in the geometric mean of 2; least 1.00x, silu_mul n=32");
        assert_eq!(told[1], "silu_mul: not timed against cublaslt: it is not here");
    }

    #[test]
    fn rates_have_the_unit_of_what_bounds_them() {
        let product = Times { bytes: 1e6, flops: 2e9, ..Times::default() };
        assert_eq!(rate(&product, "contraction", 1000.0), "2.00 TFLOP/s");
        assert_eq!(rate(&product, "rowwise", 1000.0), "1.00 GB/s");
    }
}
