//! References that compute a sample of each output: what they compute is what the whole one gives, in every bit.

use cutegen_build::evaluate::{Call, Expected, Sampled, UNSAMPLED};
use cutegen_build::plan::sample::{STRATUM, Sample, Share};

use super::Both;
use crate::bound::library;

/// Both references, by samples, against all that they give.
pub(super) fn agrees(both: &Both<'_>, call: &Call<'_>, whole: [&[Expected]; 2]) -> Result<(), String> {
    let plan = both.plan;
    if Sample::of(&plan.spec, &plan.schedule).is_none() {
        return Ok(());
    }
    for share in [Share::Lines, Share::Grid] {
        let call = Call { sampled: Some(Sampled { seed: 0x5eed_0000, share }), ..*call };
        let sampled = [both.host.call(&call), both.device.call(both.device.serial(), &plan.spec, &call)?];
        for (whole, sampled) in whole.into_iter().zip(&sampled) {
            for (whole, sampled) in whole.iter().zip(sampled) {
                same(whole, sampled).map_err(|at| format!("a sample of {share:?} differs at {at}"))?;
            }
        }
        if sampled[0] != sampled[1] && sampled[0].iter().zip(&sampled[1]).any(|(a, b)| !alike(a, b)) {
            return Err(format!("host and device leave out other elements by {share:?}"));
        }
    }
    Ok(())
}

/// The first element that is neither left out nor as it is in all.
fn same(whole: &Expected, sampled: &Expected) -> Result<(), usize> {
    let is_same = |i: &usize| {
        let bits = |e: &Expected| (e.value[*i].to_bits(), e.bound[*i].to_bits());
        let is_left_out = sampled.bound[*i] == UNSAMPLED && whole.is_written(*i);
        is_left_out
            || bits(whole) == bits(sampled)
            || (whole.value[*i].is_nan()
                && sampled.value[*i].is_nan()
                && whole.bound[*i].to_bits() == sampled.bound[*i].to_bits())
    };
    (0..whole.value.len()).find(|i| !is_same(i)).map_or(Ok(()), Err)
}

fn alike(a: &Expected, b: &Expected) -> bool {
    (0..a.bound.len()).all(|i| a.is_compared(i) == b.is_compared(i))
}

const PRODUCT: &str = "edition = 1\n[kernels.a]\naxes = { m = '1..=512', n = '1..=512', k = 4 }\n\
                       inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }\n\
                       math = 'y[m, n] = sum(k, x[m, k] * w[n, k])'";

/// Which elements of a product are compared, rows of columns.
fn compared(share: Share, seed: u64, [m, n]: [i64; 2]) -> Vec<Vec<bool>> {
    let plan = super::plans(PRODUCT).remove(0);
    let axes = [m, n, 4];
    let inputs = [m, n].map(|rows| vec![0x3f_u8; 16 * rows as usize]);
    let sampled = Some(Sampled { seed, share });
    let outputs = [(m * n) as usize];
    let call = Call { inputs: &inputs, axes: &axes, scalars: &[], outputs: &outputs, exact: false, sampled };
    let found = library::reference(&plan).call(&call).remove(0);
    let row = |i: i64| (0..n).map(|j| found.is_compared((i * n + j) as usize)).collect();
    (0..m).map(row).collect()
}

#[test]
fn each_stratum_has_a_row_and_a_column() {
    let shape = [201, 130];
    let mut chosen = Vec::new();
    for seed in [1 << 20, 2 << 20, 3 << 20] {
        let (lines, grid) = (compared(Share::Lines, seed, shape), compared(Share::Grid, seed, shape));
        let rows: Vec<usize> = (0..201).filter(|i| lines[*i].iter().all(|c| *c)).collect();
        let columns: Vec<usize> = (0..130).filter(|j| lines.iter().all(|row| row[*j])).collect();
        for (found, extent) in [(&rows, 201), (&columns, 130)] {
            assert!(found.contains(&0) && found.contains(&(extent - 1)), "the ends: {found:?}");
            for stratum in 0..extent / STRATUM as usize + 1 {
                assert!(found.iter().any(|line| line / 64 == stratum), "{stratum} of {found:?}");
            }
            assert!(found.len() <= extent / 64 + 3, "{found:?}");
        }
        for (i, j) in (0..201).flat_map(|i| (0..130).map(move |j| (i, j))) {
            let (row, column) = (rows.contains(&i), columns.contains(&j));
            assert_eq!((lines[i][j], grid[i][j]), (row || column, row && column), "{i}, {j}");
        }
        chosen.push(rows);
    }
    chosen.dedup();
    assert!(chosen.len() > 1, "the seed chooses: {chosen:?}");
    assert_eq!(compared(Share::Grid, 1 << 20, [1, 1]), [[true]]);
}
