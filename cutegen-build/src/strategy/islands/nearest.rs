//! [`nearness`]: how alike two computations are, by family and by the functions of their math. Names have no say, and neither have
//! numbers. [`choose`] takes the nearest of many kernels.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::run_log::Banked;

/// From 0, nothing in common, to 1, made of the same: what two computations share of what either has.
#[must_use]
pub fn nearness(plan: &Plan, other: &Banked) -> f64 {
    let own = parts(plan.family.name(), &plan.spec.math_text);
    let others = parts(&other.family, &other.math);
    let union = own.union(&others).count();
    own.intersection(&others).count() as f64 / union.max(1) as f64
}

/// The nearest kernels, of equally near ones those that gained most. None twice.
#[must_use]
pub fn choose(plan: &Plan, mut all: Vec<Banked>, count: usize) -> Vec<Banked> {
    let gain = |kernel: &Banked| kernel.over_naive.unwrap_or(0.0);
    all.sort_by(|one, other| {
        let by_nearness = nearness(plan, other).total_cmp(&nearness(plan, one));
        let by_gain = by_nearness.then(gain(other).total_cmp(&gain(one)));
        by_gain.then_with(|| one.digest.to_string().cmp(&other.digest.to_string()))
    });
    all.dedup_by(|one, other| one.digest == other.digest);
    all.truncate(count);
    all
}

/// What a computation is made of.
fn parts(family: &str, math: &str) -> BTreeSet<String> {
    // a family says more than a function does, so it counts more than once
    let mut parts: BTreeSet<String> = (0..3).map(|copy| format!("family {family} {copy}")).collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut word = String::new();
    for c in math.chars() {
        if is_word(c) {
            word.push(c);
            continue;
        }
        if c == '(' && !word.is_empty() {
            parts.insert(std::mem::take(&mut word));
        }
        word.clear();
        if "*/-".contains(c) {
            parts.insert(c.to_string());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::{choose, nearness};
    use crate::plan::Plan;
    use crate::run_log::{Banked, digest};

    fn plan(math: &str) -> Plan {
        let text = format!(
            "edition = 1\n[kernels.one]\ntargets = ['host']\naxes = {{ m = 64, n = 64, k = 64 }}\n\
             inputs = {{ x = 'f32[m, k]', w = 'f32[n, k]' }}\noutputs = {{ y = 'f32[m, n]' }}\nmath = '''{math}'''\n"
        );
        Plan::all(&spec_file(&text, &Default::default()).into_kernels().expect("a right text")).remove(0)
    }

    fn banked(family: &str, math: &str, over_naive: f64, source: &str) -> Banked {
        Banked {
            kernel: "other".to_owned(),
            family: family.to_owned(),
            math: math.to_owned(),
            digest: digest(source),
            source: source.to_owned(),
            idea: None,
            over_naive: Some(over_naive),
        }
    }

    const PRODUCT: &str = "y[m, n] = sum(k, x[m, k] * w[n, k])";

    #[test]
    fn what_is_made_of_the_same_is_near() {
        let near = |family: &str, math: &str| nearness(&plan(PRODUCT), &banked(family, math, 1.0, "a"));
        let same = near("contraction", "c[i, j] = sum(l, a[i, l] * b[j, l])");
        let activated = near("contraction", "y[m, n] = relu(sum(k, x[m, k] * w[n, k]))");
        let rows = near("rowwise", "y[m] = sum(k, exp(x[m, k]))");
        let elements = near("elementwise", "y[m] = exp(x[m])");
        assert_eq!(same.to_bits(), 1.0_f64.to_bits(), "names have no say");
        assert!(same > activated && activated > rows && rows > elements, "{activated} {rows} {elements}");
        assert_eq!(elements.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn the_nearest_are_taken_and_none_twice() {
        let all = vec![
            banked("rowwise", "y[m] = sum(k, x[m, k])", 9.0, "rows"),
            banked("contraction", "y[m, n] = relu(sum(k, x[m, k] * w[n, k]))", 3.0, "relu"),
            banked("contraction", PRODUCT, 2.0, "slow"),
            banked("contraction", PRODUCT, 4.0, "fast"),
            banked("contraction", PRODUCT, 4.0, "fast"),
        ];
        let chosen = |count| -> Vec<String> {
            choose(&plan(PRODUCT), all.clone(), count).into_iter().map(|kernel| kernel.source).collect()
        };
        assert_eq!(chosen(3), ["fast", "slow", "relu"]);
        assert_eq!(chosen(9), ["fast", "slow", "relu", "rows"]);
    }
}
