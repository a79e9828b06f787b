// Emitted by cutegen 0.1.0 for package `example-app` 0.1.0.
// Not meant to be edited: edit the kernels' specs and build.
//
// everything on sm_90a:h200: key a42d08ef8db309a46a343099fd6022ad012e8c73b29c52ba20357e82741eb992
// everything on sm_90a: key 27731e2c8c411a5d1b84ce85978efd897beeb662ab8304de032f78822a2ac031
// everything on host:x86_64-unknown-linux-gnu:x86-64-v3: key 4bcf6f77d85b9e991bc0f8c93cd7cb49809c534a6bb9f37981822977934932ce

self::cutegen_runtime::emitted_abi!(4, "0.1.0");

self::cutegen_runtime::cuda_module! {
    /// CUDA kernels for `sm_90a`, `sm_90a:h200`.
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
        use super::cutegen_runtime::half::bf16;
        use super::cutegen_runtime::{Error, Int, params, unsafe_block, unsafe_extern, unsafe_fn};
        use ::std::sync::Arc;

        /// All kernels of this package, on the device of one context. A captured graph points into them and into its
        /// workspace: keep both for as long as it lives.
        #[derive(Debug)]
        pub struct Kernels { everything: LoadedKernel, }

        /// Checks device and driver. A kernel is loaded, and its digest checked, when it is first called; by
        /// [`Kernels::warm`] before a capture, which loads none.
        ///
        /// # Errors
        /// No entry for the device, a driver that is too old, or what the driver says.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            let device = Device::of(context)?;
            Ok(Kernels { everything: LoadedKernel::load(&device, &EVERYTHING)?, })
        }

        impl Kernels {
            /// Bytes that every raw entry finds zero and leaves so: the most that any kernel keeps.
            pub const KEPT_ZERO_BYTES: usize = 512;

            /// Loads every kernel that has not been called yet.
            ///
            /// # Errors
            /// Other bytes than were judged, or what the driver says; by the kernel's name.
            pub fn warm(&self) -> Result<(), Error> {
                self.everything.warm()?;
                Ok(())
            }

            /// Workspace for the calls of every kernel on this stream: with memory aligned as allocators
            /// align it, none needs more than these 8389632 bytes.
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_regions(stream, 8389632, Self::KEPT_ZERO_BYTES)
            }

            /// What is linked for this device, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> {
                Vec::from([self.everything.explain()])
            }
        }

        unsafe_extern! {
            static cutegen_example_app_0_1_0_7b665c7adbcd34311568ed0bb69413bc: [u8; 7];

            static cutegen_example_app_0_1_0_d0410597b9327fd0150c1c6aa60aea61: [u8; 14215];
        }

        /// Arguments of [`Kernels::everything`].
        ///
        /// ```text
        /// y[m, stream] = sum(k, check[m, k] * w[stream, k]) + eps
        /// z[twice] = args
        /// ```
        #[derive(Debug)]
        pub struct Everything<'a> {
            /// Axis, 8..=4096 in steps of 8.
            pub m: usize,
            /// Axis, 0..=64.
            pub stream: usize,
            /// Input, `f32[m, k]` with k = 512.
            pub check: CudaView<'a, f32, 2>,
            /// Weights, `bf16[stream, k]` with k = 512: the same values at every launch.
            pub w: CudaView<'a, bf16, 2>,
            /// Output, `f32[m, stream]`.
            pub y: CudaViewMut<'a, f32, 2>,
            /// Output, `f64[twice]` with twice = m * 2.
            pub z: CudaViewMut<'a, f64, 1>,
            /// Scalar, `f32`.
            pub eps: f32,
            /// Scalar, `f64`.
            pub args: f64,
        }

        static EVERYTHING: KernelEntry = KernelEntry {
            kernel: "everything",
            targets: &[
                TargetEntry {
                    arch: "sm_90a:h200",
                    variants: &[
                        VariantEntry {
                            about: Variant {
                                name: "split-2",
                                origin: Origin::Tuned,
                                eligible: "m % 8 == 0 and check, w aligned to 16 bytes and the device holds all blocks at once",
                                preferred: "m * stream >= 1024 and stream <= 64",
                                tuned_on: "NVIDIA H200",
                            },
                            artifact: Artifact {
                                // SAFETY: linked from this package's archive, constant, of this length.
                                stored: unsafe_block! {
                                    &cutegen_example_app_0_1_0_7b665c7adbcd34311568ed0bb69413bc
                                },
                                compressed: false,
                                sha256: "7b665c7adbcd34311568ed0bb69413bca20d1988621a45fd7c2594a0d3a367aa",
                                len: 7,
                            },
                            min_driver: 580,
                            shared_memory: 232448,
                            steps: &[
                                Step {
                                    entry: "split_0", dynamic_smem_max: 232448, nonportable_cluster: false,
                                },
                                Step { entry: "split_1", dynamic_smem_max: 0, nonportable_cluster: false },
                            ],
                        },
                        VariantEntry {
                            about: Variant {
                                name: "naive",
                                origin: Origin::Untuned,
                                eligible: "",
                                preferred: "",
                                tuned_on: "",
                            },
                            artifact: Artifact {
                                // SAFETY: linked from this package's archive, constant, of this length.
                                stored: unsafe_block! {
                                    &cutegen_example_app_0_1_0_d0410597b9327fd0150c1c6aa60aea61
                                },
                                compressed: false,
                                sha256: "d0410597b9327fd0150c1c6aa60aea61527534f28ee4569e6a4df638ded778e6",
                                len: 14215,
                            },
                            min_driver: 580,
                            shared_memory: 0,
                            steps: &[
                                Step {
                                    entry: "cutegen_d0410597b9327fd0_0",
                                    dynamic_smem_max: 0,
                                    nonportable_cluster: false,
                                },
                                Step {
                                    entry: "cutegen_d0410597b9327fd0_1",
                                    dynamic_smem_max: 0,
                                    nonportable_cluster: false,
                                },
                            ],
                        },
                    ],
                },
                TargetEntry {
                    arch: "sm_90a",
                    variants: &[VariantEntry {
                        about: Variant {
                            name: "naive",
                            origin: Origin::Untuned,
                            eligible: "",
                            preferred: "",
                            tuned_on: "",
                        },
                        artifact: Artifact {
                            // SAFETY: linked from this package's archive, constant, of this length.
                            stored: unsafe_block! {
                                &cutegen_example_app_0_1_0_d0410597b9327fd0150c1c6aa60aea61
                            },
                            compressed: false,
                            sha256: "d0410597b9327fd0150c1c6aa60aea61527534f28ee4569e6a4df638ded778e6",
                            len: 14215,
                        },
                        min_driver: 580,
                        shared_memory: 0,
                        steps: &[
                            Step {
                                entry: "cutegen_d0410597b9327fd0_0",
                                dynamic_smem_max: 0,
                                nonportable_cluster: false,
                            },
                            Step {
                                entry: "cutegen_d0410597b9327fd0_1",
                                dynamic_smem_max: 0,
                                nonportable_cluster: false,
                            },
                        ],
                    }],
                },
            ],
        };

        impl Kernels {
            /// ```text
            /// y[m, stream] = sum(k, check[m, k] * w[stream, k]) + eps
            /// z[twice] = args
            /// ```
            ///
            /// Launches on `stream` and returns. Nothing is launched where no output has an element.
            ///
            /// # Errors
            /// What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.
            /// What goes wrong on the device later is reported by a later call.
            pub fn everything(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: Everything<'_>,
            ) -> Result<(), Error> {
                let check = Check::new("everything");
                let m = args.m;
                let its_stream = args.stream;
                check.axis("m", m, 8, 4096, 8)?;
                check.axis("stream", its_stream, 0, 64, 1)?;
                let twice = check.count("twice", Int::from(m) * 2)?;
                check.shape("check", args.check.layout(), [m, 512])?;
                check.row_major("check", args.check.layout())?;
                check.shape("w", args.w.layout(), [its_stream, 512])?;
                check.row_major("w", args.w.layout())?;
                check.shape("y", args.y.layout(), [m, its_stream])?;
                check.row_major("y", args.y.layout())?;
                check.shape("z", args.z.layout(), [twice])?;
                check.row_major("z", args.z.layout())?;
                if args.y.layout().is_empty() && args.z.layout().is_empty() {
                    return Ok(());
                }
                let order = Order::begin(&self.everything, stream)?;
                let launched = {
                    let bound_its_check = order.read("check", args.check)?;
                    let bound_w = order.read("w", args.w)?;
                    let bound_y = order.write("y", args.y)?;
                    let bound_z = order.write("z", args.z)?;
                    check.disjoint(
                        [("y", bound_y.extent()), ("z", bound_z.extent())],
                        [("check", bound_its_check.extent()), ("w", bound_w.extent())],
                    )?;
                    let variant = self.everything_variant(
                        m,
                        its_stream,
                        bound_its_check.address(),
                        bound_w.address(),
                        bound_y.address(),
                        bound_z.address(),
                    );
                    let [bound_workspace, bound_kept_zero] = order.workspace_and_kept_zero(
                        workspace, self.everything_bytes(variant, m, its_stream, twice), 512,
                    )?;
                    // SAFETY: arguments are checked above; what is bound keeps the memory past the launch.
                    unsafe_block! {
                        self.everything_dispatch(
                            variant,
                            stream.cu_stream(),
                            bound_workspace.address(),
                            bound_kept_zero.address(),
                            m,
                            its_stream,
                            twice,
                            bound_its_check.address(),
                            bound_w.address(),
                            bound_y.address(),
                            bound_z.address(),
                            args.eps,
                            args.args,
                        )
                    }
                };
                order.finish(launched)
            }

            unsafe_fn! {
                /// [`Self::everything`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Errors
                /// What the driver says, or a grid that no device takes. Arguments are not looked at.
                ///
                /// # Safety
                /// `stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the
                /// tensors live until the graph is gone. Axes lie in their ranges. Each address is
                /// that of a tensor as [`Everything`] describes it, dense and row-major where no strides are
                /// said, aligned to its element, alive until the stream has passed the launch; what is written
                /// overlaps nothing.
                /// `workspace` is aligned to 256 bytes and has [`Self::everything_workspace_bytes`]. Order is
                /// the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.
                /// Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.
                pub fn everything_raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    its_stream: usize,
                    its_check: CUdeviceptr,
                    w: CUdeviceptr,
                    y: CUdeviceptr,
                    z: CUdeviceptr,
                    eps: f32,
                    its_args: f64,
                ) -> Result<(), Error> {
                    let check = Check::new("everything");
                    let twice = check.count("twice", Int::from(m) * 2)?;
                    if any_zero(&[m, its_stream]) && any_zero(&[twice]) {
                        return Ok(());
                    }
                    self.everything.bind()?;
                    let variant = self.everything_variant(m, its_stream, its_check, w, y, z);
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        self.everything_dispatch(
                            variant,
                            stream,
                            workspace,
                            kept_zero,
                            m,
                            its_stream,
                            twice,
                            its_check,
                            w,
                            y,
                            z,
                            eps,
                            its_args,
                        )
                    }
                }
            }

            /// Bytes of workspace that [`Self::everything_raw`] needs for these axes and addresses.
            pub fn everything_workspace_bytes(
                &self,
                m: usize,
                its_stream: usize,
                its_check: CUdeviceptr,
                w: CUdeviceptr,
                y: CUdeviceptr,
                z: CUdeviceptr,
            ) -> usize {
                let twice = Int::bytes(Int::from(m) * 2);
                let variant = self.everything_variant(m, its_stream, its_check, w, y, z);
                self.everything_bytes(variant, m, its_stream, twice)
            }

            /// Bytes of workspace of a variant.
            fn everything_bytes(&self, variant: usize, m: usize, its_stream: usize, twice: usize) -> usize {
                let bytes = match variant {
                    0 => Int::padded((Int::from(m) * 512) * 4) + Int::padded(Int::new(1024)),
                    1 => Int::new(0),
                    _ => Int::new(0),
                };
                Int::bytes(bytes)
            }

            /// The variant that these arguments get, counted through all targets.
            fn everything_variant(
                &self,
                m: usize,
                its_stream: usize,
                its_check: CUdeviceptr,
                w: CUdeviceptr,
                y: CUdeviceptr,
                z: CUdeviceptr,
            ) -> usize {
                let twice = Int::bytes(Int::from(m) * 2);
                match self.everything.arch() {
                    "sm_90a" => {
                        2
                    }
                    _ => {
                        if Int::is_multiple_of(Int::from(m), 8) && all_aligned(16, &[its_check])
                            && all_aligned(16, &[w])
                            && Int::is_at_least(Int::from(m) * Int::from(its_stream), 1024)
                            && Int::is_at_most(Int::from(its_stream), 64) && self.everything.fits(0)
                            && self.everything_sm_90a_h200_split_2_fits(m, its_stream, twice)
                        {
                            return 0;
                        }
                        1
                    }
                }
            }

            /// Whether the device holds all blocks of variant 0 for `sm_90a:h200`, `split-2`, at once.
            fn everything_sm_90a_h200_split_2_fits(&self, m: usize, its_stream: usize, twice: usize) -> bool {
                let fits = || -> Result<(), Error> {
                    let check = Check::new("everything");
                    let sm_count = Int::from(self.everything.device().sm_count);
                    let device_smem = Int::from(self.everything.device().smem_max);
                    let mut config = LaunchConfig {
                        block: [384, 1, 1], cooperative: true, ..LaunchConfig::default()
                    };
                    let max_blocks_per_sm = Int::from(self.everything.max_blocks_per_sm(0, 1, &config)?);
                    config.grid = check.blocks([
                        sm_count * max_blocks_per_sm, (Int::from(its_stream) / 8) + 1, Int::new(1),
                    ])?;
                    self.everything.all_resident(0, 1, &config)?;
                    Ok(())
                };
                fits().is_ok()
            }

            unsafe_fn! {
                /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
                fn everything_dispatch(
                    &self,
                    variant: usize,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    its_stream: usize,
                    twice: usize,
                    its_check: CUdeviceptr,
                    w: CUdeviceptr,
                    y: CUdeviceptr,
                    z: CUdeviceptr,
                    eps: f32,
                    its_args: f64,
                ) -> Result<(), Error> {
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        match variant {
                            0 => self.everything_sm_90a_h200_split_2(
                                stream,
                                workspace,
                                kept_zero,
                                m,
                                its_stream,
                                twice,
                                its_check,
                                w,
                                y,
                                z,
                                eps,
                                its_args,
                            ),
                            1 => self.everything_sm_90a_h200_naive(
                                stream,
                                workspace,
                                kept_zero,
                                m,
                                its_stream,
                                twice,
                                its_check,
                                w,
                                y,
                                z,
                                eps,
                                its_args,
                            ),
                            _ => self.everything_sm_90a_naive(
                                stream,
                                workspace,
                                kept_zero,
                                m,
                                its_stream,
                                twice,
                                its_check,
                                w,
                                y,
                                z,
                                eps,
                                its_args,
                            ),
                        }
                    }
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a:h200`, `split-2`.
                fn everything_sm_90a_h200_split_2(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    its_stream: usize,
                    twice: usize,
                    its_check: CUdeviceptr,
                    w: CUdeviceptr,
                    y: CUdeviceptr,
                    z: CUdeviceptr,
                    eps: f32,
                    its_args: f64,
                ) -> Result<(), Error> {
                    let check = Check::new("everything");
                    let sm_count = Int::from(self.everything.device().sm_count);
                    let device_smem = Int::from(self.everything.device().smem_max);
                    let param_m = m as i64;
                    let param_k: i64 = 512;
                    let param_twice = twice as i64;
                    let part_0 = workspace;
                    let part_1 = workspace + check.count(
                        "workspace", Int::padded((Int::from(m) * 512) * 4),
                    )? as u64;
                    // SAFETY: the part lies in the workspace, which nothing else uses now.
                    unsafe_block! {
                        self.everything.zero(stream, part_1, check.count("workspace", Int::new(1024))?)?
                    };
                    let part_2 = kept_zero;
                    let part_3 = kept_zero + check.count(
                        "workspace", Int::padded(Int::ceil_div(Int::from(m), Int::new(64)) * 4),
                    )? as u64;
                    let mut config = LaunchConfig {
                        block: [384, 1, 1],
                        cluster: [2, 1, 1],
                        dynamic_smem: check.smem(Int::min(device_smem, Int::new(232448)))?,
                        pdl: true,
                        ..LaunchConfig::default()
                    };
                    let max_active_clusters = Int::from(self.everything.max_active_clusters(0, 0, &config)?);
                    config.grid = check.blocks([
                        Int::min(Int::ceil_div(Int::from(m), Int::new(128)), max_active_clusters * 2),
                        Int::new(1),
                        Int::new(1),
                    ])?;
                    let mut params = params![its_check, w, param_m, param_k, param_twice, eps, part_1];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.everything.launch(0, 0, stream, &config, &mut params)? };
                    let mut config = LaunchConfig {
                        block: [384, 1, 1], cooperative: true, ..LaunchConfig::default()
                    };
                    let max_blocks_per_sm = Int::from(self.everything.max_blocks_per_sm(0, 1, &config)?);
                    config.grid = check.blocks([
                        sm_count * max_blocks_per_sm, (Int::from(its_stream) / 8) + 1, Int::new(1),
                    ])?;
                    self.everything.all_resident(0, 1, &config)?;
                    if !config.grid.contains(&0) {
                        let cutegen_arg_6 = check.int(
                            "argument", Int::ceil_div(Int::from(m), Int::new(64)) * max_blocks_per_sm,
                        )?;
                        let cutegen_arg_7 = self.everything.encode_tiled(&super::cutegen_runtime::cuda::TiledTensor {
                            dtype: super::cutegen_runtime::DType::F32,
                            address: check.address("tensor map", part_0, 2048)?,
                            shape: [check.count("tensor map", Int::from(m))?, 512],
                            strides: [512, 1],
                            tile: [64, 32],
                            every: [1, 1],
                            swizzle: super::cutegen_runtime::cuda::Swizzle::B128,
                            promotion: super::cutegen_runtime::cuda::L2Promotion::None,
                            fill: super::cutegen_runtime::cuda::Fill::Zero,
                        })?;
                        let mut params = params![
                            part_0, part_1, its_args, y, part_2, part_3, cutegen_arg_6, cutegen_arg_7,
                        ];
                        // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                        unsafe_block! { self.everything.launch(0, 1, stream, &config, &mut params)? };
                    }
                    Ok(())
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 1 for `sm_90a:h200`, `naive`.
                fn everything_sm_90a_h200_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    its_stream: usize,
                    twice: usize,
                    its_check: CUdeviceptr,
                    w: CUdeviceptr,
                    y: CUdeviceptr,
                    z: CUdeviceptr,
                    eps: f32,
                    its_args: f64,
                ) -> Result<(), Error> {
                    let check = Check::new("everything");
                    let param_m = m as i64;
                    let param_stream = its_stream as i64;
                    let param_twice = twice as i64;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(
                                Int::ceil_div(
                                    (Int::ceil_div(Int::from(m), Int::new(64)) * Int::ceil_div(
                                        Int::from(its_stream), Int::new(64),
                                    )) * 1,
                                    Int::new(1),
                                ),
                                Int::new(1048576),
                            ),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        its_check, w, y, z, param_m, param_stream, param_twice, eps, its_args,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.everything.launch(1, 0, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(twice), Int::new(256)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        its_check, w, y, z, param_m, param_stream, param_twice, eps, its_args,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.everything.launch(1, 1, stream, &config, &mut params)? };
                    Ok(())
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a`, `naive`.
                fn everything_sm_90a_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    its_stream: usize,
                    twice: usize,
                    its_check: CUdeviceptr,
                    w: CUdeviceptr,
                    y: CUdeviceptr,
                    z: CUdeviceptr,
                    eps: f32,
                    its_args: f64,
                ) -> Result<(), Error> {
                    let check = Check::new("everything");
                    let param_m = m as i64;
                    let param_stream = its_stream as i64;
                    let param_twice = twice as i64;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(
                                Int::ceil_div(
                                    (Int::ceil_div(Int::from(m), Int::new(64)) * Int::ceil_div(
                                        Int::from(its_stream), Int::new(64),
                                    )) * 1,
                                    Int::new(1),
                                ),
                                Int::new(1048576),
                            ),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        its_check, w, y, z, param_m, param_stream, param_twice, eps, its_args,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.everything.launch(0, 0, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(twice), Int::new(256)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![
                        its_check, w, y, z, param_m, param_stream, param_twice, eps, its_args,
                    ];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.everything.launch(0, 1, stream, &config, &mut params)? };
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
    use super::cutegen_runtime::half::bf16;
    use super::cutegen_runtime::host::{Workspace, call, cpu};
    use super::cutegen_runtime::{Error, Int, View, ViewMut, fallback as math, params};
    use super::cutegen_runtime::{unsafe_block, unsafe_extern, unsafe_fn};

    /// Workspace for every call of every kernel: none needs more than these 2097152 bytes.
    pub fn workspace() -> Workspace {
        Workspace::with_bytes(2097152)
    }

    /// What is linked, and in which order it is tried.
    pub fn explain() -> Vec<Explain> {
        Vec::from([Explain {
            kernel: "everything",
            target: "x86-64-v3",
            device: cpu::level().to_owned(),
            variants: if cpu::supports("x86-64-v3") {
                EVERYTHING.to_vec()
            } else {
                EVERYTHING[2..].to_vec()
            },
            left_out: Vec::new(),
            passed_over: Vec::new(),
        }])
    }

    unsafe_extern! {
        fn cutegen_0123456789abcdef(params: *mut *mut ::core::ffi::c_void);
        fn cutegen_704674ed680ac940(params: *mut *mut ::core::ffi::c_void);
    }

    /// Arguments of [`everything`].
    ///
    /// ```text
    /// y[m, stream] = sum(k, check[m, k] * w[stream, k]) + eps
    /// z[twice] = args
    /// ```
    #[derive(Debug)]
    pub struct Everything<'a> {
        /// Axis, 8..=4096 in steps of 8.
        pub m: usize,
        /// Axis, 0..=64.
        pub stream: usize,
        /// Input, `f32[m, k]` with k = 512.
        pub check: View<'a, f32, 2>,
        /// Weights, `bf16[stream, k]` with k = 512: the same values at every launch.
        pub w: View<'a, bf16, 2>,
        /// Output, `f32[m, stream]`.
        pub y: ViewMut<'a, f32, 2>,
        /// Output, `f64[twice]` with twice = m * 2.
        pub z: ViewMut<'a, f64, 1>,
        /// Scalar, `f32`.
        pub eps: f32,
        /// Scalar, `f64`.
        pub args: f64,
    }

    /// ```text
    /// y[m, stream] = sum(k, check[m, k] * w[stream, k]) + eps
    /// z[twice] = args
    /// ```
    ///
    /// Returns when done. Nothing is done where no output has an element.
    ///
    /// # Errors
    /// What is wrong with the call, by the argument's name; nothing has been written then.
    pub fn everything(workspace: &mut Workspace, mut args: Everything<'_>) -> Result<(), Error> {
        let check = Check::new("everything");
        let m = args.m;
        let its_stream = args.stream;
        check.axis("m", m, 8, 4096, 8)?;
        check.axis("stream", its_stream, 0, 64, 1)?;
        let twice = check.count("twice", Int::from(m) * 2)?;
        check.shape("check", args.check.layout(), [m, 512])?;
        check.row_major("check", args.check.layout())?;
        check.shape("w", args.w.layout(), [its_stream, 512])?;
        check.row_major("w", args.w.layout())?;
        check.shape("y", args.y.layout(), [m, its_stream])?;
        check.row_major("y", args.y.layout())?;
        check.shape("z", args.z.layout(), [twice])?;
        check.row_major("z", args.z.layout())?;
        if args.y.layout().is_empty() && args.z.layout().is_empty() {
            return Ok(());
        }
        let its_check = args.check.as_ptr();
        let w = args.w.as_ptr();
        let y = args.y.as_mut_ptr();
        let z = args.z.as_mut_ptr();
        match workspace.choose(
            everything_variant(
                m,
                its_stream,
                twice,
                its_check.addr() as u64,
                w.addr() as u64,
                y.addr() as u64,
                z.addr() as u64,
            ),
            1,
        ) {
            0 => {
                let scratch = workspace.ready(
                    "everything",
                    check.count(
                        "workspace", Int::padded((Int::new(8) * Int::from(m)) * Int::from(its_stream)),
                    )?,
                )?;
                let kept_zero = workspace.kept_zero("everything", 4096)?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! {
                    everything_host_counting(
                        scratch,
                        kept_zero,
                        m,
                        its_stream,
                        twice,
                        its_check,
                        w,
                        y,
                        z,
                        args.eps,
                        args.args,
                    )
                }
            }
            1 => {
                let scratch = workspace.ready(
                    "everything",
                    check.count(
                        "workspace", Int::padded((Int::new(8) * Int::from(m)) * Int::from(its_stream)),
                    )?,
                )?;
                let kept_zero = workspace.kept_zero("everything", 4096)?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! {
                    everything_host_naive(
                        scratch,
                        kept_zero,
                        m,
                        its_stream,
                        twice,
                        its_check,
                        w,
                        y,
                        z,
                        args.eps,
                        args.args,
                    )
                }
            }
            _ => fallback_everything(&mut args, [m, its_stream, 512, twice]),
        }
    }

    /// The variant that these arguments get; one past the last is the math.
    fn everything_variant(
        m: usize, its_stream: usize, twice: usize, its_check: u64, w: u64, y: u64, z: u64,
    ) -> usize {
        if !cpu::supports("x86-64-v3") {
            return 2;
        }
        if Int::is_at_most(Int::from(m), 1024) {
            return 0;
        }
        1
    }

    unsafe_fn! {
        /// Launch contract of variant 0 for `host`, `counting`.
        fn everything_host_counting(
            workspace: *mut u8,
            kept_zero: *mut u8,
            m: usize,
            its_stream: usize,
            twice: usize,
            its_check: *const f32,
            w: *const bf16,
            y: *mut f32,
            z: *mut f64,
            eps: f32,
            its_args: f64,
        ) -> Result<(), Error> {
            let check = Check::new("everything");
            let param_m = m as i64;
            let param_stream = its_stream as i64;
            let param_k: i64 = 512;
            let param_twice = twice as i64;
            let part_0 = workspace;
            let part_1 = kept_zero;
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! {
                call(
                    cutegen_0123456789abcdef,
                    &mut params![
                        its_check,
                        w,
                        y,
                        z,
                        param_m,
                        param_stream,
                        param_k,
                        param_twice,
                        eps,
                        its_args,
                        part_0,
                        part_1,
                    ],
                )
            };
            Ok(())
        }
    }

    unsafe_fn! {
        /// Launch contract of variant 1 for `host`, `naive`.
        fn everything_host_naive(
            workspace: *mut u8,
            kept_zero: *mut u8,
            m: usize,
            its_stream: usize,
            twice: usize,
            its_check: *const f32,
            w: *const bf16,
            y: *mut f32,
            z: *mut f64,
            eps: f32,
            its_args: f64,
        ) -> Result<(), Error> {
            let check = Check::new("everything");
            let param_m = m as i64;
            let param_stream = its_stream as i64;
            let param_k: i64 = 512;
            let param_twice = twice as i64;
            let part_0 = workspace;
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! {
                call(
                    cutegen_704674ed680ac940,
                    &mut params![
                        its_check,
                        w,
                        y,
                        z,
                        param_m,
                        param_stream,
                        param_k,
                        param_twice,
                        eps,
                        its_args,
                        part_0,
                    ],
                )
            };
            Ok(())
        }
    }

    /// The math, in f64, rounded where the spec rounds.
    fn fallback_everything(
        args: &mut Everything<'_>, [a0, a1, a2, a3]: [usize; 4],
    ) -> Result<(), Error> {
        let check = Check::new("everything");
        let t0 = &args.check;
        let t1 = &args.w;
        let t2 = &mut args.y;
        let t3 = &mut args.z;
        let s0 = args.eps;
        let s1 = args.args;
        let mut w0 = check.zeros::<f64>(&[a0, a1])?;
        for v0 in 0..a0 {
            for v1 in 0..a1 {
                w0[v0 * a1 + v1] = {
                    let mut r = math::Sum::default();
                    for v2 in 0..a2 {
                        let e: f64 = (f64::from(t0.at([v0, v2])) * f64::from(t1.at([v1, v2])));
                        r.add(e);
                    }
                    r.value()
                };
            }
        }
        for v0 in 0..a0 {
            for v1 in 0..a1 {
                t2.put([v0, v1], ((w0[v0 * a1 + v1] + f64::from(s0))) as f32);
            }
        }
        for v3 in 0..a3 {
            t3.put([v3], f64::from(s1));
        }
        Ok(())
    }

    static EVERYTHING: [Variant; 3] = [
        Variant {
            name: "counting", origin: Origin::Tuned, eligible: "m <= 1024", preferred: "", tuned_on: "",
        },
        Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" },
        Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
    ];
}
