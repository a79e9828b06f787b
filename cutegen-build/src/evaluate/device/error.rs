//! [`DeviceError`]: why a device did not do what it was asked. Judge and runner each say what that means to them.

/// Why a device did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceError {
    /// The artifact or contract cannot be launched.
    Refused(String),
    /// The candidate faulted; the device's context is lost.
    Faulted(String),
    /// The vendor's library has nothing for this.
    Lacking(String),
    /// The machine or this program is at fault.
    Failed(String),
}
