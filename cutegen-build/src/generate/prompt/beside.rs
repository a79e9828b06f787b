//! Kernels that a prompt shows beside the one that it is about: of other cells of an archive, or of other computations. They are
//! foreign text, and quoted.

use super::Fence;

/// The longest source that is shown, in bytes.
const SOURCE_MAX: usize = 12 << 10;
/// What is kept of the comments at the top of a longer one.
const TOP_MAX: usize = 2 << 10;

/// A kernel to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// What it is, in a line of ours.
    pub title: String,
    /// Its source.
    pub source: String,
}

/// These kernels as a section, or nothing.
pub(super) fn section(kernels: &[Beside], fence: &Fence) -> String {
    if kernels.is_empty() {
        return String::new();
    }
    let shown = kernels
        .iter()
        .map(|kernel| format!("\n{}\n\n{}\n", kernel.title, fence.quote(&excerpt(&kernel.source))));
    let says =
        "Other ways to build a kernel. Take from them what serves here; none of them is the one to change.";
    format!("\n# Other kernels\n\n{says}\n{}", shown.collect::<String>())
}

/// Of a long source the comments at its top, which hold the contract, and its end, where the kernel is.
#[must_use]
pub fn excerpt(source: &str) -> String {
    if source.len() <= SOURCE_MAX {
        return source.to_owned();
    }
    let comments = source.split_inclusive('\n').take_while(|line| line.starts_with("//"));
    let mut top = 0;
    for line in comments {
        if top + line.len() > TOP_MAX {
            break;
        }
        top += line.len();
    }
    let from = source.floor_char_boundary(source.len() - (SOURCE_MAX - top));
    let end = source[from..].find('\n').map_or(source.len(), |line| from + line + 1);
    format!("{}... {} bytes are left out ...\n{}", &source[..top], end - top, &source[end..])
}

#[cfg(test)]
mod tests {
    use super::{Beside, SOURCE_MAX, excerpt, section};
    use crate::generate::prompt::Fence;

    #[test]
    fn kernels_are_quoted_and_long_ones_are_cut() {
        let fence = Fence::new("seed", &[]);
        let kernel = |source: String| Beside { title: "Attempt 3:".to_owned(), source };
        let long = format!("// contract:\n// steps = []\n{}int last;\n", "int b;\n".repeat(4000));
        let told = section(&[kernel("int a;\n".to_owned()), kernel(long)], &fence);
        assert!(told.starts_with("\n# Other kernels\n") && told.ends_with('\n'), "{told}");
        assert_eq!(told.matches("\nAttempt 3:\n\nbegin ").count(), 2, "{told}");
        assert!(told.contains("int a;\nend ") && told.contains("int last;\nend "), "{told}");
        let top = "// contract:\n// steps = []\n... ";
        assert!(told.contains(top) && told.contains(" bytes are left out ...\nint b;\n"), "{told}");
        let comments = "// a\n".repeat(4000);
        assert!(excerpt(&comments).len() <= SOURCE_MAX + 100);
        assert!(told.len() < SOURCE_MAX + 1024);
        assert_eq!(section(&[], &fence), "");
    }
}
