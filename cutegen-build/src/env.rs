//! The process's environment, as any module may ask for it. It knows no variable by name, and sets none.

use std::ffi::OsString;

/// A variable of the environment, when set and Unicode.
#[must_use]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A variable of the environment, when set.
#[must_use]
pub fn variable_os(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
