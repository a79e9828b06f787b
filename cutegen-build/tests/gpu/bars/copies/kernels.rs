//! The twenty copy kernels: what each is, its launch, and the source of all of them for some streams. Knows no device.

/// The device code that they are made of.
const TEXT: &str = include_str!("copies.cuh");

/// One way to copy.
pub(super) struct Kernel {
    /// Also its entry.
    pub(super) name: &'static str,
    /// Threads of a block.
    pub(super) threads: u32,
    body: &'static str,
    way: Way,
}

enum Way {
    /// The grid covers all, each block so many bytes of a stream.
    Once(i64),
    /// So many blocks on each multiprocessor.
    Around(u32),
    /// The same, with so many bytes of shared memory each.
    Ring(u32, u32),
}

/// Bytes of a block of `threads` threads that copy `units` units of `bytes` bytes each.
const fn once(threads: i64, units: i64, bytes: i64) -> Way {
    Way::Once(threads * units * bytes)
}

const fn kernel(name: &'static str, threads: u32, body: &'static str, way: Way) -> Kernel {
    Kernel { name, threads, body, way }
}

/// Widths of accesses, units in flight, hints, sizes of blocks, a grid that goes round, and rings of bulk copies.
pub(super) const ALL: [Kernel; 20] = [
    kernel("v16_u1_t128", 128, "units<16, 1, Plain>", once(128, 1, 16)),
    kernel("v16_u1_t256", 256, "units<16, 1, Plain>", once(256, 1, 16)),
    kernel("v16_u1_t512", 512, "units<16, 1, Plain>", once(512, 1, 16)),
    kernel("v16_u1_t1024", 1024, "units<16, 1, Plain>", once(1024, 1, 16)),
    kernel("v16_u2_t256", 256, "units<16, 2, Plain>", once(256, 2, 16)),
    kernel("v16_u4_t256", 256, "units<16, 4, Plain>", once(256, 4, 16)),
    kernel("v16_u8_t128", 128, "units<16, 8, Plain>", once(128, 8, 16)),
    kernel("v8_u4_t256", 256, "units<8, 4, Plain>", once(256, 4, 8)),
    kernel("v4_u8_t256", 256, "units<4, 8, Plain>", once(256, 8, 4)),
    kernel("v16_u4_t256_streaming", 256, "units<16, 4, Streaming>", once(256, 4, 16)),
    kernel("v16_u4_t512_read_only", 512, "units<16, 4, ReadOnly>", once(512, 4, 16)),
    kernel("v16_u2_t512_no_allocate", 512, "units<16, 2, NoAllocate>", once(512, 2, 16)),
    kernel("v16_u2_t1024_evict_first", 1024, "units<16, 2, EvictFirst>", once(1024, 2, 16)),
    kernel("v16_u1_t256_around", 256, "units<16, 1, Plain>", Way::Around(8)),
    kernel("v16_u4_t256_around", 256, "units<16, 4, Plain>", Way::Around(6)),
    kernel("v16_u4_t512_around_no_allocate", 512, "units<16, 4, NoAllocate>", Way::Around(3)),
    kernel("ring_4k_x8", 128, "ring<4096, 8>", Way::Ring(4, 4096 * 8)),
    kernel("ring_8k_x6", 128, "ring<8192, 6>", Way::Ring(4, 8192 * 6)),
    kernel("ring_16k_x6", 128, "ring<16384, 6>", Way::Ring(2, 16384 * 6)),
    kernel("ring_32k_x6", 128, "ring<32768, 6>", Way::Ring(1, 32768 * 6)),
];

impl Kernel {
    /// Blocks for streams of `bytes` written bytes, or read ones where nothing is written.
    pub(super) fn blocks(&self, bytes: i64, sm_count: u32) -> u32 {
        match self.way {
            Way::Once(share) => u32::try_from((bytes + share - 1) / share).expect("fits a grid"),
            Way::Around(blocks) | Way::Ring(blocks, _) => blocks * sm_count,
        }
    }

    /// Bytes of its dynamic shared memory.
    pub(super) fn smem(&self) -> u32 {
        match self.way {
            Way::Ring(_, bytes) => bytes,
            Way::Once(_) | Way::Around(_) => 0,
        }
    }

    /// Whether what it writes is its first stream as it is.
    pub(super) fn moves_the_first(&self) -> bool {
        matches!(self.way, Way::Ring(..))
    }
}

/// Streams that a kernel reads and writes: how many, and how many bytes are read of each for a written one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Streams {
    pub(super) reads: usize,
    pub(super) writes: usize,
    pub(super) per: usize,
}

impl Streams {
    /// All that the bar table has: copies, gated pairs, residual sums, casts to half the width, reductions.
    pub(super) const ALL: [Streams; 5] = [
        Streams { reads: 1, writes: 1, per: 1 },
        Streams { reads: 2, writes: 1, per: 1 },
        Streams { reads: 2, writes: 2, per: 1 },
        Streams { reads: 1, writes: 1, per: 2 },
        Streams { reads: 1, writes: 0, per: 1 },
    ];

    /// The source of all twenty.
    pub(super) fn source(self) -> String {
        let Streams { reads, writes, per } = self;
        let head = format!("#define READS {reads}\n#define WRITES {writes}\n#define PER {per}\n{TEXT}");
        let entry = |kernel: &Kernel| {
            let Kernel { name, threads, body, .. } = kernel;
            format!(
                "extern \"C\" __global__ void __launch_bounds__({threads}) {name}(ARGUMENTS) {{ {body}(PASSED); }}\n"
            )
        };
        ALL.iter().fold(head, |text, kernel| text + &entry(kernel))
    }
}
