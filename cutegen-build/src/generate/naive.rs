//! The naive kernel as a candidate: the first incumbent of every search and the last variant of every entry.

use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::record::Kind;

use super::{Candidate, name_entry};
use crate::plan::Plan;
use crate::print;

/// The naive candidate; `toolchain` is the fingerprint of what will compile it.
#[must_use]
pub fn candidate(plan: &Plan, toolchain: &str) -> Candidate {
    let printed = print::naive::print(plan);
    let (source, contract) = name_entry(&printed.source, &printed.contract, toolchain);
    Candidate {
        name: "naive".to_owned(),
        kind: Kind::Naive,
        origin: "printed from the math".to_owned(),
        source,
        contract,
        eligibility: Eligibility::default(),
        tiles: Vec::new(),
        cost_features: None,
    }
}
