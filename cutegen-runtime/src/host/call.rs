//! The one place that enters host kernels. They are entered as the driver enters CUDA ones: by an array whose
//! i-th pointer points at the i-th argument's value, so one launch contract serves both.

use std::ffi::c_void;

/// A host kernel: `extern "C" void NAME(void** params)`.
pub type Entry = unsafe extern "C" fn(params: *mut *mut c_void);

/// Enters a host kernel.
///
/// # Safety
/// `params` must point at values of the types and in the order of the entry's launch contract. Tensors must
/// hold what the contract says, for reading and for writing as it says, and overlap only where it allows.
/// The CPU must have the level that the entry was compiled for.
///
/// ```
/// # use std::ffi::c_void;
/// unsafe extern "C" fn add_one(params: *mut *mut c_void) {
///     // SAFETY: the caller passes one pointer to an i32.
///     unsafe { **(*params).cast::<*mut i32>() += 1 };
/// }
/// let mut value = 41;
/// let pointer = &raw mut value;
/// // SAFETY: one argument, a pointer to an i32 that nothing else uses.
/// unsafe { cutegen_runtime::host::call(add_one, &mut cutegen_runtime::params![pointer]) };
/// assert_eq!(value, 42);
/// ```
pub unsafe fn call(entry: Entry, params: &mut [*mut c_void]) {
    // SAFETY: the caller's promise is the entry's contract.
    unsafe { entry(params.as_mut_ptr()) }
}
