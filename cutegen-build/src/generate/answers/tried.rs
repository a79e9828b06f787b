//! Sources that were tried before. Identity tells, or what is left without comments and blanks.

use super::normal::normal;
use super::{Proposal, Sequence};
use crate::plan::Plan;
use crate::run_log::Log;

/// The first kernel of the log that says the same as a proposal. Only what stands before a place counts.
pub(super) fn earlier(plan: &Plan, log: &Log, before: Sequence, proposal: &Proposal) -> Option<Sequence> {
    let wanted = normal(&proposal.text);
    let mut kernels = log.kernels().take_while(|(sequence, _)| *sequence < before);
    let is_same = |earlier: &str| {
        normal(earlier) == wanted
            && Proposal::read(plan, earlier, None).is_ok_and(|earlier| {
                earlier.contract == proposal.contract && earlier.eligibility == proposal.eligibility
            })
    };
    kernels
        .find(|(_, kernel)| kernel.identity.0 == proposal.identity || is_same(&kernel.source))
        .map(|(sequence, _)| sequence)
}
