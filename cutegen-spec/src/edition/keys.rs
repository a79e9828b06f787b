//! The keys that edition 1 knows, table by table, and its closed lists of words. The reader refuses every other key;
//! the schema for editors is printed from the same lists.

/// Of `[kernels.NAME]`.
pub const KERNEL: [&str; 18] = [
    "axes",
    "inputs",
    "outputs",
    "inout",
    "intermediates",
    "scalars",
    "math",
    "precision",
    "tolerance",
    "deterministic",
    "workloads",
    "accept",
    "family",
    "peers",
    "instructions",
    "targets",
    "search",
    "edition",
];

/// Of an axis in its long form.
pub const AXIS: [&str; 3] = ["range", "multiple-of", "buckets"];

/// Of a tensor in its long form.
pub const TENSOR: [&str; 5] = ["type", "constant", "strides", "range", "unique"];

/// Of `precision`.
pub const PRECISION: [&str; 3] = ["accumulate", "multiply", "fast-math"];

/// Of `tolerance`.
pub const TOLERANCE: [&str; 3] = ["relative", "absolute", "reason"];

/// Of `accept`.
pub const ACCEPT: [&str; 1] = ["min-speedup"];

/// Of `search`.
pub const SEARCH: [&str; 1] = ["generators"];

/// Of `[package.metadata.cutegen]`.
pub const SETTINGS: [&str; 8] =
    ["targets", "specs", "store", "mode", "min-gate", "warn-naive", "host-sources", "search"];

/// Of a spec file.
pub const SPEC_FILE: [&str; 2] = ["edition", "kernels"];

/// What `family` may assert.
pub const FAMILIES: [&str; 8] =
    ["contraction", "elementwise", "rowwise", "scan", "window", "attention", "fused graph", "general"];
