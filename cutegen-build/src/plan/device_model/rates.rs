//! [`Rates`]: what cost estimates count with. Only a search reads them.

/// What cost estimates count with, in bytes and nanoseconds; `each` is of one multiprocessor.
#[derive(Debug)]
pub(crate) struct Rates {
    pub(crate) bytes_per_ns: f64,
    pub(crate) launch: f64,
    /// What of it a programmatic launch hides behind the kernel before.
    pub(crate) overlap: f64,
    pub(crate) stream: StreamRates,
    pub(crate) product: ProductRates,
}

/// Of kernels that stream their tensors.
#[derive(Debug)]
pub(crate) struct StreamRates {
    /// What one multiprocessor takes from memory at most.
    pub(crate) bytes_per_ns_each: f64,
    /// What a load adds to a block's life.
    pub(crate) latency: f64,
    /// What loads behind the reductions add to it, which wait for no result of them and are not early either.
    pub(crate) late: f64,
    /// What an operation of the math adds to a thread's life, with its conversions and addresses.
    pub(crate) operation: f64,
    /// Such operations of a multiprocessor, a nanosecond.
    pub(crate) operations_each: f64,
    /// A block's start, by its threads.
    pub(crate) ramp: f64,
    /// What a block of more threads than half of the most adds to its life.
    pub(crate) crowded: f64,
    /// One barrier of a block, by 256 threads and of as many at least.
    pub(crate) barrier: f64,
    /// The same of a cluster.
    pub(crate) cluster_barrier: f64,
    /// What of the L2 cache holds data between launches, in bytes.
    pub(crate) kept_bytes: f64,
    /// What stays there is read again faster by so much.
    pub(crate) again: f64,
}

/// Of matrix products.
#[derive(Debug)]
pub(crate) struct ProductRates {
    /// What passes from a copy's request to its arrival.
    pub(crate) latency: f64,
    /// What a block's start takes.
    pub(crate) ramp: f64,
    /// The epilogue of 4096 elements of a tile.
    pub(crate) epilogue: f64,
    /// What blocks that share k add, besides reading each other's sums.
    pub(crate) meeting: f64,
    /// Copies of threads of a multiprocessor; TMA copies boxes.
    pub(crate) copies_each: f64,
    /// What one multiprocessor reads of its shared memory for tensor cores.
    pub(crate) smem_bytes_each: f64,
    /// Bytes of a multiprocessor of what comes from memory, where each comes once.
    pub(crate) from_memory_each: f64,
    /// The same of what comes from L2.
    pub(crate) from_l2_each: f64,
    /// Operations on 16-bit floats, by instruction.
    pub(crate) mma_sync_each: f64,
    pub(crate) wgmma_each: f64,
    /// Operations of scalar cores.
    pub(crate) fma_each: f64,
    /// Beside each product with a weight scalar cores convert it, and half of them hold rows: as many as of so many rows more.
    pub(crate) converted: f64,
}

/// NVIDIA H200 SXM.
///
/// Times of streams are those with which the least is lost by what a search tries of 14 of 27 kernels whose points are all
/// timed (`bars::sweep`; they are in `tests/compile/choices/`), with each time a twentieth off, too; of the other 13 it then
/// lost 0.5 % at most. Those of products are of the fastest points of `results/runs/products/wgmma_h200`.
pub(super) const H200: Rates = Rates {
    bytes_per_ns: 4100.0,
    launch: 1000.0,
    overlap: 300.0,
    stream: StreamRates {
        bytes_per_ns_each: 62.0,
        latency: 103.0,
        late: 480.0,
        operation: 1.39,
        operations_each: 189.0,
        ramp: 0.076,
        crowded: 351.0,
        barrier: 67.0,
        cluster_barrier: 170.0,
        kept_bytes: 40e6,
        again: 1.8,
    },
    product: ProductRates {
        latency: 750.0,
        ramp: 900.0,
        epilogue: 160.0,
        meeting: 600.0,
        copies_each: 14.0,
        smem_bytes_each: 200.0,
        from_memory_each: 40.0,
        from_l2_each: 110.0,
        mma_sync_each: 4700.0,
        wgmma_each: 6300.0,
        fma_each: 400.0,
        converted: 2.0,
    },
};
