//! Which variant a launch gets: the first that is eligible and preferred, else the first that is eligible. The same
//! order as [`Record::choose`], printed; and how much workspace that choice needs. What has to be resident at once is passed
//! over on a device that does not hold it: a smaller one than it was tuned on.
//!
//! [`Record::choose`]: cutegen_spec::record::Record::choose

use cutegen_spec::contract::{Contract, Initial, KEPT_ZERO_MAX, Region, padded};
use cutegen_spec::record::{Record, Variant};
use cutegen_spec::spec::KernelSpec;
use proc_macro2::TokenStream;
use quote::quote;

use super::domain;
use super::expr::{Scope, number};
use super::kernel::Side;
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

/// Scratch of a contract, an `Int`; none when it uses none.
pub(super) fn workspace(contract: &Contract, scope: &Scope<'_>) -> Option<TokenStream> {
    let scratch = contract.workspace.iter().filter(|part| part.initial.region() == Region::Scratch);
    let sizes = scratch.map(|part| {
        let bytes = scope.int(&part.bytes);
        quote!(Int::padded(#bytes))
    });
    sizes.reduce(|sum, size| quote!(#sum + #size))
}

/// What workspace comes to over a whole domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ahead {
    /// Bytes to begin with: enough for every launch but those that are too large to allocate for.
    pub(super) bytes: i64,
    /// Whether there are such launches: it grows when one comes.
    pub(super) grows: bool,
}

/// The largest workspace of any variant that dispatch can come to with memory as an allocator aligns it, each taken over
/// the extents that it is eligible for.
pub(super) fn ahead(record: &Record, spec: &KernelSpec) -> Ahead {
    let mut most = Ahead::default();
    for variant in &record.variants {
        let largest = variant.eligibility.largest(&spec.axes);
        let layout = largest.and_then(|largest| variant.contract.workspace_layout(&largest).ok());
        most = most.and(match layout {
            Some(layout) if layout.bytes <= AHEAD_MAX => Ahead { bytes: layout.bytes, grows: false },
            Some(_) | None => Ahead { bytes: 0, grows: true },
        });
        let everywhere = domain::always(&variant.eligibility, &spec.axes) && !is_resident(variant);
        if everywhere && domain::always(&variant.prefer, &spec.axes) {
            break;
        }
    }
    most
}

/// Bytes that launches of a variant keep zero at most, over the extents that it is eligible for: the same for each
/// launch, as it is little.
pub(super) fn variant_kept_zero(variant: &Variant, spec: &KernelSpec) -> Result<i64, String> {
    let axes = match variant.eligibility.largest(&spec.axes) {
        Some(largest) => domain::up_to(&spec.axes, &largest),
        None => spec.axes.clone(),
    };
    let kept = variant.contract.workspace.iter().filter(|part| part.initial == Initial::KeptZero);
    let sizes = kept.map(|part| {
        let most = domain::most(&part.bytes, &axes).and_then(|bytes| padded(bytes.max(0)));
        most.ok_or_else(|| {
            format!("nothing bounds `{}`, the bytes of workspace that it keeps zero", part.bytes)
        })
    });
    let bytes = sizes.sum::<Result<i64, String>>()?;
    if bytes > KEPT_ZERO_MAX {
        return Err(format!(
            "it may keep {bytes} bytes of workspace zero, more than the {KEPT_ZERO_MAX} that a kernel may keep"
        ));
    }
    Ok(bytes)
}

/// Bytes that every launch of a kernel finds zero and leaves so; none where no variant has such a part. What has no bound
/// is refused where its launch is printed.
pub(super) fn kept_zero(side: &Side<'_>, spec: &KernelSpec) -> Option<i64> {
    let variants = side.answers().iter().flat_map(|answer| &answer.record.variants);
    let keeps =
        |variant: &&Variant| variant.contract.workspace.iter().any(|part| part.initial == Initial::KeptZero);
    variants.filter(keeps).map(|variant| variant_kept_zero(variant, spec).unwrap_or(0)).max()
}

impl Ahead {
    /// What suits both.
    pub(super) fn and(self, other: Ahead) -> Ahead {
        Ahead { bytes: self.bytes.max(other.bytes), grows: self.grows || other.grows }
    }
}
