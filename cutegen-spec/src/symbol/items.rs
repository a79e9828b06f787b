//! Names of the items that are emitted for a package's kernels. Those that users write follow from a kernel's name alone,
//! so that they never move; two kernels may collide in one, which [`collisions`] tells. Those that only emitted code writes
//! step aside: [`Namer`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::name::KernelName;
use crate::spec::KernelSpec;

/// Types that the emitted modules define or import.
const TYPES: &str = "Arc Artifact CUdeviceptr CUstream Check CudaContext CudaStream CudaView CudaViewMut Device Error \
                     Explain F8E4M3 F8E5M2 I4x2 Int Kernels KernelEntry LaunchConfig LoadedKernel Option Order Origin \
                     Result Self Step TargetEntry U4x2 Variant VariantEntry Vec View ViewMut Workspace";
/// Methods of `cuda::Kernels` that are no kernel's.
const METHODS: &str = "explain warm workspace";
/// Functions that the module `host` defines or imports.
const FUNCTIONS: &str = "all_aligned any_zero call explain workspace";

/// What users write of one kernel's wrappers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Public {
    /// The function, or method of `cuda::Kernels`.
    pub function: String,
    /// Its argument struct.
    pub arguments: String,
    /// The entry over raw handles, on CUDA.
    pub raw: String,
    /// The workspace that the raw entry needs, on CUDA.
    pub workspace_bytes: String,
}

impl Public {
    /// The names of this kernel: `linear_gelu` gives `linear_gelu`, `LinearGelu`, `linear_gelu_raw` and
    /// `linear_gelu_workspace_bytes`.
    #[must_use]
    pub fn of(name: &KernelName) -> Self {
        Self {
            function: name.to_string(),
            arguments: camel_case(name.as_str()),
            raw: format!("{name}_raw"),
            workspace_bytes: format!("{name}_workspace_bytes"),
        }
    }

    fn methods(&self) -> [&str; 3] {
        [&self.function, &self.raw, &self.workspace_bytes]
    }
}

fn camel_case(text: &str) -> String {
    let capitalised = |word: &str| {
        let mut chars = word.chars();
        chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect::<String>()
    };
    text.split('_').map(capitalised).collect()
}

/// Two items of one name in one module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Collision {
    /// The kernel that is to be renamed.
    pub kernel: KernelName,
    /// The item that it would emit.
    pub item: String,
    /// The kernel that emits the same; none where the module itself has it.
    pub with: Option<KernelName>,
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, item, with } = self;
        match with {
            Some(other) => {
                write!(f, "kernels `{other}` and `{kernel}` would both emit `{item}`: rename one of them")
            }
            None => write!(
                f,
                "kernel `{kernel}` would emit `{item}`, a name that emitted modules use themselves: rename the kernel"
            ),
        }
    }
}

/// Every collision of what these kernels emit, by kernel.
#[must_use]
pub fn collisions(kernels: &[&KernelSpec]) -> Vec<Collision> {
    let names_of = |host: bool| {
        let there = kernels.iter().filter(move |spec| spec.targets.iter().any(|t| t.is_host() == host));
        there.map(|spec| (&spec.name, Public::of(&spec.name))).collect::<Vec<_>>()
    };
    let mut found = BTreeSet::new();
    for host in [false, true] {
        let (mut types, mut values) = (Taken::new(TYPES), Taken::new(if host { FUNCTIONS } else { METHODS }));
        for (kernel, names) in names_of(host) {
            found.extend(types.take(kernel, &names.arguments));
            let items = names.methods();
            let items = if host { &items[..1] } else { &items[..] };
            found.extend(items.iter().filter_map(|item| values.take(kernel, item)));
        }
    }
    found.into_iter().collect()
}

/// Names of one of Rust's namespaces, with the kernel that has each.
struct Taken(BTreeMap<String, Option<KernelName>>);

impl Taken {
    fn new(words: &str) -> Self {
        Self(words.split_whitespace().map(|word| (word.to_owned(), None)).collect())
    }

    fn take(&mut self, kernel: &KernelName, item: &str) -> Option<Collision> {
        let with = self.0.insert(item.to_owned(), Some(kernel.clone()))?;
        Some(Collision { kernel: kernel.clone(), item: item.to_owned(), with })
    }
}

/// Gives out names that only emitted code writes. Each steps aside for what users write and for all given before.
#[derive(Debug)]
pub struct Namer {
    taken: BTreeSet<String>,
}

impl Namer {
    /// For the modules of these kernels.
    pub fn new<'a>(kernels: impl IntoIterator<Item = &'a KernelName>) -> Self {
        let words =
            [TYPES, METHODS, FUNCTIONS].into_iter().flat_map(str::split_whitespace).map(str::to_owned);
        let public = kernels.into_iter().flat_map(|kernel| Public::of(kernel).methods().map(str::to_owned));
        Self { taken: words.chain(public).collect() }
    }

    /// `wanted`, with as many underscores as it takes to be new.
    pub fn give(&mut self, mut wanted: String) -> String {
        while !self.taken.insert(wanted.clone()) {
            wanted.push('_');
        }
        wanted
    }
}
