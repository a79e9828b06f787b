//! Which variant a launch gets: the first that is eligible and preferred, else the first that is eligible. The same
//! order as [`Record::choose`], printed; and how much workspace that choice needs. What has to be resident at once is passed
//! over on a device that does not hold it: a smaller one than it was tuned on.
//!
//! [`Record::choose`]: cutegen_spec::record::Record::choose

use cutegen_spec::contract::Contract;
use cutegen_spec::record::Record;
use cutegen_spec::spec::KernelSpec;
use proc_macro2::TokenStream;
use quote::quote;

use super::domain;
use super::expr::{Scope, number};
use super::resident::is_resident;

/// Larger workspaces aren't sized ahead.
const AHEAD_MAX: i64 = 1 << 30;

/// Statements and a last expression that give the position of the chosen variant, counted from `first`; with
/// `otherwise` for where none is eligible, which a whole record never comes to. `fits` is what a variant asks of the
/// device besides.
pub(super) fn choose(
    record: &Record,
    scope: &Scope<'_>,
    (first, otherwise): (usize, usize),
    fits: &dyn Fn(usize) -> Option<TokenStream>,
) -> TokenStream {
    let all = |conditions: Vec<Option<TokenStream>>| {
        conditions.into_iter().flatten().reduce(|all, one| quote!(#all && #one))
    };
    let preferred = record
        .variants
        .iter()
        .enumerate()
        .map(|(i, v)| (i, all(vec![scope.holds(&v.eligibility), scope.holds(&v.prefer), fits(i)])));
    // Those without a preference have been tried when the second round begins.
    let eligible = record.variants.iter().enumerate().filter(|(_, v)| !v.prefer.0.is_empty());
    let eligible = eligible.map(|(i, v)| (i, all(vec![scope.holds(&v.eligibility), fits(i)])));
    let mut tokens = TokenStream::new();
    for (position, condition) in preferred.chain(eligible) {
        let position = number((first + position) as i64);
        match condition {
            Some(condition) => tokens.extend(quote!(if #condition { return #position; })),
            None => {
                tokens.extend(position);
                return tokens;
            }
        }
    }
    tokens.extend(number(otherwise as i64));
    tokens
}

/// Workspace of a contract, an `Int`; none when it uses none.
pub(super) fn workspace(contract: &Contract, scope: &Scope<'_>) -> Option<TokenStream> {
    let sizes = contract.workspace.iter().map(|part| {
        let bytes = scope.int(&part.bytes);
        quote!(Int::padded(#bytes))
    });
    sizes.reduce(|sum, size| quote!(#sum + #size))
}

/// What a kernel's workspace comes to over its whole domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// No launch needs more than these bytes.
    Bytes(i64),
    /// The domain is too large to allocate for: it grows when a launch needs it.
    Grows,
}

/// The largest workspace of any variant that dispatch can come to with memory as an allocator aligns it.
pub(super) fn ahead(record: &Record, spec: &KernelSpec) -> Ahead {
    let Some(largest) = cutegen_spec::axis::largest(&spec.axes) else { return Ahead::Grows };
    let mut most = 0;
    for variant in &record.variants {
        match variant.contract.workspace_layout(&largest) {
            Some((_, bytes)) if bytes <= AHEAD_MAX => most = most.max(bytes),
            Some(_) | None => return Ahead::Grows,
        }
        let everywhere = domain::always(&variant.eligibility, &spec.axes) && !is_resident(variant);
        if everywhere && domain::always(&variant.prefer, &spec.axes) {
            break;
        }
    }
    Ahead::Bytes(most)
}

impl Ahead {
    /// What suits both.
    pub(super) fn and(self, other: Ahead) -> Ahead {
        match (self, other) {
            (Ahead::Bytes(a), Ahead::Bytes(b)) => Ahead::Bytes(a.max(b)),
            (Ahead::Grows, _) | (_, Ahead::Grows) => Ahead::Grows,
        }
    }
}
