//! The keyword `unsafe` of emitted wrappers, as macros. What a macro of another crate expands to is outside the lint
//! `unsafe_code`, so wrappers compile in a crate that forbids it. Not for other code: nothing here checks anything, and each
//! use says in a `SAFETY:` comment why it is sound. Must not know what is emitted.

/// An `unsafe` block.
#[doc(hidden)]
#[macro_export]
macro_rules! unsafe_block {
    ($($body:tt)*) => {
        // SAFETY: as said where this is used.
        unsafe { $($body)* }
    };
}

/// Symbols of the package's archive: an `unsafe extern "C"` block.
#[doc(hidden)]
#[macro_export]
macro_rules! unsafe_extern {
    ($($items:tt)*) => {
        unsafe extern "C" { $($items)* }
    };
}

/// A function or method declared `unsafe`.
#[doc(hidden)]
#[macro_export]
macro_rules! unsafe_fn {
    ($(#[$attribute:meta])* pub fn $($rest:tt)*) => { $(#[$attribute])* pub unsafe fn $($rest)* };
    ($(#[$attribute:meta])* fn $($rest:tt)*) => { $(#[$attribute])* unsafe fn $($rest)* };
}
