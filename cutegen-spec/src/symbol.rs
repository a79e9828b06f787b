//! The one place that derives names: symbols and libraries here, items of emitted modules in [`Public`] and [`Namer`],
//! locals of emitted bodies in [`locals`].

mod items;
mod locals;

use crate::digest::CacheKey;
pub use crate::name::is_raw;
pub use items::{Collision, Namer, Public, collisions};
pub use locals::locals;

/// The symbol under which a package links a stored cubin: `cutegen_<pkg>_<version>_<16 hex of key>_<variant>`.
/// Package and version keep two versions of one crate apart in one binary.
#[must_use]
pub fn blob(package: &str, version: &str, key: &CacheKey, variant: &str) -> String {
    format!("cutegen_{}_{}_{}_{}", sanitize(package), sanitize(version), key.short(), sanitize(variant))
}

/// The archive's library name, without `lib` and `.a`.
#[must_use]
pub fn library(package: &str, version: &str) -> String {
    format!("cutegen_{}_{}", sanitize(package), sanitize(version))
}

fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::library;

    #[test]
    fn names_derive() {
        assert_eq!(library("my-crate", "0.1.0-rc.1"), "cutegen_my_crate_0_1_0_rc_1");
    }
}
