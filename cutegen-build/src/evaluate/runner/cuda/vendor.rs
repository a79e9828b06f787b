//! [`Vendor`]: cuBLASLt in a runner, opened before the sandbox layers are raised and only where it will be asked for; and
//! [`Once`], a launch of a program, whoever wrote it. Keeps one product with the algorithm that was chosen for it, so
//! that timed launches are those of the untimed ones.

use std::path::PathBuf;
use std::rc::Rc;

use cutegen_runtime::cuda::{CUdeviceptr, CUstream};

use super::cublaslt::{CublasLt, Product, Slot, Tuned, Workspace};
use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::Launch;
use crate::evaluate::device::session::Session;
use crate::evaluate::wire::gemm::Gemm;

/// One launch of a program.
pub(super) enum Once {
    /// Of a variant.
    Kernels(Launch),
    /// Of a library's product, on this slot.
    Product(Rc<Product>, Slot),
}

/// The library, if it was asked for and is there.
pub(super) struct Vendor {
    library: Result<Rc<CublasLt>, Option<String>>,
    chosen: Option<Chosen>,
}

/// A product with its algorithm.
struct Chosen {
    gemm: Gemm,
    slots: Vec<Slot>,
    workspace: Workspace,
    product: Rc<Product>,
    tuned: Tuned,
}

impl Vendor {
    /// Opens the library where `folders` are given.
    pub(super) fn open(folders: Option<&[PathBuf]>) -> Self {
        let library = folders.ok_or(None).and_then(|folders| CublasLt::open(folders).map_err(Some));
        Self { library, chosen: None }
    }

    /// Why it is not there although it was asked for.
    pub(super) fn missing(&self) -> Option<String> {
        self.library.as_ref().err().cloned().flatten()
    }

    /// The library and what it launches, in words.
    pub(super) fn describe(&self) -> Option<String> {
        let (library, chosen) = (self.library.as_ref().ok()?, self.chosen.as_ref()?);
        let Tuned { offered, ran, fastest, .. } = chosen.tuned;
        let name = library.version();
        Some(format!("cuBLASLt {name}, heuristic {} of {offered}, of which {ran} ran", fastest + 1))
    }

    /// The product over `slots`, each the addresses of all tensors; the fastest algorithm is chosen once.
    ///
    /// # Safety
    /// The stream is of the current context. Every address is of live memory that holds the tensor at its position, and
    /// the workspace has its bytes; all of it lives as long as what is returned.
    pub(super) unsafe fn product(
        &mut self,
        stream: CUstream,
        gemm: &Gemm,
        slots: &[Vec<CUdeviceptr>],
        (at, bytes): (CUdeviceptr, u64),
    ) -> Result<Vec<Once>, DeviceError> {
        let slots = slots.iter().map(|tensors| Slot::of(gemm, tensors));
        let slots = slots.collect::<Result<Vec<_>, _>>().map_err(DeviceError::Failed)?;
        let workspace = Workspace { at, bytes };
        let is_known = |c: &Chosen| {
            c.gemm == *gemm && c.workspace == workspace && slots.iter().all(|slot| c.serves(slot))
        };
        if !self.chosen.as_ref().is_some_and(is_known) {
            // SAFETY: as the caller promises.
            self.chosen = Some(unsafe { self.choose(stream, gemm, &slots, workspace)? });
        }
        let chosen = self.chosen.as_ref().map(|chosen| &chosen.product);
        let product = chosen.ok_or_else(|| DeviceError::Failed("a product vanished".to_owned()))?;
        Ok(slots.into_iter().map(|slot| Once::Product(Rc::clone(product), slot)).collect())
    }

    /// # Safety
    /// As [`Vendor::product`].
    unsafe fn choose(
        &self,
        stream: CUstream,
        gemm: &Gemm,
        slots: &[Slot],
        workspace: Workspace,
    ) -> Result<Chosen, DeviceError> {
        let absent = |reason: &Option<String>| {
            DeviceError::Lacking(reason.clone().unwrap_or_else(|| "cuBLASLt was not opened".to_owned()))
        };
        let library = self.library.as_ref().map_err(absent)?;
        let mut product = Product::new(library, gemm, workspace, slots).map_err(DeviceError::Lacking)?;
        // SAFETY: as the caller promises.
        let tuned = unsafe { product.tune(stream, slots) }.map_err(DeviceError::Lacking)?;
        let (gemm, slots, product) = (gemm.clone(), slots.to_vec(), Rc::new(product));
        Ok(Chosen { gemm, slots, workspace, product, tuned })
    }
}

impl Chosen {
    /// Whether it was chosen over these factors and this result, together or not.
    fn serves(&self, slot: &Slot) -> bool {
        let factors = |of: &Slot| (of.a, of.b) == (slot.a, slot.b) && of.scales == slot.scales;
        self.slots.iter().any(factors) && self.slots.iter().any(|of| of.d == slot.d)
    }
}

impl Once {
    /// Puts into the session's stream what fills workspace that a launch finds undefined; a library may keep in its own
    /// what it likes.
    pub(super) fn poison(&self, session: &Session) -> Result<(), DeviceError> {
        match self {
            Once::Kernels(launch) => launch.poison(session),
            Once::Product(..) => Ok(()),
        }
    }

    /// Puts the launch into the session's stream, which may be capturing.
    pub(super) fn go(&self, session: &Session) -> Result<(), DeviceError> {
        match self {
            Once::Kernels(launch) => launch.go(session),
            Once::Product(product, slot) => {
                // SAFETY: `Vendor::product` made it for memory of the session's context, which outlives it.
                unsafe { product.launch(session.stream, slot) }.map_err(DeviceError::Lacking)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Vendor;

    #[test]
    fn a_library_is_missing_only_where_it_was_asked_for() {
        assert_eq!(Vendor::open(None).missing(), None);
        let nowhere = Vendor::open(Some(&["/nonexistent".into()]));
        let said = nowhere.missing().unwrap_or_default();
        assert!(nowhere.library.is_ok() || said.contains("libcublasLt"), "{said}");
        assert_eq!(nowhere.describe(), None, "nothing was launched");
    }
}
