//! The table that opens `results/README.md`: a line for each sort of kernel, for a reader who knows none of the rows. Its
//! numbers come from the rows that a line names; a row that is gone is an error. Knows no page.

use std::fmt::Write as _;

use super::{Row, cells, median};

/// A line of the table.
struct Line {
    what: &'static str,
    against: &'static str,
    of: Of,
}

/// Where a line's cells come from: each is a name and how many times as fast ours is.
enum Of {
    /// The cells of these rows.
    Cells(&'static [&'static str]),
    /// The samples of a row, all of one cell.
    Samples(&'static str),
    /// For each of these numbers of tokens: the time of others' rows together over that of ours.
    Times { tokens: &'static [u32], ours: &'static str, theirs: &'static [&'static str] },
}

const TORCH: &str = "PyTorch, eager or compiled: the faster";

const LINES: [Line; 12] = [
    Line {
        what: "softmax and log-softmax",
        against: TORCH,
        of: Of::Cells(&["softmax, bf16", "softmax, f32", "log-softmax"]),
    },
    Line {
        what: "layer norm",
        against: "PyTorch, compiled; eager too but for 16 huge rows",
        of: Of::Cells(&["layer norm", "layer norm of 16 huge rows"]),
    },
    Line {
        what: "RMS norm, with and without a residual sum",
        against: TORCH,
        of: Of::Cells(&["rms norm", "add + rms norm"]),
    },
    Line { what: "RMS norm to fp8", against: "PyTorch, compiled", of: Of::Cells(&["rms norm + fp8 rows"]) },
    Line {
        what: "elementwise: GELU, SiLU, ReLU and others",
        against: TORCH,
        of: Of::Cells(&["gelu, silu, tanh, bf16", "SiLU * mul", "pointwise, f32"]),
    },
    Line { what: "sums, means and maxima of rows", against: TORCH, of: Of::Cells(&["reductions", "argmax"]) },
    Line { what: "cumulative sums", against: TORCH, of: Of::Cells(&["cumsum"]) },
    Line { what: "cross-entropy", against: TORCH, of: Of::Cells(&["cross-entropy"]) },
    Line {
        what: "all of these from 128 MB of traffic up",
        against: "the fastest of 20 kernels that only copy as much",
        of: Of::Cells(&["of the best copy kernel"]),
    },
    Line {
        what: "matrix product of f32 on one CPU core",
        against: "NumPy with OpenBLAS, one thread",
        of: Of::Samples("host GEMM f32"),
    },
    Line {
        what: "matrix product of f32 on one CPU core, AVX2",
        against: "the same NumPy, held to AVX2",
        of: Of::Samples("host GEMM f32, equal vectors"),
    },
    Line {
        what: "MLP block of Llama 3 8B with **naive products**; tuned ones are accepted since, and not measured in it",
        against: "its two products in cuBLASLt",
        of: Of::Times {
            tokens: &[1, 16, 512],
            ours: "Llama 3 8B's MLP block with naive products, tokens: ",
            theirs: &[
                "cuBLASLt, the fastest of its heuristics: gemm_bf16 gateup8b_m",
                "cuBLASLt, the fastest of its heuristics: gemm_bf16 down8b_m",
            ],
        },
    },
];

/// The table, with what its columns mean.
pub(super) fn table(rows: &[Row]) -> Result<String, String> {
    let mut text = String::from(HEAD);
    for line in &LINES {
        let Found { cells, card, commit } = found(&line.of, rows)?;
        let mean = cells::geomean(cells.iter().map(|(_, times)| *times));
        let worst = cells.iter().min_by(|a, b| a.1.total_cmp(&b.1)).ok_or("a line without cells")?;
        let (what, against) = (line.what, line.against);
        let at = if cells.len() > 1 { format!(": {}", worst.0) } else { String::new() };
        let measured = commit.map(|commit| format!(" (measured at `{commit}`)")).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {what}{measured} | {against} | {card} | {} | {}{at} |",
            times(mean),
            times(worst.1)
        );
    }
    Ok(text)
}

/// What a line says.
struct Found {
    cells: Vec<(String, f64)>,
    /// On which they were measured.
    card: String,
    /// At which ours was measured, of a line whose kernels are others since.
    commit: Option<String>,
}

fn found(of: &Of, rows: &[Row]) -> Result<Found, String> {
    let first = match of {
        Of::Cells(bars) => (*bars.first().ok_or("a line of no rows")?).to_owned(),
        Of::Samples(bar) => (*bar).to_owned(),
        Of::Times { tokens, ours, .. } => format!("{ours}{}", tokens.first().ok_or("a line of no rows")?),
    };
    let cells = match of {
        Of::Cells(bars) => {
            bars.iter().map(|bar| cells::medians(row(rows, bar)?)).collect::<Result<Vec<_>, _>>()?.concat()
        }
        Of::Samples(bar) => vec![((*bar).to_owned(), median(&row(rows, bar)?.samples))],
        Of::Times { tokens, ours, theirs } => {
            let cell = |tokens: &u32| {
                let us = |bar: &str| row(rows, &format!("{bar}{tokens}")).map(|row| median(&row.samples));
                let theirs: f64 = theirs.iter().map(|bar| us(bar)).sum::<Result<f64, String>>()?;
                Ok((format!("{tokens} tokens"), theirs / us(ours)?))
            };
            tokens.iter().map(cell).collect::<Result<_, String>>()?
        }
    };
    let first = row(rows, &first)?;
    let card = first.machine.as_deref().unwrap_or_default().split(',').next().unwrap_or_default();
    let card = card.rsplit(" of an ").next().unwrap_or_default().replace("NVIDIA ", "");
    Ok(Found { cells, card, commit: matches!(of, Of::Times { .. }).then(|| first.commit.clone()) })
}

fn row<'a>(rows: &'a [Row], bar: &str) -> Result<&'a Row, String> {
    rows.iter().find(|row| row.bar == bar).ok_or_else(|| format!("the summary wants a row `{bar}`"))
}

/// A factor to two places, or what it is a fraction of.
fn times(factor: f64) -> String {
    if factor < 0.1 { format!("1/{:.0}", 1.0 / factor) } else { format!("{factor:.2}") }
}

const HEAD: &str = "\
How many times as fast CuTeGen's kernels are as others: 1 is even, 2 is twice as fast. *Speed* is the geometric mean over
shapes, *worst* the shape that comes out worst.

| what | against | on | speed | worst |
|---|---|---|---|---|
";
