//! What a record of version 1 becomes: it gets the tiles that it did not hold, taken once from the generator by name. And
//! whether naive kernels are launched as the math says. Reads no store and writes none.

use cutegen_spec::contract::Contract;
use cutegen_spec::record::{Kind, Record, Tile, Variant};

use crate::generate::naive;
use crate::generate::template::Templates;
use crate::plan::Plan;
use crate::store::Entry;

/// A record of today.
#[derive(Clone, Debug, PartialEq)]
pub struct Migrated {
    /// With tiles.
    pub record: Record,
    /// Searched variants that no template proposes by their name any more: they have none.
    pub untiled: Vec<String>,
}

/// An entry's record of version 1 as one of today. Anyone may have changed how its kernels are launched.
#[must_use]
pub fn migrated(plan: &Plan, old: &Entry) -> Migrated {
    // tiles do not depend on what compiles a candidate
    let proposals = Templates::new("").space(plan);
    let (mut record, mut untiled) = (old.record.clone(), Vec::new());
    for variant in record.variants.iter_mut().filter(|variant| is_searched(variant)) {
        match proposals.iter().find(|proposal| proposal.name == variant.name) {
            Some(proposal) => {
                let tile = |&(axis, extent): &(usize, i64)| Tile { axis, extent };
                variant.tiles = proposal.tiles.iter().map(tile).collect();
            }
            None => untiled.push(variant.name.clone()),
        }
    }
    Migrated { record, untiled }
}

/// A record with tiles is of today already.
fn is_searched(variant: &Variant) -> bool {
    variant.kind != Kind::Naive && variant.tiles.is_empty()
}

/// Whether the naive variants of an entry are launched as the one that is printed from the math.
pub fn naive_as_printed(plan: &Plan, entry: &Entry) -> Result<(), String> {
    let mut naive = entry.record.variants.iter().filter(|variant| variant.kind == Kind::Naive);
    naive.try_for_each(|variant| as_printed(plan, variant))
}

/// But for the name of its entry.
fn as_printed(plan: &Plan, variant: &Variant) -> Result<(), String> {
    let printed = naive::candidate(plan, &variant.toolchain);
    if nameless(&variant.contract) == nameless(&printed.contract) {
        return Ok(());
    }
    Err(format!("`{}` is not launched as the naive kernel that is printed from the math", variant.name))
}

fn nameless(contract: &Contract) -> Contract {
    let mut contract = contract.clone();
    contract.steps.iter_mut().for_each(|step| step.entry.clear());
    contract
}
