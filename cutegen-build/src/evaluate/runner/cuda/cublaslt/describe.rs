//! [`Described`]: a [`Gemm`] as the library's descriptors, with the numbers of its enumerations.

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use cutegen_runtime::cuda::{CUdeviceptr, CUstream};

use super::library::{Algorithm, CublasLt, Opaque, Status};
use super::{HEURISTICS, Slot, Workspace};
use crate::evaluate::wire::gemm::{Compute, Element, Gemm, Matrix};

/// `cublasLtMatmulDescAttributes_t`.
mod operation {
    pub(super) const TRANS_A: i32 = 3;
    pub(super) const TRANS_B: i32 = 4;
    pub(super) const SCALES: [i32; 2] = [17, 18]; // of A, of B
    pub(super) const FAST_ACCUM: i32 = 25;
}
/// `cublasLtMatrixLayoutAttribute_t`.
mod layout {
    pub(super) const BATCH_COUNT: i32 = 5;
    pub(super) const BATCH_STRIDE: i32 = 6;
}
/// `cublasLtMatmulPreferenceAttributes_t`.
mod preference {
    pub(super) const WORKSPACE_BYTES: i32 = 1;
    pub(super) const ALIGNMENTS: [i32; 4] = [5, 6, 7, 8]; // of A, B, C, D
}

/// `CUBLAS_OP_T`; `CUBLAS_OP_N` is 0 and the default.
const TRANSPOSED: i32 = 1;
/// No algorithm asks for more.
const ALIGNMENT_MAX: u32 = 256;

/// A descriptor, destroyed with the value.
#[derive(Debug)]
struct Descriptor {
    library: Rc<CublasLt>,
    at: Opaque,
    destroy: unsafe extern "C" fn(Opaque) -> Status,
}

type Set = unsafe extern "C" fn(Opaque, c_int, *const c_void, usize) -> Status;

impl Descriptor {
    /// Sets an attribute, whose type in the header has the bytes of `T`.
    fn set<T: Copy>(&self, set: Set, attribute: i32, value: T) -> Result<(), String> {
        // SAFETY: a live descriptor of the kind that `set` is for; the value lives through the call, which copies it.
        let status = unsafe { set(self.at, attribute, (&raw const value).cast(), size_of::<T>()) };
        self.library.check(&format!("cuBLASLt's attribute {attribute}"), status)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: made by its library, destroyed once.
        let _ = unsafe { (self.destroy)(self.at) };
    }
}

/// The descriptors of a product.
#[derive(Debug)]
pub(super) struct Described {
    operation: Descriptor,
    a: Descriptor,
    b: Descriptor,
    d: Descriptor,
    scales: usize,
}

impl Described {
    pub(super) fn new(library: &Rc<CublasLt>, gemm: &Gemm) -> Result<Self, String> {
        let matrix = |matrix: &Matrix, rows, columns| layout(library, gemm.batch, matrix, rows, columns);
        Ok(Self {
            operation: operation(library, gemm)?,
            a: matrix(&gemm.a, gemm.m, gemm.k)?,
            b: matrix(&gemm.b, gemm.k, gemm.n)?,
            d: matrix(&gemm.d, gemm.m, gemm.n)?,
            scales: gemm.scales.len(),
        })
    }

    /// The factors of A and B: the library reads their addresses when it launches.
    pub(super) fn set_scales(&self, library: &CublasLt, slot: &Slot) -> Result<(), String> {
        if slot.scales.len() != self.scales {
            return Err(format!("{} scales, for a product with {}", slot.scales.len(), self.scales));
        }
        let pairs = operation::SCALES.into_iter().zip(&slot.scales);
        pairs
            .into_iter()
            .try_for_each(|(which, at)| self.operation.set(library.functions.set_operation, which, *at))
    }

    /// What the library offers, best first, with `bytes` of workspace and the alignment of all `slots`.
    pub(super) fn algorithms(
        &self,
        library: &Rc<CublasLt>,
        bytes: u64,
        slots: &[Slot],
    ) -> Result<Vec<Algorithm>, String> {
        let preference = preference(library, bytes, slots)?;
        let mut offered = [Algorithm::blank(); HEURISTICS];
        let mut count = 0;
        // SAFETY: live descriptors of the kinds that the function takes, and room for as many as are asked for.
        let status = unsafe {
            (library.functions.heuristics)(
                library.handle,
                self.operation.at,
                self.a.at,
                self.b.at,
                self.d.at,
                self.d.at,
                preference.at,
                HEURISTICS as c_int,
                offered.as_mut_ptr(),
                &raw mut count,
            )
        };
        library.check("cublasLtMatmulAlgoGetHeuristic", status)?;
        let offered = offered.into_iter().take(usize::try_from(count).unwrap_or(0));
        Ok(offered.filter(|a| a.is_valid() && a.workspace as u64 <= bytes).collect())
    }

    /// # Safety
    /// As [`super::Product::launch`].
    pub(super) unsafe fn matmul(
        &self,
        library: &CublasLt,
        one: &[u8; 8],
        slot: &Slot,
        algorithm: &Algorithm,
        workspace: Workspace,
        stream: CUstream,
    ) -> Result<(), String> {
        let zero = [0_u8; 8]; // beta: in each type the bits of 0
        // SAFETY: live descriptors; alpha and beta have the bytes of any scale type and live through the call. The rest
        // is as the caller promises. With beta 0 what D held is not read.
        let status = unsafe {
            (library.functions.matmul)(
                library.handle,
                self.operation.at,
                one.as_ptr().cast(),
                slot.a,
                self.a.at,
                slot.b,
                self.b.at,
                zero.as_ptr().cast(),
                slot.d,
                self.d.at,
                slot.d,
                self.d.at,
                &raw const algorithm.bits,
                workspace.at,
                algorithm.workspace,
                stream,
            )
        };
        library.check("cublasLtMatmul", status)
    }
}

fn operation(library: &Rc<CublasLt>, gemm: &Gemm) -> Result<Descriptor, String> {
    let (compute, scale) = compute_type(gemm.compute);
    let mut at = std::ptr::null_mut();
    // SAFETY: a place for the descriptor.
    let status = unsafe { (library.functions.operation)(&raw mut at, compute, scale) };
    library.check("cublasLtMatmulDescCreate", status)?;
    let destroy = library.functions.destroy_operation;
    let operation = Descriptor { library: Rc::clone(library), at, destroy };
    let set = library.functions.set_operation;
    for (matrix, attribute) in [(&gemm.a, operation::TRANS_A), (&gemm.b, operation::TRANS_B)] {
        if matrix.transposed {
            operation.set(set, attribute, TRANSPOSED)?;
        }
    }
    if gemm.fast_accumulation {
        operation.set(set, operation::FAST_ACCUM, 1_i8)?;
    }
    Ok(operation)
}

fn layout(
    library: &Rc<CublasLt>,
    batch: u64,
    matrix: &Matrix,
    rows: u64,
    columns: u64,
) -> Result<Descriptor, String> {
    let (rows, columns) = matrix.stored(rows, columns);
    let signed = |value: u64| i64::try_from(value).map_err(|_| format!("{value} is too large for cuBLASLt"));
    let (ld, mut at) = (signed(matrix.ld)?, std::ptr::null_mut());
    let kind = data_type(matrix.element);
    // SAFETY: a place for the descriptor.
    let status = unsafe { (library.functions.layout)(&raw mut at, kind, rows, columns, ld) };
    library.check("cublasLtMatrixLayoutCreate", status)?;
    let destroy = library.functions.destroy_layout;
    let described = Descriptor { library: Rc::clone(library), at, destroy };
    if batch > 1 {
        let count =
            i32::try_from(batch).map_err(|_| format!("a batch of {batch} is too large for cuBLASLt"))?;
        described.set(library.functions.set_layout, layout::BATCH_COUNT, count)?;
        described.set(library.functions.set_layout, layout::BATCH_STRIDE, signed(matrix.batch_stride)?)?;
    }
    Ok(described)
}

fn preference(library: &Rc<CublasLt>, bytes: u64, slots: &[Slot]) -> Result<Descriptor, String> {
    let mut at = std::ptr::null_mut();
    // SAFETY: a place for the descriptor.
    let status = unsafe { (library.functions.preference)(&raw mut at) };
    library.check("cublasLtMatmulPreferenceCreate", status)?;
    let destroy = library.functions.destroy_preference;
    let preference = Descriptor { library: Rc::clone(library), at, destroy };
    let set = library.functions.set_preference;
    preference.set(set, preference::WORKSPACE_BYTES, bytes)?;
    let addresses: [fn(&Slot) -> CUdeviceptr; 4] = [|s| s.a, |s| s.b, |s| s.d, |s| s.d];
    for (attribute, address) in preference::ALIGNMENTS.into_iter().zip(addresses) {
        preference.set(set, attribute, alignment(slots.iter().map(address)))?;
    }
    Ok(preference)
}

/// What all addresses are multiples of.
fn alignment(addresses: impl Iterator<Item = CUdeviceptr>) -> u32 {
    let low = addresses.fold(u64::from(ALIGNMENT_MAX), |all, address| all | address);
    1 << low.trailing_zeros()
}

/// `cublasComputeType_t`, and the `cudaDataType_t` of alpha and beta.
fn compute_type(compute: Compute) -> (c_int, c_int) {
    match compute {
        Compute::F32 => (68, data_type(Element::F32)),
        Compute::Tf32 => (77, data_type(Element::F32)),
        Compute::F64 => (70, data_type(Element::F64)),
        Compute::I32 => (72, data_type(Element::I32)),
    }
}

/// `cudaDataType_t`.
fn data_type(element: Element) -> c_int {
    match element {
        Element::F32 => 0,
        Element::F64 => 1,
        Element::F16 => 2,
        Element::I8 => 3,
        Element::I32 => 10,
        Element::Bf16 => 14,
        Element::F8e4m3 => 28,
        Element::F8e5m2 => 29,
    }
}

#[cfg(test)]
mod tests {
    use super::alignment;

    #[test]
    fn the_least_aligned_address_decides() {
        assert_eq!(alignment([].into_iter()), 256);
        assert_eq!(alignment([4096, 512].into_iter()), 256);
        assert_eq!(alignment([4096, 512 + 16].into_iter()), 16);
        assert_eq!(alignment([4096, 4098].into_iter()), 2);
        assert_eq!(alignment([1].into_iter()), 1);
    }
}
