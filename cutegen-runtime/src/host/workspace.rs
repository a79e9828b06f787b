//! Scratch memory for host kernels, owned by the caller and reused from call to call.

use crate::error::Error;

/// Alignment of a workspace: what launch contracts align its parts to.
const ALIGN: usize = 256;

#[derive(Clone, Copy, PartialEq)]
#[repr(align(256))]
struct Line([u8; ALIGN]);

/// Scratch memory, aligned to 256 bytes. Every host wrapper takes one, whether or not today's variants use it. A second
/// region is zero between calls: every kernel leaves zeros there, so that all share it.
#[derive(Default)]
pub struct Workspace {
    lines: Vec<Line>,
    kept_zero: Vec<Line>,
    naive: bool,
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").field("bytes", &self.bytes()).finish()
    }
}

impl Workspace {
    /// An empty workspace; the first call that needs more grows it.
    #[must_use]
    pub const fn new() -> Self {
        Self { lines: Vec::new(), kept_zero: Vec::new(), naive: false }
    }

    /// A workspace of at least this many bytes.
    ///
    /// # Panics
    /// As a [`Vec`] of this size does, where memory isn't there; [`Self::reserve`] reports it.
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        Self { lines: vec![Line([0; ALIGN]); bytes.div_ceil(ALIGN)], ..Self::new() }
    }

    /// Whether calls run the naive kernel from now on, where they would run a tuned one: for comparing the two.
    pub const fn run_naive(&mut self, naive: bool) {
        self.naive = naive;
    }

    /// The variant to run where dispatch chose `chosen`; `naive` is eligible everywhere, and behind it is the math.
    #[must_use]
    pub const fn choose(&self, chosen: usize, naive: usize) -> usize {
        if self.naive && chosen < naive { naive } else { chosen }
    }

    /// Bytes there.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.lines.len() * ALIGN
    }

    /// Grows to at least this many bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        self.ready("workspace", bytes).map(|_| ())
    }

    /// At least this many bytes for a call of a kernel. Contents are not kept apart from initialised: parts that a
    /// contract calls zeroed are zeroed by the wrapper.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn ready(&mut self, kernel: &'static str, bytes: usize) -> Result<*mut u8, Error> {
        grown(&mut self.lines, kernel, bytes)
    }

    /// At least this many bytes that are zero, for a call that leaves them zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn kept_zero(&mut self, kernel: &'static str, bytes: usize) -> Result<*mut u8, Error> {
        grown(&mut self.kept_zero, kernel, bytes)
    }
}

/// At least so many bytes of a region; new ones are zero.
fn grown(lines: &mut Vec<Line>, kernel: &'static str, bytes: usize) -> Result<*mut u8, Error> {
    let count = bytes.div_ceil(ALIGN);
    if let Some(more) = count.checked_sub(lines.len()) {
        let missing = |_| Error::OutOfMemory { kernel, what: "a workspace", bytes };
        lines.try_reserve_exact(more).map_err(missing)?;
        lines.resize(count, Line([0; ALIGN]));
    }
    Ok(lines.as_mut_ptr().cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_stays_aligned() {
        let mut workspace = Workspace::new();
        assert_eq!(workspace.bytes(), 0);
        let pointer = workspace.ready("k", 257).expect("a page");
        assert_eq!((pointer as usize % ALIGN, workspace.bytes()), (0, 512));
        workspace.reserve(1).expect("is there");
        assert_eq!(workspace.bytes(), 512);
        assert_eq!(Workspace::with_bytes(64).bytes(), 256);
    }

    #[test]
    fn what_is_kept_zero_is_a_region_of_its_own() {
        let mut workspace = Workspace::with_bytes(256);
        let kept = workspace.kept_zero("k", 300).expect("a page");
        assert_eq!((kept as usize % ALIGN, workspace.bytes(), workspace.kept_zero.len()), (0, 256, 2));
        assert_ne!(workspace.ready("k", 256).expect("is there"), kept);
        workspace.kept_zero("k", 1000).expect("grows");
        assert!(workspace.kept_zero.iter().all(|line| *line == Line([0; ALIGN])));
        assert!(workspace.kept_zero("k", usize::MAX).is_err());
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let mut workspace = Workspace::with_bytes(256);
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 62] {
            let said = workspace.ready("k", bytes).map_err(|error| error.to_string());
            assert!(said.is_err_and(|text| text.starts_with("k: a workspace of ")), "{bytes}");
        }
        assert!(workspace.reserve(usize::MAX).is_err());
        assert_eq!(workspace.bytes(), 256);
    }

    #[test]
    fn naive_on_request_never_instead_of_the_math() {
        let mut workspace = Workspace::new();
        assert_eq!([0, 1, 2].map(|chosen| workspace.choose(chosen, 1)), [0, 1, 2]);
        workspace.run_naive(true);
        assert_eq!([0, 1, 2].map(|chosen| workspace.choose(chosen, 1)), [1, 1, 2]);
    }
}
