//! Scratch memory for host kernels, owned by the caller and reused from call to call.

/// Alignment of a workspace: what launch contracts align its parts to.
const ALIGN: usize = 256;

#[derive(Clone, Copy)]
#[repr(align(256))]
struct Line(#[expect(dead_code, reason = "only its size and alignment count")] [u8; ALIGN]);

/// Scratch memory, aligned to 256 bytes. Every host wrapper takes one, whether or not today's variants use it.
#[derive(Default)]
pub struct Workspace {
    lines: Vec<Line>,
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
        Self { lines: Vec::new(), naive: false }
    }

    /// A workspace of at least this many bytes.
    #[must_use]
    pub fn with_bytes(bytes: usize) -> Self {
        let mut workspace = Self::new();
        workspace.reserve(bytes);
        workspace
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

    /// At least this many bytes. Contents are not kept apart from initialised: parts that a contract calls
    /// zeroed are zeroed by the wrapper.
    pub fn reserve(&mut self, bytes: usize) -> *mut u8 {
        let lines = bytes.div_ceil(ALIGN);
        if lines > self.lines.len() {
            self.lines.resize(lines, Line([0; ALIGN]));
        }
        self.lines.as_mut_ptr().cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_and_stays_aligned() {
        let mut workspace = Workspace::new();
        assert_eq!(workspace.bytes(), 0);
        let pointer = workspace.reserve(257);
        assert_eq!((pointer as usize % ALIGN, workspace.bytes()), (0, 512));
        workspace.reserve(1);
        assert_eq!(workspace.bytes(), 512);
        assert_eq!(Workspace::with_bytes(64).bytes(), 256);
    }

    #[test]
    fn naive_on_request_never_instead_of_the_math() {
        let mut workspace = Workspace::new();
        assert_eq!([0, 1, 2].map(|chosen| workspace.choose(chosen, 1)), [0, 1, 2]);
        workspace.run_naive(true);
        assert_eq!([0, 1, 2].map(|chosen| workspace.choose(chosen, 1)), [1, 1, 2]);
    }
}
