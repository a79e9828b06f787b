//! The one place that derives symbol, module and file names.

use crate::digest::CacheKey;
use crate::name::KernelName;

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

/// The argument struct of a kernel: `linear_gelu` gives `LinearGelu`.
#[must_use]
pub fn argument_struct(name: &KernelName) -> String {
    name.as_str()
        .split('_')
        .flat_map(|word| {
            let mut chars = word.chars();
            chars.next().into_iter().flat_map(char::to_uppercase).chain(chars)
        })
        .collect()
}

fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::{argument_struct, library};
    use crate::name::KernelName;

    #[test]
    fn names_derive() {
        let name = KernelName::new("linear_gelu2").expect("a legal name");
        assert_eq!(argument_struct(&name), "LinearGelu2");
        assert_eq!(library("my-crate", "0.1.0-rc.1"), "cutegen_my_crate_0_1_0_rc_1");
    }
}
