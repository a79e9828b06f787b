// Emitted by cutegen 0.1.0 for package `example-app` 0.1.0.
// Not meant to be edited: edit the kernels' specs and build.
//
// scatter on sm_90a: key cee6d995f0a73e983b001386a64089bbe39e98318d68c2fcbc7975e357b8050c
// scatter on host:x86_64-unknown-linux-gnu:x86-64-v3: key 9e5a5a4a3f522e84aaf6db18aeda433af1a9e9278739e0ba786b148fb462fb9e

self::cutegen_runtime::emitted_abi!(4, "0.1.0");

self::cutegen_runtime::cuda_module! {
    /// CUDA kernels for `sm_90a`.
    #[allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction, reason = "emitted code")]
    #[allow(unused, nonstandard_style, unreachable_pub, reason = "emitted code")]
    #[allow(missing_copy_implementations, unused_qualifications, single_use_lifetimes, reason = "emitted code")]
    pub mod cuda {
        use super::cutegen_runtime::check::{Check, all_aligned, any_zero};
        use super::cutegen_runtime::cuda::{
            Artifact, CUdeviceptr, CUstream, CudaContext, CudaStream, CudaView, CudaViewMut, Device,
            KernelEntry, LaunchConfig, LoadedKernel, Order, Step, TargetEntry, VariantEntry, Workspace,
        };
        use super::cutegen_runtime::dispatch::{Explain, Origin, Variant};
        use super::cutegen_runtime::element::F8E4M3;
        use super::cutegen_runtime::element::I4x2;
        use super::cutegen_runtime::element::U4x2;
        use super::cutegen_runtime::{Error, Int, params, unsafe_block, unsafe_extern, unsafe_fn};
        use ::std::sync::Arc;

        /// All kernels of this package, on the device of one context. A captured graph points into them and into its
        /// workspace: keep both for as long as it lives.
        #[derive(Debug)]
        pub struct Kernels { scatter: LoadedKernel, }

        /// Checks device and driver. A kernel is loaded, and its digest checked, when it is first called; by
        /// [`Kernels::warm`] before a capture, which loads none.
        ///
        /// # Errors
        /// No entry for the device, a driver that is too old, or what the driver says.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            let device = Device::of(context)?;
            Ok(Kernels { scatter: LoadedKernel::load(&device, &SCATTER)?, })
        }

        impl Kernels {
            /// Bytes that every raw entry finds zero and leaves so: the most that any kernel keeps.
            pub const KEPT_ZERO_BYTES: usize = 0;

            /// Loads every kernel that has not been called yet.
            ///
            /// # Errors
            /// Other bytes than were judged, or what the driver says; by the kernel's name.
            pub fn warm(&self) -> Result<(), Error> {
                self.scatter.warm()?;
                Ok(())
            }

            /// Workspace for the calls of every kernel on this stream: with memory aligned as allocators
            /// align it, none needs more than these 256 bytes.
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_bytes(stream, 256)
            }

            /// What is linked for this device, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> {
                Vec::from([self.scatter.explain()])
            }
        }

        unsafe_extern! {
            static cutegen_example_app_0_1_0_0bec3e1e1c36863973a9b72188fcb9af: [u8; 17049];
        }

        /// Arguments of [`Kernels::scatter`].
        ///
        /// ```text
        /// code[t, d] = cast(u4, scale[t, d])
        /// kept[t] = max(d, abs(scale[t, d])) > 1
        /// total[h] = kind[h] * sum((t, d), x[t, d])
        /// cache[slot[t], d] = cache[slot[t], d] + x[t, d] * scale[t, d]
        /// ```
        #[derive(Debug)]
        pub struct Scatter<'a> {
            /// Axis, 1..=256.
            pub t: usize,
            /// Axis, 256..=65536.
            pub n: usize,
            /// Axis, 2..=128 in steps of 2.
            pub d: usize,
            /// Axis, 2..=4096.
            pub ldx: usize,
            /// Weights, `i4[t, d]`: the same values at every launch.
            /// Two values to a byte, the first in its lower half: a view of `[t, d / 2]` bytes; of several rows each has an even `d`.
            pub x: CudaView<'a, I4x2, 2>,
            /// Input, `f32[t, d]`.
            /// Strides `[ldx * 2, 1]`, in elements.
            pub scale: CudaView<'a, f32, 2>,
            /// Input, `i32[t]`.
            /// Every value lies in `0..n`, and no two values are equal.
            pub slot: CudaView<'a, i32, 1>,
            /// Input, `u4[h]` with h = 3.
            /// Two values to a byte, the first in its lower half: a view of `[2]` bytes.
            /// Every value lies in `1..=4`.
            pub kind: CudaView<'a, U4x2, 1>,
            /// Read and partly written, `f8e4m3[n, d]`.
            /// Strides `[ldx, 1]`, in elements.
            pub cache: CudaViewMut<'a, F8E4M3, 2>,
            /// Output, `u4[t, d]`.
            /// Two values to a byte, the first in its lower half: a view of `[t, d / 2]` bytes; of several rows each has an even `d`.
            pub code: CudaViewMut<'a, U4x2, 2>,
            /// Output, `bool[t]`.
            pub kept: CudaViewMut<'a, bool, 1>,
            /// Output, `i64[h]` with h = 3.
            pub total: CudaViewMut<'a, i64, 1>,
        }

        static SCATTER: KernelEntry = KernelEntry {
            kernel: "scatter",
            targets: &[TargetEntry {
                arch: "sm_90a",
                variants: &[VariantEntry {
                    about: Variant {
                        name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "",
                    },
                    artifact: Artifact {
                        // SAFETY: linked from this package's archive, constant, of this length.
                        stored: unsafe_block! {
                            &cutegen_example_app_0_1_0_0bec3e1e1c36863973a9b72188fcb9af
                        },
                        compressed: false,
                        sha256: "0bec3e1e1c36863973a9b72188fcb9af5b3ea94b6cbb7c9fe845a827a6d27821",
                        len: 17049,
                    },
                    min_driver: 580,
                    shared_memory: 0,
                    steps: &[
                        Step {
                            entry: "cutegen_0bec3e1e1c368639_0",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                        Step {
                            entry: "cutegen_0bec3e1e1c368639_1",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                        Step {
                            entry: "cutegen_0bec3e1e1c368639_2",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                        Step {
                            entry: "cutegen_0bec3e1e1c368639_3",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                        Step {
                            entry: "cutegen_0bec3e1e1c368639_4",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                    ],
                }],
            }],
        };

        impl Kernels {
            unsafe_fn! {
                /// ```text
                /// code[t, d] = cast(u4, scale[t, d])
                /// kept[t] = max(d, abs(scale[t, d])) > 1
                /// total[h] = kind[h] * sum((t, d), x[t, d])
                /// cache[slot[t], d] = cache[slot[t], d] + x[t, d] * scale[t, d]
                /// ```
                ///
                /// Launches on `stream` and returns. Nothing is launched where no output has an element.
                ///
                /// # Errors
                /// What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.
                /// What goes wrong on the device later is reported by a later call.
                ///
                /// # Safety
                /// The kernel takes positions from memory of the device, which is not looked at here:
                /// - `slot`: every value lies in `0..n`, and no two values are equal.
                /// - `kind`: every value lies in `1..=4`.
                pub fn scatter(
                    &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: Scatter<'_>,
                ) -> Result<(), Error> {
                    let check = Check::new("scatter");
                    let t = args.t;
                    let n = args.n;
                    let d = args.d;
                    let ldx = args.ldx;
                    check.axis("t", t, 1, 256, 1)?;
                    check.axis("n", n, 256, 65536, 1)?;
                    check.axis("d", d, 2, 128, 2)?;
                    check.axis("ldx", ldx, 2, 4096, 1)?;
                    check.packed("x", args.x.layout(), [t, d])?;
                    check.row_major("x", args.x.layout())?;
                    check.shape("scale", args.scale.layout(), [t, d])?;
                    check.strides(
                        "scale", args.scale.layout(), [check.count("scale", Int::from(ldx) * 2)?, 1],
                    )?;
                    check.shape("slot", args.slot.layout(), [t])?;
                    check.row_major("slot", args.slot.layout())?;
                    check.packed("kind", args.kind.layout(), [3])?;
                    check.row_major("kind", args.kind.layout())?;
                    check.shape("cache", args.cache.layout(), [n, d])?;
                    check.strides("cache", args.cache.layout(), [ldx, 1])?;
                    check.injective("cache", args.cache.layout())?;
                    check.packed("code", args.code.layout(), [t, d])?;
                    check.row_major("code", args.code.layout())?;
                    check.shape("kept", args.kept.layout(), [t])?;
                    check.row_major("kept", args.kept.layout())?;
                    check.shape("total", args.total.layout(), [3])?;
                    check.row_major("total", args.total.layout())?;
                    if args.cache.layout().is_empty() && args.code.layout().is_empty()
                        && args.kept.layout().is_empty() && args.total.layout().is_empty()
                    {
                        return Ok(());
                    }
                    let order = Order::begin(&self.scatter, stream)?;
                    let launched = {
                        let bound_x = order.read("x", args.x)?;
                        let bound_scale = order.read("scale", args.scale)?;
                        let bound_slot = order.read("slot", args.slot)?;
                        let bound_kind = order.read("kind", args.kind)?;
                        let bound_cache = order.write("cache", args.cache)?;
                        let bound_code = order.write("code", args.code)?;
                        let bound_kept = order.write("kept", args.kept)?;
                        let bound_total = order.write("total", args.total)?;
                        check.disjoint(
                            [
                                ("cache", bound_cache.extent()),
                                ("code", bound_code.extent()),
                                ("kept", bound_kept.extent()),
                                ("total", bound_total.extent()),
                            ],
                            [
                                ("x", bound_x.extent()),
                                ("scale", bound_scale.extent()),
                                ("slot", bound_slot.extent()),
                                ("kind", bound_kind.extent()),
                            ],
                        )?;
                        let variant = self.scatter_variant(
                            t,
                            n,
                            d,
                            ldx,
                            bound_x.address(),
                            bound_scale.address(),
                            bound_slot.address(),
                            bound_kind.address(),
                            bound_cache.address(),
                            bound_code.address(),
                            bound_kept.address(),
                            bound_total.address(),
                        );
                        let bound_workspace = order.workspace(
                            workspace, self.scatter_bytes(variant, t, n, d, ldx),
                        )?;
                        // SAFETY: arguments are checked above; what is bound keeps the memory past the launch.
                        unsafe_block! {
                            self.scatter_dispatch(
                                variant,
                                stream.cu_stream(),
                                bound_workspace.address(),
                                t,
                                n,
                                d,
                                ldx,
                                bound_x.address(),
                                bound_scale.address(),
                                bound_slot.address(),
                                bound_kind.address(),
                                bound_cache.address(),
                                bound_code.address(),
                                bound_kept.address(),
                                bound_total.address(),
                            )
                        }
                    };
                    order.finish(launched)
                }
            }

            unsafe_fn! {
                /// [`Self::scatter`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Errors
                /// What the driver says, or a grid that no device takes. Arguments are not looked at.
                ///
                /// # Safety
                /// `stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the
                /// tensors live until the graph is gone. Axes lie in their ranges. Each address is
                /// that of a tensor as [`Scatter`] describes it, dense and row-major where no strides are
                /// said, aligned to its element, alive until the stream has passed the launch; what is written
                /// overlaps nothing.
                /// `workspace` is aligned to 256 bytes and has [`Self::scatter_workspace_bytes`]. Order is
                /// the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.
                /// Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.
                pub fn scatter_raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    t: usize,
                    n: usize,
                    d: usize,
                    ldx: usize,
                    x: CUdeviceptr,
                    scale: CUdeviceptr,
                    slot: CUdeviceptr,
                    kind: CUdeviceptr,
                    cache: CUdeviceptr,
                    code: CUdeviceptr,
                    kept: CUdeviceptr,
                    total: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("scatter");
                    if any_zero(&[n, d]) && any_zero(&[t, d]) && any_zero(&[t]) && any_zero(&[3]) {
                        return Ok(());
                    }
                    self.scatter.bind()?;
                    let variant = self.scatter_variant(
                        t, n, d, ldx, x, scale, slot, kind, cache, code, kept, total,
                    );
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        self.scatter_dispatch(
                            variant,
                            stream,
                            workspace,
                            t,
                            n,
                            d,
                            ldx,
                            x,
                            scale,
                            slot,
                            kind,
                            cache,
                            code,
                            kept,
                            total,
                        )
                    }
                }
            }

            /// Bytes of workspace that [`Self::scatter_raw`] needs for these axes and addresses.
            pub fn scatter_workspace_bytes(
                &self,
                t: usize,
                n: usize,
                d: usize,
                ldx: usize,
                x: CUdeviceptr,
                scale: CUdeviceptr,
                slot: CUdeviceptr,
                kind: CUdeviceptr,
                cache: CUdeviceptr,
                code: CUdeviceptr,
                kept: CUdeviceptr,
                total: CUdeviceptr,
            ) -> usize {
                let variant = self.scatter_variant(
                    t, n, d, ldx, x, scale, slot, kind, cache, code, kept, total,
                );
                self.scatter_bytes(variant, t, n, d, ldx)
            }

            /// Bytes of workspace of a variant.
            fn scatter_bytes(&self, variant: usize, t: usize, n: usize, d: usize, ldx: usize) -> usize {
                let bytes = match variant {
                    _ => Int::padded(Int::new(8)),
                };
                Int::bytes(bytes)
            }

            /// The variant that these arguments get, counted through all targets.
            fn scatter_variant(
                &self,
                t: usize,
                n: usize,
                d: usize,
                ldx: usize,
                x: CUdeviceptr,
                scale: CUdeviceptr,
                slot: CUdeviceptr,
                kind: CUdeviceptr,
                cache: CUdeviceptr,
                code: CUdeviceptr,
                kept: CUdeviceptr,
                total: CUdeviceptr,
            ) -> usize {
                0
            }

            unsafe_fn! {
                /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
                fn scatter_dispatch(
                    &self,
                    variant: usize,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    t: usize,
                    n: usize,
                    d: usize,
                    ldx: usize,
                    x: CUdeviceptr,
                    scale: CUdeviceptr,
                    slot: CUdeviceptr,
                    kind: CUdeviceptr,
                    cache: CUdeviceptr,
                    code: CUdeviceptr,
                    kept: CUdeviceptr,
                    total: CUdeviceptr,
                ) -> Result<(), Error> {
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        match variant {
                            _ => self.scatter_sm_90a_naive(
                                stream, workspace, t, n, d, ldx, x, scale, slot, kind, cache, code, kept, total,
                            ),
                        }
                    }
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a`, `naive`.
                fn scatter_sm_90a_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    t: usize,
                    n: usize,
                    d: usize,
                    ldx: usize,
                    x: CUdeviceptr,
                    scale: CUdeviceptr,
                    slot: CUdeviceptr,
                    kind: CUdeviceptr,
                    cache: CUdeviceptr,
                    code: CUdeviceptr,
                    kept: CUdeviceptr,
                    total: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("scatter");
                    let param_t = t as i64;
                    let param_n = n as i64;
                    let param_d = d as i64;
                    let param_ldx = ldx as i64;
                    let part_0 = workspace;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(
                                Int::ceil_div(Int::from(t) * Int::from(d), Int::new(256)), Int::new(1048576),
                            ),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        x,
                        scale,
                        slot,
                        kind,
                        cache,
                        code,
                        kept,
                        total,
                        param_t,
                        param_n,
                        param_d,
                        param_ldx,
                        part_0,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.scatter.launch(0, 0, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(t), Int::new(256)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        x,
                        scale,
                        slot,
                        kind,
                        cache,
                        code,
                        kept,
                        total,
                        param_t,
                        param_n,
                        param_d,
                        param_ldx,
                        part_0,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.scatter.launch(0, 1, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: [1, 1, 1], block: [256, 1, 1], ..LaunchConfig::default()
                    };
                    let mut params = params![
                        x,
                        scale,
                        slot,
                        kind,
                        cache,
                        code,
                        kept,
                        total,
                        param_t,
                        param_n,
                        param_d,
                        param_ldx,
                        part_0,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.scatter.launch(0, 2, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: [1, 1, 1], block: [256, 1, 1], ..LaunchConfig::default()
                    };
                    let mut params = params![
                        x,
                        scale,
                        slot,
                        kind,
                        cache,
                        code,
                        kept,
                        total,
                        param_t,
                        param_n,
                        param_d,
                        param_ldx,
                        part_0,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.scatter.launch(0, 3, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(
                                Int::ceil_div(Int::from(t) * Int::from(d), Int::new(256)), Int::new(1048576),
                            ),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        x,
                        scale,
                        slot,
                        kind,
                        cache,
                        code,
                        kept,
                        total,
                        param_t,
                        param_n,
                        param_d,
                        param_ldx,
                        part_0,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.scatter.launch(0, 4, stream, &config, &mut params)? };
                    Ok(())
                }
            }
        }
    }
}

/// Kernels on the CPU for `host:x86_64-unknown-linux-gnu:x86-64-v3`, over fallbacks from the math.
#[allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction, reason = "emitted code")]
#[allow(unused, nonstandard_style, unreachable_pub, reason = "emitted code")]
#[allow(missing_copy_implementations, unused_qualifications, single_use_lifetimes, reason = "emitted code")]
pub mod host {
    use super::cutegen_runtime::check::{Check, all_aligned, any_zero};
    use super::cutegen_runtime::dispatch::{Explain, Origin, Variant};
    use super::cutegen_runtime::element::F8E4M3;
    use super::cutegen_runtime::element::I4x2;
    use super::cutegen_runtime::element::U4x2;
    use super::cutegen_runtime::host::{Workspace, call, cpu};
    use super::cutegen_runtime::{Error, Int, View, ViewMut, fallback as math, params};
    use super::cutegen_runtime::{unsafe_block, unsafe_extern, unsafe_fn};

    /// Workspace for every call of every kernel: none needs more than these 1280 bytes.
    pub fn workspace() -> Workspace {
        Workspace::with_bytes(1280)
    }

    /// What is linked, and in which order it is tried.
    pub fn explain() -> Vec<Explain> {
        Vec::from([Explain {
            kernel: "scatter",
            target: "x86-64-v3",
            device: cpu::level().to_owned(),
            variants: if cpu::supports("x86-64-v3") {
                SCATTER.to_vec()
            } else {
                SCATTER[1..].to_vec()
            },
            left_out: Vec::new(),
            passed_over: Vec::new(),
        }])
    }

    unsafe_extern! {
        fn cutegen_f68da6f01bdd9073(params: *mut *mut ::core::ffi::c_void);
    }

    /// Arguments of [`scatter`].
    ///
    /// ```text
    /// code[t, d] = cast(u4, scale[t, d])
    /// kept[t] = max(d, abs(scale[t, d])) > 1
    /// total[h] = kind[h] * sum((t, d), x[t, d])
    /// cache[slot[t], d] = cache[slot[t], d] + x[t, d] * scale[t, d]
    /// ```
    #[derive(Debug)]
    pub struct Scatter<'a> {
        /// Axis, 1..=256.
        pub t: usize,
        /// Axis, 256..=65536.
        pub n: usize,
        /// Axis, 2..=128 in steps of 2.
        pub d: usize,
        /// Axis, 2..=4096.
        pub ldx: usize,
        /// Weights, `i4[t, d]`: the same values at every launch.
        /// Two values to a byte, the first in its lower half: a view of `[t, d / 2]` bytes; of several rows each has an even `d`.
        pub x: View<'a, I4x2, 2>,
        /// Input, `f32[t, d]`.
        /// Strides `[ldx * 2, 1]`, in elements.
        pub scale: View<'a, f32, 2>,
        /// Input, `i32[t]`.
        /// Every value lies in `0..n`, and no two values are equal.
        pub slot: View<'a, i32, 1>,
        /// Input, `u4[h]` with h = 3.
        /// Two values to a byte, the first in its lower half: a view of `[2]` bytes.
        /// Every value lies in `1..=4`.
        pub kind: View<'a, U4x2, 1>,
        /// Read and partly written, `f8e4m3[n, d]`.
        /// Strides `[ldx, 1]`, in elements.
        pub cache: ViewMut<'a, F8E4M3, 2>,
        /// Output, `u4[t, d]`.
        /// Two values to a byte, the first in its lower half: a view of `[t, d / 2]` bytes; of several rows each has an even `d`.
        pub code: ViewMut<'a, U4x2, 2>,
        /// Output, `bool[t]`.
        pub kept: ViewMut<'a, bool, 1>,
        /// Output, `i64[h]` with h = 3.
        pub total: ViewMut<'a, i64, 1>,
    }

    /// ```text
    /// code[t, d] = cast(u4, scale[t, d])
    /// kept[t] = max(d, abs(scale[t, d])) > 1
    /// total[h] = kind[h] * sum((t, d), x[t, d])
    /// cache[slot[t], d] = cache[slot[t], d] + x[t, d] * scale[t, d]
    /// ```
    ///
    /// Returns when done. Nothing is done where no output has an element.
    ///
    /// # Errors
    /// What is wrong with the call, by the argument's name; nothing has been written then.
    pub fn scatter(workspace: &mut Workspace, mut args: Scatter<'_>) -> Result<(), Error> {
        let check = Check::new("scatter");
        let t = args.t;
        let n = args.n;
        let d = args.d;
        let ldx = args.ldx;
        check.axis("t", t, 1, 256, 1)?;
        check.axis("n", n, 256, 65536, 1)?;
        check.axis("d", d, 2, 128, 2)?;
        check.axis("ldx", ldx, 2, 4096, 1)?;
        check.packed("x", args.x.layout(), [t, d])?;
        check.row_major("x", args.x.layout())?;
        check.shape("scale", args.scale.layout(), [t, d])?;
        check.strides("scale", args.scale.layout(), [check.count("scale", Int::from(ldx) * 2)?, 1])?;
        check.shape("slot", args.slot.layout(), [t])?;
        check.row_major("slot", args.slot.layout())?;
        check.packed("kind", args.kind.layout(), [3])?;
        check.row_major("kind", args.kind.layout())?;
        check.shape("cache", args.cache.layout(), [n, d])?;
        check.strides("cache", args.cache.layout(), [ldx, 1])?;
        check.injective("cache", args.cache.layout())?;
        check.packed("code", args.code.layout(), [t, d])?;
        check.row_major("code", args.code.layout())?;
        check.shape("kept", args.kept.layout(), [t])?;
        check.row_major("kept", args.kept.layout())?;
        check.shape("total", args.total.layout(), [3])?;
        check.row_major("total", args.total.layout())?;
        if args.cache.layout().is_empty() && args.code.layout().is_empty()
            && args.kept.layout().is_empty() && args.total.layout().is_empty()
        {
            return Ok(());
        }
        check.within("slot", args.slot.integers([t]), Int::new(0), Int::from(n))?;
        check.distinct("slot", args.slot.integers([t]))?;
        check.within("kind", args.kind.integers([3]), Int::new(1), Int::new(5))?;
        let x = args.x.as_ptr();
        let scale = args.scale.as_ptr();
        let slot = args.slot.as_ptr();
        let kind = args.kind.as_ptr();
        let cache = args.cache.as_mut_ptr();
        let code = args.code.as_mut_ptr();
        let kept = args.kept.as_mut_ptr();
        let total = args.total.as_mut_ptr();
        match workspace.choose(
            scatter_variant(
                t,
                n,
                d,
                ldx,
                x.addr() as u64,
                scale.addr() as u64,
                slot.addr() as u64,
                kind.addr() as u64,
                cache.addr() as u64,
                code.addr() as u64,
                kept.addr() as u64,
                total.addr() as u64,
            ),
            0,
        ) {
            0 => {
                let scratch = workspace.ready(
                    "scatter",
                    check.count(
                        "workspace", Int::padded(Int::new(4) * Int::from(t)) + Int::padded(Int::new(8)),
                    )?,
                )?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! {
                    scatter_host_naive(
                        scratch, t, n, d, ldx, x, scale, slot, kind, cache, code, kept, total,
                    )
                }
            }
            _ => fallback_scatter(&mut args, [t, n, d, ldx, 3]),
        }
    }

    /// The variant that these arguments get; one past the last is the math.
    fn scatter_variant(
        t: usize,
        n: usize,
        d: usize,
        ldx: usize,
        x: u64,
        scale: u64,
        slot: u64,
        kind: u64,
        cache: u64,
        code: u64,
        kept: u64,
        total: u64,
    ) -> usize {
        if !cpu::supports("x86-64-v3") {
            return 1;
        }
        0
    }

    unsafe_fn! {
        /// Launch contract of variant 0 for `host`, `naive`.
        fn scatter_host_naive(
            workspace: *mut u8,
            t: usize,
            n: usize,
            d: usize,
            ldx: usize,
            x: *const I4x2,
            scale: *const f32,
            slot: *const i32,
            kind: *const U4x2,
            cache: *mut F8E4M3,
            code: *mut U4x2,
            kept: *mut bool,
            total: *mut i64,
        ) -> Result<(), Error> {
            let check = Check::new("scatter");
            let param_t = t as i64;
            let param_n = n as i64;
            let param_d = d as i64;
            let param_ldx = ldx as i64;
            let param_h: i64 = 3;
            let part_0 = workspace;
            let part_1 = workspace.wrapping_add(
                check.count("workspace", Int::padded(Int::new(4) * Int::from(t)))?
            );
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! {
                call(
                    cutegen_f68da6f01bdd9073,
                    &mut params![
                        x,
                        scale,
                        slot,
                        kind,
                        cache,
                        code,
                        kept,
                        total,
                        param_t,
                        param_n,
                        param_d,
                        param_ldx,
                        param_h,
                        part_0,
                        part_1,
                    ],
                )
            };
            Ok(())
        }
    }

    /// The math, in f64, rounded where the spec rounds.
    fn fallback_scatter(args: &mut Scatter<'_>, [a0, a1, a2, a3, a4]: [usize; 5]) -> Result<(), Error> {
        let check = Check::new("scatter");
        let t0 = &args.x;
        let t1 = &args.scale;
        let t2 = &args.slot;
        let t3 = &args.kind;
        let t4 = &mut args.cache;
        let t5 = &mut args.code;
        let t6 = &mut args.kept;
        let t7 = &mut args.total;
        let mut w0 = check.zeros::<f64>(&[a0])?;
        let mut w1 = check.zeros::<i64>(&[])?;
        for v0 in 0..a0 {
            for v1 in 0..a2 {
                t5.put4(v0 * a2 + v1, math::cast_u4(f64::from(t1.at([v0, v1]))));
            }
        }
        for v2 in 0..a0 {
            w0[v2] = {
                let mut r = f64::NEG_INFINITY;
                for v3 in 0..a2 {
                    let e: f64 = (f64::from(t1.at([v2, v3]))).abs();
                    r = math::max(r, e);
                }
                r
            };
        }
        for v2 in 0..a0 {
            t6.put([v2], (w0[v2]> 1.0_f64));
        }
        w1[0] = {
            let mut r = 0_i64;
            for v5 in 0..a0 {
                for v6 in 0..a2 {
                    let e: i64 = t0.at4(v5 * a2 + v6);
                    r = r + e;
                }
            }
            r
        };
        for v4 in 0..a4 {
            t7.put([v4], (t3.at4(v4) * w1[0]));
        }
        for v7 in 0..a0 {
            for v8 in 0..a2 {
                t4.put(
                    [math::at((i64::from(t2.at([v7])))), v8],
                    F8E4M3::from_f64((t4.at([math::at((i64::from(t2.at([v7])))), v8]).to_f64() + ((
                        t0.at4(v7 * a2 + v8) as f64
                    ) * f64::from(t1.at([v7, v8]))))),
                );
            }
        }
        Ok(())
    }

    static SCATTER: [Variant; 2] = [
        Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" },
        Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
    ];
}
