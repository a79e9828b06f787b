//! What a record of version 1 becomes: it gets the tiles that it did not hold, taken once from the generator by name, if
//! its naive kernel is launched as the math says. Reads no store and writes none.

use cutegen_spec::contract::Contract;
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::record::{Kind, Record, Tile, Variant};

use crate::generate::template::Templates;
use crate::generate::{Feedback, Generator as _, naive};
use crate::plan::Plan;
use crate::store::Entry;

/// Threads of a block of a naive kernel on a device, but where it reduces all to one element.
const THREADS: i64 = 256;

/// A record of today.
#[derive(Clone, Debug, PartialEq)]
pub struct Migrated {
    /// With tiles.
    pub record: Record,
    /// Searched variants that no template proposes by their name any more: they have none.
    pub untiled: Vec<String>,
}

/// An entry's record of version 1 as one of today. Anyone may have changed how its kernels are launched: of the naive ones
/// that is seen, and said. The entry must come with its sources.
pub fn migrated(plan: &Plan, old: &Entry) -> Result<Migrated, String> {
    naive_as_printed(plan, old)?;
    // tiles do not depend on what compiles a candidate
    let proposals = Templates { toolchain: String::new() }.propose(plan, &Feedback::default());
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
    Ok(Migrated { record, untiled })
}

/// A record with tiles is of today already.
fn is_searched(variant: &Variant) -> bool {
    variant.kind != Kind::Naive && variant.tiles.is_empty()
}

/// Whether the naive variants of an entry that came with its sources are launched as the one that is printed from the math.
pub fn naive_as_printed(plan: &Plan, entry: &Entry) -> Result<(), String> {
    let pairs = entry.record.variants.iter().zip(&entry.sources);
    let mut naive = pairs.filter(|(variant, _)| variant.kind == Kind::Naive);
    naive.try_for_each(|(variant, source)| as_printed(plan, variant, source))
}

/// But for the name of its entry. An older printer is known by its text.
fn as_printed(plan: &Plan, variant: &Variant, source: &[u8]) -> Result<(), String> {
    let printed = naive::candidate(plan, &variant.toolchain);
    let (stored, today) = (nameless(&variant.contract), nameless(&printed.contract));
    let is_older = source != printed.source.as_bytes() && !plan.target.is_host();
    if stored == today || is_older && stored == older(&today) {
        return Ok(());
    }
    Err(format!("`{}` is not launched as the naive kernel that is printed from the math", variant.name))
}

/// As it was printed before what reduces all to one element got a block of another size.
fn older(today: &Contract) -> Contract {
    let mut contract = today.clone();
    for step in &mut contract.steps {
        step.block[0] = IntExpr::Const(THREADS);
        if let IntExpr::Op(IntOp::Min, blocks, _) = &mut step.grid[0]
            && let IntExpr::Op(IntOp::CeilDiv, _, threads) = blocks.as_mut()
        {
            **threads = IntExpr::Const(THREADS);
        }
    }
    contract
}

fn nameless(contract: &Contract) -> Contract {
    let mut contract = contract.clone();
    contract.steps.iter_mut().for_each(|step| step.entry.clear());
    contract
}
