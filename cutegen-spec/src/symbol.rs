//! The one place that derives names: symbols and libraries here, items of emitted modules in [`Public`] and [`Namer`],
//! locals of emitted bodies in [`locals`].

mod items;
mod locals;

use crate::digest::ArtifactDigest;
pub use crate::name::is_raw;
pub use items::{Collision, Namer, Public, collisions};
pub use locals::locals;

/// The symbol under which a package links a stored cubin: `cutegen_<pkg>_<version>_<32 hex of the file's digest>`, so that
/// variants and kernels with one cubin link it once. Package and version keep two versions of one crate apart in one binary.
#[must_use]
pub fn blob(package: &str, version: &str, stored: &ArtifactDigest) -> String {
    format!("cutegen_{}_{}_{}", sanitize(package), sanitize(version), &stored.to_string()[..32])
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
    use super::{blob, library};
    use crate::digest::ArtifactDigest;

    #[test]
    fn names_derive() {
        assert_eq!(library("my-crate", "0.1.0-rc.1"), "cutegen_my_crate_0_1_0_rc_1");
        // SHA-256 of "abc", as published
        let symbol = blob("my-crate", "0.1.0", &ArtifactDigest::of(b"abc"));
        assert_eq!(symbol, "cutegen_my_crate_0_1_0_ba7816bf8f01cfea414140de5dae2223");
    }
}
