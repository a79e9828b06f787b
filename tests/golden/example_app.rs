// Emitted by cutegen 0.1.0 for package `example-app` 0.1.0.
// Not meant to be edited: edit the kernels' specs and build.
//
// rms_norm on host:x86_64-unknown-linux-gnu:x86-64-v3: key 87ab0a7cb3073df32d1300b0d6aefddf5c76ae3d58c0bd049ede33bfbf46eec4
// gate_up on host:x86_64-unknown-linux-gnu:x86-64-v3: key e0df0e1d63a2dbb060e85d1d58e710e3a6e96ef69ea8ec4f2705c18787c18a21
// down_residual on host:x86_64-unknown-linux-gnu:x86-64-v3: key 7f521fde6e3830894de6b380428e5a8fbc583db2bd0d508a2b6c30ed2abaf3c5
// silu_mul on sm_90a: key 09b0d7abcdcf89b74c6803e8d7dc7e5c1820dbaccd3a8184b445887c9469ed71
// silu_mul on host:x86_64-unknown-linux-gnu:x86-64-v3: key 2762b71f7c98f3d9bb5b16424f2bdf8a6a26e06afba280014591d6e75a734b22
// llama_norm on sm_90a: key a228384e9067d6ac37c5c4c2e4aeed5e8e65900d42d9da701990ebf646c00da1
// llama_gate_up on sm_90a: key 3d613f47139a757966eae96f92cfa059d703c02af0fe46e8c309f697e0763064
// llama_down on sm_90a: key c6c30c4c910eeece5c9e834ee93123211b76ff5d45197da27ec7c8b76c2f7c71

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
        use super::cutegen_runtime::half::bf16;
        use super::cutegen_runtime::{Error, Int, params, unsafe_block, unsafe_extern, unsafe_fn};
        use ::std::sync::Arc;

        /// All kernels of this package, on the device of one context. A captured graph points into them and into its
        /// workspace: keep both for as long as it lives.
        #[derive(Debug)]
        pub struct Kernels {
            silu_mul: LoadedKernel,
            llama_norm: LoadedKernel,
            llama_gate_up: LoadedKernel,
            llama_down: LoadedKernel,
        }

        /// Checks device and driver. A kernel is loaded, and its digest checked, when it is first called; by
        /// [`Kernels::warm`] before a capture, which loads none.
        ///
        /// # Errors
        /// No entry for the device, a driver that is too old, or what the driver says.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            let device = Device::of(context)?;
            Ok(Kernels {
                silu_mul: LoadedKernel::load(&device, &SILU_MUL)?,
                llama_norm: LoadedKernel::load(&device, &LLAMA_NORM)?,
                llama_gate_up: LoadedKernel::load(&device, &LLAMA_GATE_UP)?,
                llama_down: LoadedKernel::load(&device, &LLAMA_DOWN)?,
            })
        }

        impl Kernels {
            /// Bytes that every raw entry finds zero and leaves so: the most that any kernel keeps.
            pub const KEPT_ZERO_BYTES: usize = 0;

            /// Loads every kernel that has not been called yet.
            ///
            /// # Errors
            /// Other bytes than were judged, or what the driver says; by the kernel's name.
            pub fn warm(&self) -> Result<(), Error> {
                self.silu_mul.warm()?;
                self.llama_norm.warm()?;
                self.llama_gate_up.warm()?;
                self.llama_down.warm()?;
                Ok(())
            }

            /// Workspace for the calls of every kernel on this stream: with memory aligned as allocators
            /// align it, none needs more than these 32768 bytes.
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_bytes(stream, 32768)
            }

            /// What is linked for this device, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> {
                Vec::from([
                    self.silu_mul.explain(),
                    self.llama_norm.explain(),
                    self.llama_gate_up.explain(),
                    self.llama_down.explain(),
                ])
            }
        }

        unsafe_extern! {
            static cutegen_example_app_0_1_0_0ee9a388e29e846612ff28101dcde815: [u8; 13813];

            static cutegen_example_app_0_1_0_43f02220c06fb5491c0042b38f8a42f6: [u8; 15739];

            static cutegen_example_app_0_1_0_5bd8becf09fce190fbdb94ea4ef1532b: [u8; 13];

            static cutegen_example_app_0_1_0_76f25a84b312511af6b8f5806e963bca: [u8; 15597];

            static cutegen_example_app_0_1_0_d3deb753dcc8999995a44ff802e5de69: [u8; 11293];
        }

        /// Arguments of [`Kernels::silu_mul`].
        ///
        /// `y[n] = silu(g[n]) * u[n]`
        #[derive(Debug)]
        pub struct SiluMul<'a> {
            /// Axis, 1..=1073741824.
            pub n: usize,
            /// Input, `bf16[n]`.
            pub g: CudaView<'a, bf16, 1>,
            /// Input, `bf16[n]`.
            pub u: CudaView<'a, bf16, 1>,
            /// Output, `bf16[n]`.
            pub y: CudaViewMut<'a, bf16, 1>,
        }

        static SILU_MUL: KernelEntry = KernelEntry {
            kernel: "silu_mul",
            targets: &[TargetEntry {
                arch: "sm_90a",
                variants: &[
                    VariantEntry {
                        about: Variant {
                            name: "vector8",
                            origin: Origin::Tuned,
                            eligible: "g, u, y aligned to 16 bytes",
                            preferred: "n >= 4096",
                            tuned_on: "NVIDIA H200",
                        },
                        artifact: Artifact {
                            // SAFETY: linked from this package's archive, constant, of this length.
                            stored: unsafe_block! {
                                &cutegen_example_app_0_1_0_5bd8becf09fce190fbdb94ea4ef1532b
                            },
                            compressed: false,
                            sha256: "5bd8becf09fce190fbdb94ea4ef1532ba1da7ff49e21eacbdd79a4c0a69b770d",
                            len: 13,
                        },
                        min_driver: 580,
                        shared_memory: 0,
                        steps: &[Step {
                            entry: "silu_mul_vector8", dynamic_smem_max: 0, nonportable_cluster: false,
                        }],
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
                                &cutegen_example_app_0_1_0_d3deb753dcc8999995a44ff802e5de69
                            },
                            compressed: false,
                            sha256: "d3deb753dcc8999995a44ff802e5de691f1d38b1771bb0f8a7844ede8248f11c",
                            len: 11293,
                        },
                        min_driver: 580,
                        shared_memory: 0,
                        steps: &[Step {
                            entry: "cutegen_d3deb753dcc89999_0",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        }],
                    },
                ],
            }],
        };

        impl Kernels {
            /// `y[n] = silu(g[n]) * u[n]`
            ///
            /// Launches on `stream` and returns. Nothing is launched where no output has an element.
            ///
            /// # Errors
            /// What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.
            /// What goes wrong on the device later is reported by a later call.
            pub fn silu_mul(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: SiluMul<'_>,
            ) -> Result<(), Error> {
                let check = Check::new("silu_mul");
                let n = args.n;
                check.axis("n", n, 1, 1073741824, 1)?;
                check.shape("g", args.g.layout(), [n])?;
                check.row_major("g", args.g.layout())?;
                check.shape("u", args.u.layout(), [n])?;
                check.row_major("u", args.u.layout())?;
                check.shape("y", args.y.layout(), [n])?;
                check.row_major("y", args.y.layout())?;
                if args.y.layout().is_empty() {
                    return Ok(());
                }
                let order = Order::begin(&self.silu_mul, stream)?;
                let launched = {
                    let bound_g = order.read("g", args.g)?;
                    let bound_u = order.read("u", args.u)?;
                    let bound_y = order.write("y", args.y)?;
                    check.disjoint(
                        [("y", bound_y.extent())], [("g", bound_g.extent()), ("u", bound_u.extent())],
                    )?;
                    let variant = self.silu_mul_variant(
                        n, bound_g.address(), bound_u.address(), bound_y.address(),
                    );
                    let bound_workspace = order.workspace(workspace, 0)?;
                    // SAFETY: arguments are checked above; what is bound keeps the memory past the launch.
                    unsafe_block! {
                        self.silu_mul_dispatch(
                            variant,
                            stream.cu_stream(),
                            bound_workspace.address(),
                            n,
                            bound_g.address(),
                            bound_u.address(),
                            bound_y.address(),
                        )
                    }
                };
                order.finish(launched)
            }

            unsafe_fn! {
                /// [`Self::silu_mul`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Errors
                /// What the driver says, or a grid that no device takes. Arguments are not looked at.
                ///
                /// # Safety
                /// `stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the
                /// tensors live until the graph is gone. Axes lie in their ranges. Each address is
                /// that of a tensor as [`SiluMul`] describes it, dense and row-major where no strides are
                /// said, aligned to its element, alive until the stream has passed the launch; what is written
                /// overlaps nothing.
                /// `workspace` is aligned to 256 bytes and has [`Self::silu_mul_workspace_bytes`]. Order is
                /// the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.
                /// Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.
                pub fn silu_mul_raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    n: usize,
                    g: CUdeviceptr,
                    u: CUdeviceptr,
                    y: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("silu_mul");
                    if any_zero(&[n]) {
                        return Ok(());
                    }
                    self.silu_mul.bind()?;
                    let variant = self.silu_mul_variant(n, g, u, y);
                    // SAFETY: the caller's promise.
                    unsafe_block! { self.silu_mul_dispatch(variant, stream, workspace, n, g, u, y) }
                }
            }

            /// Bytes of workspace that [`Self::silu_mul_raw`] needs for these axes and addresses.
            pub fn silu_mul_workspace_bytes(
                &self, n: usize, g: CUdeviceptr, u: CUdeviceptr, y: CUdeviceptr,
            ) -> usize {
                0
            }

            /// The variant that these arguments get, counted through all targets.
            fn silu_mul_variant(&self, n: usize, g: CUdeviceptr, u: CUdeviceptr, y: CUdeviceptr) -> usize {
                if all_aligned(16, &[g]) && all_aligned(16, &[u]) && all_aligned(16, &[y])
                    && Int::is_at_least(Int::from(n), 4096)
                {
                    return 0;
                }
                1
            }

            unsafe_fn! {
                /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
                fn silu_mul_dispatch(
                    &self,
                    variant: usize,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    n: usize,
                    g: CUdeviceptr,
                    u: CUdeviceptr,
                    y: CUdeviceptr,
                ) -> Result<(), Error> {
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        match variant {
                            0 => self.silu_mul_sm_90a_vector8(stream, workspace, n, g, u, y),
                            _ => self.silu_mul_sm_90a_naive(stream, workspace, n, g, u, y),
                        }
                    }
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a`, `vector8`.
                fn silu_mul_sm_90a_vector8(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    n: usize,
                    g: CUdeviceptr,
                    u: CUdeviceptr,
                    y: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("silu_mul");
                    let sm_count = Int::from(self.silu_mul.device().sm_count);
                    let param_n = n as i64;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(n), Int::new(2048)), sm_count * 8),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![g, u, y, param_n];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.silu_mul.launch(0, 0, stream, &config, &mut params)? };
                    Ok(())
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 1 for `sm_90a`, `naive`.
                fn silu_mul_sm_90a_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    n: usize,
                    g: CUdeviceptr,
                    u: CUdeviceptr,
                    y: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("silu_mul");
                    let param_n = n as i64;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(n), Int::new(256)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![g, u, y, param_n];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.silu_mul.launch(1, 0, stream, &config, &mut params)? };
                    Ok(())
                }
            }
        }

        /// Arguments of [`Kernels::llama_norm`].
        ///
        /// ```text
        /// a[m, d] = cast(bf16, x[m, d] + r[m, d])
        /// s[m, d] = a[m, d]
        /// y[m, d] = rms_norm(d, a[m, d], eps) * w[d]
        /// ```
        #[derive(Debug)]
        pub struct LlamaNorm<'a> {
            /// Axis, 1..=8192.
            pub m: usize,
            /// Input, `bf16[m, d]` with d = 4096.
            pub x: CudaView<'a, bf16, 2>,
            /// Input, `bf16[m, d]` with d = 4096.
            pub r: CudaView<'a, bf16, 2>,
            /// Weights, `bf16[d]` with d = 4096: the same values at every launch.
            pub w: CudaView<'a, bf16, 1>,
            /// Output, `bf16[m, d]` with d = 4096.
            pub s: CudaViewMut<'a, bf16, 2>,
            /// Output, `bf16[m, d]` with d = 4096.
            pub y: CudaViewMut<'a, bf16, 2>,
            /// Scalar, `f32`.
            pub eps: f32,
        }

        static LLAMA_NORM: KernelEntry = KernelEntry {
            kernel: "llama_norm",
            targets: &[TargetEntry {
                arch: "sm_90a",
                variants: &[VariantEntry {
                    about: Variant {
                        name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "",
                    },
                    artifact: Artifact {
                        // SAFETY: linked from this package's archive, constant, of this length.
                        stored: unsafe_block! {
                            &cutegen_example_app_0_1_0_76f25a84b312511af6b8f5806e963bca
                        },
                        compressed: false,
                        sha256: "76f25a84b312511af6b8f5806e963bcab2ca00a5dbdbb5f2bfe5ec0f305ebb3b",
                        len: 15597,
                    },
                    min_driver: 580,
                    shared_memory: 0,
                    steps: &[
                        Step {
                            entry: "cutegen_76f25a84b312511a_0",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                        Step {
                            entry: "cutegen_76f25a84b312511a_1",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                        Step {
                            entry: "cutegen_76f25a84b312511a_2",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        },
                    ],
                }],
            }],
        };

        impl Kernels {
            /// ```text
            /// a[m, d] = cast(bf16, x[m, d] + r[m, d])
            /// s[m, d] = a[m, d]
            /// y[m, d] = rms_norm(d, a[m, d], eps) * w[d]
            /// ```
            ///
            /// Launches on `stream` and returns. Nothing is launched where no output has an element.
            ///
            /// # Errors
            /// What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.
            /// What goes wrong on the device later is reported by a later call.
            pub fn llama_norm(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: LlamaNorm<'_>,
            ) -> Result<(), Error> {
                let check = Check::new("llama_norm");
                let m = args.m;
                check.axis("m", m, 1, 8192, 1)?;
                check.shape("x", args.x.layout(), [m, 4096])?;
                check.row_major("x", args.x.layout())?;
                check.shape("r", args.r.layout(), [m, 4096])?;
                check.row_major("r", args.r.layout())?;
                check.shape("w", args.w.layout(), [4096])?;
                check.row_major("w", args.w.layout())?;
                check.shape("s", args.s.layout(), [m, 4096])?;
                check.row_major("s", args.s.layout())?;
                check.shape("y", args.y.layout(), [m, 4096])?;
                check.row_major("y", args.y.layout())?;
                if args.s.layout().is_empty() && args.y.layout().is_empty() {
                    return Ok(());
                }
                let order = Order::begin(&self.llama_norm, stream)?;
                let launched = {
                    let bound_x = order.read("x", args.x)?;
                    let bound_r = order.read("r", args.r)?;
                    let bound_w = order.read("w", args.w)?;
                    let bound_s = order.write("s", args.s)?;
                    let bound_y = order.write("y", args.y)?;
                    check.disjoint(
                        [("s", bound_s.extent()), ("y", bound_y.extent())],
                        [("x", bound_x.extent()), ("r", bound_r.extent()), ("w", bound_w.extent())],
                    )?;
                    let variant = self.llama_norm_variant(
                        m,
                        bound_x.address(),
                        bound_r.address(),
                        bound_w.address(),
                        bound_s.address(),
                        bound_y.address(),
                    );
                    let bound_workspace = order.workspace(workspace, self.llama_norm_bytes(variant, m))?;
                    // SAFETY: arguments are checked above; what is bound keeps the memory past the launch.
                    unsafe_block! {
                        self.llama_norm_dispatch(
                            variant,
                            stream.cu_stream(),
                            bound_workspace.address(),
                            m,
                            bound_x.address(),
                            bound_r.address(),
                            bound_w.address(),
                            bound_s.address(),
                            bound_y.address(),
                            args.eps,
                        )
                    }
                };
                order.finish(launched)
            }

            unsafe_fn! {
                /// [`Self::llama_norm`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Errors
                /// What the driver says, or a grid that no device takes. Arguments are not looked at.
                ///
                /// # Safety
                /// `stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the
                /// tensors live until the graph is gone. Axes lie in their ranges. Each address is
                /// that of a tensor as [`LlamaNorm`] describes it, dense and row-major where no strides are
                /// said, aligned to its element, alive until the stream has passed the launch; what is written
                /// overlaps nothing.
                /// `workspace` is aligned to 256 bytes and has [`Self::llama_norm_workspace_bytes`]. Order is
                /// the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.
                /// Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.
                pub fn llama_norm_raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    x: CUdeviceptr,
                    r: CUdeviceptr,
                    w: CUdeviceptr,
                    s: CUdeviceptr,
                    y: CUdeviceptr,
                    eps: f32,
                ) -> Result<(), Error> {
                    let check = Check::new("llama_norm");
                    if any_zero(&[m, 4096]) && any_zero(&[m, 4096]) {
                        return Ok(());
                    }
                    self.llama_norm.bind()?;
                    let variant = self.llama_norm_variant(m, x, r, w, s, y);
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        self.llama_norm_dispatch(variant, stream, workspace, m, x, r, w, s, y, eps)
                    }
                }
            }

            /// Bytes of workspace that [`Self::llama_norm_raw`] needs for these axes and addresses.
            pub fn llama_norm_workspace_bytes(
                &self, m: usize, x: CUdeviceptr, r: CUdeviceptr, w: CUdeviceptr, s: CUdeviceptr, y: CUdeviceptr,
            ) -> usize {
                let variant = self.llama_norm_variant(m, x, r, w, s, y);
                self.llama_norm_bytes(variant, m)
            }

            /// Bytes of workspace of a variant.
            fn llama_norm_bytes(&self, variant: usize, m: usize) -> usize {
                let bytes = match variant {
                    _ => Int::padded(Int::new(4) * Int::from(m)),
                };
                Int::bytes(bytes)
            }

            /// The variant that these arguments get, counted through all targets.
            fn llama_norm_variant(
                &self, m: usize, x: CUdeviceptr, r: CUdeviceptr, w: CUdeviceptr, s: CUdeviceptr, y: CUdeviceptr,
            ) -> usize {
                0
            }

            unsafe_fn! {
                /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
                fn llama_norm_dispatch(
                    &self,
                    variant: usize,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    m: usize,
                    x: CUdeviceptr,
                    r: CUdeviceptr,
                    w: CUdeviceptr,
                    s: CUdeviceptr,
                    y: CUdeviceptr,
                    eps: f32,
                ) -> Result<(), Error> {
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        match variant {
                            _ => self.llama_norm_sm_90a_naive(stream, workspace, m, x, r, w, s, y, eps),
                        }
                    }
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a`, `naive`.
                fn llama_norm_sm_90a_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    m: usize,
                    x: CUdeviceptr,
                    r: CUdeviceptr,
                    w: CUdeviceptr,
                    s: CUdeviceptr,
                    y: CUdeviceptr,
                    eps: f32,
                ) -> Result<(), Error> {
                    let check = Check::new("llama_norm");
                    let param_m = m as i64;
                    let part_0 = workspace;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(m) * 4096, Int::new(256)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![x, r, w, s, y, param_m, eps, part_0];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.llama_norm.launch(0, 0, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(m), Int::new(1)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![x, r, w, s, y, param_m, eps, part_0];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.llama_norm.launch(0, 1, stream, &config, &mut params)? };
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(Int::ceil_div(Int::from(m) * 4096, Int::new(256)), Int::new(1048576)),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![x, r, w, s, y, param_m, eps, part_0];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.llama_norm.launch(0, 2, stream, &config, &mut params)? };
                    Ok(())
                }
            }
        }

        /// Arguments of [`Kernels::llama_gate_up`].
        ///
        /// ```text
        /// g[m, f] = sum(d, y[m, d] * wg[f, d])
        /// u[m, f] = sum(d, y[m, d] * wu[f, d])
        /// h[m, f] = silu(g[m, f]) * u[m, f]
        /// ```
        #[derive(Debug)]
        pub struct LlamaGateUp<'a> {
            /// Axis, 1..=2048.
            pub m: usize,
            /// Input, `bf16[m, d]` with d = 4096.
            pub y: CudaView<'a, bf16, 2>,
            /// Weights, `bf16[f, d]` with f = 14336, d = 4096: the same values at every launch.
            pub wg: CudaView<'a, bf16, 2>,
            /// Weights, `bf16[f, d]` with f = 14336, d = 4096: the same values at every launch.
            pub wu: CudaView<'a, bf16, 2>,
            /// Output, `bf16[m, f]` with f = 14336.
            pub h: CudaViewMut<'a, bf16, 2>,
        }

        static LLAMA_GATE_UP: KernelEntry = KernelEntry {
            kernel: "llama_gate_up",
            targets: &[TargetEntry {
                arch: "sm_90a",
                variants: &[VariantEntry {
                    about: Variant {
                        name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "",
                    },
                    artifact: Artifact {
                        // SAFETY: linked from this package's archive, constant, of this length.
                        stored: unsafe_block! {
                            &cutegen_example_app_0_1_0_43f02220c06fb5491c0042b38f8a42f6
                        },
                        compressed: false,
                        sha256: "43f02220c06fb5491c0042b38f8a42f62d391919522b377d7f7451a67d5c1f8f",
                        len: 15739,
                    },
                    min_driver: 580,
                    shared_memory: 0,
                    steps: &[Step {
                        entry: "cutegen_43f02220c06fb549_0",
                        dynamic_smem_max: 0,
                        nonportable_cluster: false,
                    }],
                }],
            }],
        };

        impl Kernels {
            /// ```text
            /// g[m, f] = sum(d, y[m, d] * wg[f, d])
            /// u[m, f] = sum(d, y[m, d] * wu[f, d])
            /// h[m, f] = silu(g[m, f]) * u[m, f]
            /// ```
            ///
            /// Launches on `stream` and returns. Nothing is launched where no output has an element.
            ///
            /// # Errors
            /// What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.
            /// What goes wrong on the device later is reported by a later call.
            pub fn llama_gate_up(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: LlamaGateUp<'_>,
            ) -> Result<(), Error> {
                let check = Check::new("llama_gate_up");
                let m = args.m;
                check.axis("m", m, 1, 2048, 1)?;
                check.shape("y", args.y.layout(), [m, 4096])?;
                check.row_major("y", args.y.layout())?;
                check.shape("wg", args.wg.layout(), [14336, 4096])?;
                check.row_major("wg", args.wg.layout())?;
                check.shape("wu", args.wu.layout(), [14336, 4096])?;
                check.row_major("wu", args.wu.layout())?;
                check.shape("h", args.h.layout(), [m, 14336])?;
                check.row_major("h", args.h.layout())?;
                if args.h.layout().is_empty() {
                    return Ok(());
                }
                let order = Order::begin(&self.llama_gate_up, stream)?;
                let launched = {
                    let bound_y = order.read("y", args.y)?;
                    let bound_wg = order.read("wg", args.wg)?;
                    let bound_wu = order.read("wu", args.wu)?;
                    let bound_h = order.write("h", args.h)?;
                    check.disjoint(
                        [("h", bound_h.extent())],
                        [("y", bound_y.extent()), ("wg", bound_wg.extent()), ("wu", bound_wu.extent())],
                    )?;
                    let variant = self.llama_gate_up_variant(
                        m, bound_y.address(), bound_wg.address(), bound_wu.address(), bound_h.address(),
                    );
                    let bound_workspace = order.workspace(workspace, 0)?;
                    // SAFETY: arguments are checked above; what is bound keeps the memory past the launch.
                    unsafe_block! {
                        self.llama_gate_up_dispatch(
                            variant,
                            stream.cu_stream(),
                            bound_workspace.address(),
                            m,
                            bound_y.address(),
                            bound_wg.address(),
                            bound_wu.address(),
                            bound_h.address(),
                        )
                    }
                };
                order.finish(launched)
            }

            unsafe_fn! {
                /// [`Self::llama_gate_up`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Errors
                /// What the driver says, or a grid that no device takes. Arguments are not looked at.
                ///
                /// # Safety
                /// `stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the
                /// tensors live until the graph is gone. Axes lie in their ranges. Each address is
                /// that of a tensor as [`LlamaGateUp`] describes it, dense and row-major where no strides are
                /// said, aligned to its element, alive until the stream has passed the launch; what is written
                /// overlaps nothing.
                /// `workspace` is aligned to 256 bytes and has [`Self::llama_gate_up_workspace_bytes`]. Order is
                /// the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.
                /// Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.
                pub fn llama_gate_up_raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    y: CUdeviceptr,
                    wg: CUdeviceptr,
                    wu: CUdeviceptr,
                    h: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("llama_gate_up");
                    if any_zero(&[m, 14336]) {
                        return Ok(());
                    }
                    self.llama_gate_up.bind()?;
                    let variant = self.llama_gate_up_variant(m, y, wg, wu, h);
                    // SAFETY: the caller's promise.
                    unsafe_block! { self.llama_gate_up_dispatch(variant, stream, workspace, m, y, wg, wu, h) }
                }
            }

            /// Bytes of workspace that [`Self::llama_gate_up_raw`] needs for these axes and addresses.
            pub fn llama_gate_up_workspace_bytes(
                &self, m: usize, y: CUdeviceptr, wg: CUdeviceptr, wu: CUdeviceptr, h: CUdeviceptr,
            ) -> usize {
                0
            }

            /// The variant that these arguments get, counted through all targets.
            fn llama_gate_up_variant(
                &self, m: usize, y: CUdeviceptr, wg: CUdeviceptr, wu: CUdeviceptr, h: CUdeviceptr,
            ) -> usize {
                0
            }

            unsafe_fn! {
                /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
                fn llama_gate_up_dispatch(
                    &self,
                    variant: usize,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    m: usize,
                    y: CUdeviceptr,
                    wg: CUdeviceptr,
                    wu: CUdeviceptr,
                    h: CUdeviceptr,
                ) -> Result<(), Error> {
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        match variant {
                            _ => self.llama_gate_up_sm_90a_naive(stream, workspace, m, y, wg, wu, h),
                        }
                    }
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a`, `naive`.
                fn llama_gate_up_sm_90a_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    m: usize,
                    y: CUdeviceptr,
                    wg: CUdeviceptr,
                    wu: CUdeviceptr,
                    h: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("llama_gate_up");
                    let param_m = m as i64;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(
                                Int::ceil_div(
                                    (Int::ceil_div(Int::from(m), Int::new(64)) * 224) * 1, Int::new(1),
                                ),
                                Int::new(1048576),
                            ),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![y, wg, wu, h, param_m];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.llama_gate_up.launch(0, 0, stream, &config, &mut params)? };
                    Ok(())
                }
            }
        }

        /// Arguments of [`Kernels::llama_down`].
        ///
        /// `z[m, d] = sum(f, h[m, f] * w[d, f]) + s[m, d]`
        #[derive(Debug)]
        pub struct LlamaDown<'a> {
            /// Axis, 1..=2048.
            pub m: usize,
            /// Input, `bf16[m, f]` with f = 14336.
            pub h: CudaView<'a, bf16, 2>,
            /// Weights, `bf16[d, f]` with d = 4096, f = 14336: the same values at every launch.
            pub w: CudaView<'a, bf16, 2>,
            /// Input, `bf16[m, d]` with d = 4096.
            pub s: CudaView<'a, bf16, 2>,
            /// Output, `bf16[m, d]` with d = 4096.
            pub z: CudaViewMut<'a, bf16, 2>,
        }

        static LLAMA_DOWN: KernelEntry = KernelEntry {
            kernel: "llama_down",
            targets: &[TargetEntry {
                arch: "sm_90a",
                variants: &[VariantEntry {
                    about: Variant {
                        name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "",
                    },
                    artifact: Artifact {
                        // SAFETY: linked from this package's archive, constant, of this length.
                        stored: unsafe_block! {
                            &cutegen_example_app_0_1_0_0ee9a388e29e846612ff28101dcde815
                        },
                        compressed: false,
                        sha256: "0ee9a388e29e846612ff28101dcde815b1afd81bb84b9b4a09809cfe18d58b9c",
                        len: 13813,
                    },
                    min_driver: 580,
                    shared_memory: 0,
                    steps: &[Step {
                        entry: "cutegen_0ee9a388e29e8466_0",
                        dynamic_smem_max: 0,
                        nonportable_cluster: false,
                    }],
                }],
            }],
        };

        impl Kernels {
            /// `z[m, d] = sum(f, h[m, f] * w[d, f]) + s[m, d]`
            ///
            /// Launches on `stream` and returns. Nothing is launched where no output has an element.
            ///
            /// # Errors
            /// What is wrong with the call, by the argument's name, before anything is launched; or what the driver says.
            /// What goes wrong on the device later is reported by a later call.
            pub fn llama_down(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: LlamaDown<'_>,
            ) -> Result<(), Error> {
                let check = Check::new("llama_down");
                let m = args.m;
                check.axis("m", m, 1, 2048, 1)?;
                check.shape("h", args.h.layout(), [m, 14336])?;
                check.row_major("h", args.h.layout())?;
                check.shape("w", args.w.layout(), [4096, 14336])?;
                check.row_major("w", args.w.layout())?;
                check.shape("s", args.s.layout(), [m, 4096])?;
                check.row_major("s", args.s.layout())?;
                check.shape("z", args.z.layout(), [m, 4096])?;
                check.row_major("z", args.z.layout())?;
                if args.z.layout().is_empty() {
                    return Ok(());
                }
                let order = Order::begin(&self.llama_down, stream)?;
                let launched = {
                    let bound_h = order.read("h", args.h)?;
                    let bound_w = order.read("w", args.w)?;
                    let bound_s = order.read("s", args.s)?;
                    let bound_z = order.write("z", args.z)?;
                    check.disjoint(
                        [("z", bound_z.extent())],
                        [("h", bound_h.extent()), ("w", bound_w.extent()), ("s", bound_s.extent())],
                    )?;
                    let variant = self.llama_down_variant(
                        m, bound_h.address(), bound_w.address(), bound_s.address(), bound_z.address(),
                    );
                    let bound_workspace = order.workspace(workspace, 0)?;
                    // SAFETY: arguments are checked above; what is bound keeps the memory past the launch.
                    unsafe_block! {
                        self.llama_down_dispatch(
                            variant,
                            stream.cu_stream(),
                            bound_workspace.address(),
                            m,
                            bound_h.address(),
                            bound_w.address(),
                            bound_s.address(),
                            bound_z.address(),
                        )
                    }
                };
                order.finish(launched)
            }

            unsafe_fn! {
                /// [`Self::llama_down`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Errors
                /// What the driver says, or a grid that no device takes. Arguments are not looked at.
                ///
                /// # Safety
                /// `stream` belongs to the context given to [`load`]. Where it is being captured, this value, the workspace and the
                /// tensors live until the graph is gone. Axes lie in their ranges. Each address is
                /// that of a tensor as [`LlamaDown`] describes it, dense and row-major where no strides are
                /// said, aligned to its element, alive until the stream has passed the launch; what is written
                /// overlaps nothing.
                /// `workspace` is aligned to 256 bytes and has [`Self::llama_down_workspace_bytes`]. Order is
                /// the caller's. `kept_zero` is aligned to 256 bytes and has [`Self::KEPT_ZERO_BYTES`], zeroed before its first use.
                /// Every launch leaves them zero: all kernels share them, one launch behind the other. With no bytes it may be 0.
                pub fn llama_down_raw(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    kept_zero: CUdeviceptr,
                    m: usize,
                    h: CUdeviceptr,
                    w: CUdeviceptr,
                    s: CUdeviceptr,
                    z: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("llama_down");
                    if any_zero(&[m, 4096]) {
                        return Ok(());
                    }
                    self.llama_down.bind()?;
                    let variant = self.llama_down_variant(m, h, w, s, z);
                    // SAFETY: the caller's promise.
                    unsafe_block! { self.llama_down_dispatch(variant, stream, workspace, m, h, w, s, z) }
                }
            }

            /// Bytes of workspace that [`Self::llama_down_raw`] needs for these axes and addresses.
            pub fn llama_down_workspace_bytes(
                &self, m: usize, h: CUdeviceptr, w: CUdeviceptr, s: CUdeviceptr, z: CUdeviceptr,
            ) -> usize {
                0
            }

            /// The variant that these arguments get, counted through all targets.
            fn llama_down_variant(
                &self, m: usize, h: CUdeviceptr, w: CUdeviceptr, s: CUdeviceptr, z: CUdeviceptr,
            ) -> usize {
                0
            }

            unsafe_fn! {
                /// Launches a variant, counted through all targets. The context is current, and the variant eligible.
                fn llama_down_dispatch(
                    &self,
                    variant: usize,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    m: usize,
                    h: CUdeviceptr,
                    w: CUdeviceptr,
                    s: CUdeviceptr,
                    z: CUdeviceptr,
                ) -> Result<(), Error> {
                    // SAFETY: the caller's promise.
                    unsafe_block! {
                        match variant {
                            _ => self.llama_down_sm_90a_naive(stream, workspace, m, h, w, s, z),
                        }
                    }
                }
            }

            unsafe_fn! {
                /// Launch contract of variant 0 for `sm_90a`, `naive`.
                fn llama_down_sm_90a_naive(
                    &self,
                    stream: CUstream,
                    workspace: CUdeviceptr,
                    m: usize,
                    h: CUdeviceptr,
                    w: CUdeviceptr,
                    s: CUdeviceptr,
                    z: CUdeviceptr,
                ) -> Result<(), Error> {
                    let check = Check::new("llama_down");
                    let param_m = m as i64;
                    let config = LaunchConfig {
                        grid: check.blocks([
                            Int::min(
                                Int::ceil_div((Int::ceil_div(Int::from(m), Int::new(64)) * 64) * 1, Int::new(1)),
                                Int::new(1048576),
                            ),
                            Int::new(1),
                            Int::new(1),
                        ])?,
                        block: [256, 1, 1],
                        ..LaunchConfig::default()
                    };
                    let mut params = params![h, w, s, z, param_m];
                    // SAFETY: the parameters are the contract's, checked against the cubin's own layout.
                    unsafe_block! { self.llama_down.launch(0, 0, stream, &config, &mut params)? };
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

    /// Workspace for every call of every kernel: none needs more than these 23068672 bytes.
    pub fn workspace() -> Workspace {
        Workspace::with_bytes(23068672)
    }

    /// What is linked, and in which order it is tried.
    pub fn explain() -> Vec<Explain> {
        Vec::from([
            Explain {
                kernel: "rms_norm",
                target: "x86-64-v3",
                device: cpu::level().to_owned(),
                variants: if cpu::supports("x86-64-v3") {
                    RMS_NORM.to_vec()
                } else {
                    RMS_NORM[1..].to_vec()
                },
                left_out: Vec::new(),
                passed_over: Vec::new(),
            },
            Explain {
                kernel: "gate_up",
                target: "x86-64-v3",
                device: cpu::level().to_owned(),
                variants: if cpu::supports("x86-64-v3") {
                    GATE_UP.to_vec()
                } else {
                    GATE_UP[1..].to_vec()
                },
                left_out: Vec::new(),
                passed_over: Vec::new(),
            },
            Explain {
                kernel: "down_residual",
                target: "x86-64-v3",
                device: cpu::level().to_owned(),
                variants: if cpu::supports("x86-64-v3") {
                    DOWN_RESIDUAL.to_vec()
                } else {
                    DOWN_RESIDUAL[1..].to_vec()
                },
                left_out: Vec::new(),
                passed_over: Vec::new(),
            },
            Explain {
                kernel: "silu_mul",
                target: "x86-64-v3",
                device: cpu::level().to_owned(),
                variants: if cpu::supports("x86-64-v3") {
                    SILU_MUL.to_vec()
                } else {
                    SILU_MUL[1..].to_vec()
                },
                left_out: Vec::new(),
                passed_over: Vec::new(),
            },
        ])
    }

    unsafe_extern! {
        fn cutegen_1c0cb9378593721b(params: *mut *mut ::core::ffi::c_void);
        fn cutegen_260f5fbee767d567(params: *mut *mut ::core::ffi::c_void);
        fn cutegen_a2c8695e165b489e(params: *mut *mut ::core::ffi::c_void);
        fn cutegen_b5b5a9b36e8dd42d(params: *mut *mut ::core::ffi::c_void);
    }

    /// Arguments of [`rms_norm`].
    ///
    /// `y[m, d] = rms_norm(d, x[m, d], eps) * w[d]`
    #[derive(Debug)]
    pub struct RmsNorm<'a> {
        /// Axis, 1..=2048.
        pub m: usize,
        /// Input, `bf16[m, d]` with d = 512.
        pub x: View<'a, bf16, 2>,
        /// Weights, `bf16[d]` with d = 512: the same values at every launch.
        pub w: View<'a, bf16, 1>,
        /// Output, `bf16[m, d]` with d = 512.
        pub y: ViewMut<'a, bf16, 2>,
        /// Scalar, `f32`.
        pub eps: f32,
    }

    /// `y[m, d] = rms_norm(d, x[m, d], eps) * w[d]`
    ///
    /// Returns when done. Nothing is done where no output has an element.
    ///
    /// # Errors
    /// What is wrong with the call, by the argument's name; nothing has been written then.
    pub fn rms_norm(workspace: &mut Workspace, mut args: RmsNorm<'_>) -> Result<(), Error> {
        let check = Check::new("rms_norm");
        let m = args.m;
        check.axis("m", m, 1, 2048, 1)?;
        check.shape("x", args.x.layout(), [m, 512])?;
        check.row_major("x", args.x.layout())?;
        check.shape("w", args.w.layout(), [512])?;
        check.row_major("w", args.w.layout())?;
        check.shape("y", args.y.layout(), [m, 512])?;
        check.row_major("y", args.y.layout())?;
        if args.y.layout().is_empty() {
            return Ok(());
        }
        let x = args.x.as_ptr();
        let w = args.w.as_ptr();
        let y = args.y.as_mut_ptr();
        match workspace.choose(
            rms_norm_variant(m, x.addr() as u64, w.addr() as u64, y.addr() as u64), 0,
        ) {
            0 => {
                let scratch = workspace.ready(
                    "rms_norm", check.count("workspace", Int::padded(Int::new(4) * Int::from(m)))?,
                )?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! { rms_norm_host_naive(scratch, m, x, w, y, args.eps) }
            }
            _ => fallback_rms_norm(&mut args, [m, 512]),
        }
    }

    /// The variant that these arguments get; one past the last is the math.
    fn rms_norm_variant(m: usize, x: u64, w: u64, y: u64) -> usize {
        if !cpu::supports("x86-64-v3") {
            return 1;
        }
        0
    }

    unsafe_fn! {
        /// Launch contract of variant 0 for `host`, `naive`.
        fn rms_norm_host_naive(
            workspace: *mut u8, m: usize, x: *const bf16, w: *const bf16, y: *mut bf16, eps: f32,
        ) -> Result<(), Error> {
            let check = Check::new("rms_norm");
            let param_m = m as i64;
            let param_d: i64 = 512;
            let part_0 = workspace;
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! {
                call(cutegen_b5b5a9b36e8dd42d, &mut params![x, w, y, param_m, param_d, eps, part_0])
            };
            Ok(())
        }
    }

    /// The math, in f64, rounded where the spec rounds.
    fn fallback_rms_norm(args: &mut RmsNorm<'_>, [a0, a1]: [usize; 2]) -> Result<(), Error> {
        let check = Check::new("rms_norm");
        let t0 = &args.x;
        let t1 = &args.w;
        let t2 = &mut args.y;
        let s0 = args.eps;
        let mut w0 = check.zeros::<f64>(&[a0])?;
        for v0 in 0..a0 {
            w0[v0] = {
                let mut r = math::Sum::default();
                for v2 in 0..a1 {
                    let e: f64 = (f64::from(t0.at([v0, v2])) * f64::from(t0.at([v0, v2])));
                    r.add(e);
                }
                r.value()
            };
        }
        for v0 in 0..a0 {
            for v1 in 0..a1 {
                t2.put(
                    [v0, v1],
                    bf16::from_f64(
                        math::cast_bf16(((
                            f64::from(t0.at([v0, v1])) * math::rsqrt((
                                (w0[v0] / (a1 as f64)) + f64::from(s0)
                            ))
                        ) * f64::from(t1.at([v1]))))
                    ),
                );
            }
        }
        Ok(())
    }

    static RMS_NORM: [Variant; 2] = [
        Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" },
        Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
    ];

    /// Arguments of [`gate_up`].
    ///
    /// ```text
    /// g[m, f] = sum(d, x[m, d] * wg[f, d])
    /// u[m, f] = sum(d, x[m, d] * wu[f, d])
    /// h[m, f] = silu(g[m, f]) * u[m, f]
    /// ```
    #[derive(Debug)]
    pub struct GateUp<'a> {
        /// Axis, 1..=2048.
        pub m: usize,
        /// Input, `bf16[m, d]` with d = 512.
        pub x: View<'a, bf16, 2>,
        /// Weights, `bf16[f, d]` with f = 1408, d = 512: the same values at every launch.
        pub wg: View<'a, bf16, 2>,
        /// Weights, `bf16[f, d]` with f = 1408, d = 512: the same values at every launch.
        pub wu: View<'a, bf16, 2>,
        /// Output, `bf16[m, f]` with f = 1408.
        pub h: ViewMut<'a, bf16, 2>,
    }

    /// ```text
    /// g[m, f] = sum(d, x[m, d] * wg[f, d])
    /// u[m, f] = sum(d, x[m, d] * wu[f, d])
    /// h[m, f] = silu(g[m, f]) * u[m, f]
    /// ```
    ///
    /// Returns when done. Nothing is done where no output has an element.
    ///
    /// # Errors
    /// What is wrong with the call, by the argument's name; nothing has been written then.
    pub fn gate_up(workspace: &mut Workspace, mut args: GateUp<'_>) -> Result<(), Error> {
        let check = Check::new("gate_up");
        let m = args.m;
        check.axis("m", m, 1, 2048, 1)?;
        check.shape("x", args.x.layout(), [m, 512])?;
        check.row_major("x", args.x.layout())?;
        check.shape("wg", args.wg.layout(), [1408, 512])?;
        check.row_major("wg", args.wg.layout())?;
        check.shape("wu", args.wu.layout(), [1408, 512])?;
        check.row_major("wu", args.wu.layout())?;
        check.shape("h", args.h.layout(), [m, 1408])?;
        check.row_major("h", args.h.layout())?;
        if args.h.layout().is_empty() {
            return Ok(());
        }
        let x = args.x.as_ptr();
        let wg = args.wg.as_ptr();
        let wu = args.wu.as_ptr();
        let h = args.h.as_mut_ptr();
        match workspace.choose(
            gate_up_variant(m, x.addr() as u64, wg.addr() as u64, wu.addr() as u64, h.addr() as u64), 0,
        ) {
            0 => {
                let scratch = workspace.ready(
                    "gate_up",
                    check.count(
                        "workspace",
                        Int::padded(
                            (Int::new(4) * Int::from(m)) * 1408
                        ) + Int::padded((Int::new(4) * Int::from(m)) * 1408),
                    )?,
                )?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! { gate_up_host_naive(scratch, m, x, wg, wu, h) }
            }
            _ => fallback_gate_up(&mut args, [m, 1408, 512]),
        }
    }

    /// The variant that these arguments get; one past the last is the math.
    fn gate_up_variant(m: usize, x: u64, wg: u64, wu: u64, h: u64) -> usize {
        if !cpu::supports("x86-64-v3") {
            return 1;
        }
        0
    }

    unsafe_fn! {
        /// Launch contract of variant 0 for `host`, `naive`.
        fn gate_up_host_naive(
            workspace: *mut u8,
            m: usize,
            x: *const bf16,
            wg: *const bf16,
            wu: *const bf16,
            h: *mut bf16,
        ) -> Result<(), Error> {
            let check = Check::new("gate_up");
            let param_m = m as i64;
            let param_f: i64 = 1408;
            let param_d: i64 = 512;
            let part_0 = workspace;
            let part_1 = workspace.wrapping_add(
                check.count("workspace", Int::padded((Int::new(4) * Int::from(m)) * 1408))?
            );
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! {
                call(
                    cutegen_a2c8695e165b489e,
                    &mut params![x, wg, wu, h, param_m, param_f, param_d, part_0, part_1],
                )
            };
            Ok(())
        }
    }

    /// The math, in f64, rounded where the spec rounds.
    fn fallback_gate_up(args: &mut GateUp<'_>, [a0, a1, a2]: [usize; 3]) -> Result<(), Error> {
        let check = Check::new("gate_up");
        let t0 = &args.x;
        let t1 = &args.wg;
        let t2 = &args.wu;
        let t3 = &mut args.h;
        let mut w0 = check.zeros::<f64>(&[a0, a1])?;
        let mut w1 = check.zeros::<f64>(&[a0, a1])?;
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
        for v3 in 0..a0 {
            for v4 in 0..a1 {
                w1[v3 * a1 + v4] = {
                    let mut r = math::Sum::default();
                    for v5 in 0..a2 {
                        let e: f64 = (f64::from(t0.at([v3, v5])) * f64::from(t2.at([v4, v5])));
                        r.add(e);
                    }
                    r.value()
                };
            }
        }
        for v6 in 0..a0 {
            for v7 in 0..a1 {
                t3.put(
                    [v6, v7],
                    bf16::from_f64(math::cast_bf16((math::silu(w0[v6 * a1 + v7]) * w1[v6 * a1 + v7]))),
                );
            }
        }
        Ok(())
    }

    static GATE_UP: [Variant; 2] = [
        Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" },
        Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
    ];

    /// Arguments of [`down_residual`].
    ///
    /// `y[m, d] = sum(f, h[m, f] * w[d, f]) + r[m, d]`
    #[derive(Debug)]
    pub struct DownResidual<'a> {
        /// Axis, 1..=2048.
        pub m: usize,
        /// Input, `bf16[m, f]` with f = 1408.
        pub h: View<'a, bf16, 2>,
        /// Weights, `bf16[d, f]` with d = 512, f = 1408: the same values at every launch.
        pub w: View<'a, bf16, 2>,
        /// Input, `bf16[m, d]` with d = 512.
        pub r: View<'a, bf16, 2>,
        /// Output, `bf16[m, d]` with d = 512.
        pub y: ViewMut<'a, bf16, 2>,
    }

    /// `y[m, d] = sum(f, h[m, f] * w[d, f]) + r[m, d]`
    ///
    /// Returns when done. Nothing is done where no output has an element.
    ///
    /// # Errors
    /// What is wrong with the call, by the argument's name; nothing has been written then.
    pub fn down_residual(workspace: &mut Workspace, mut args: DownResidual<'_>) -> Result<(), Error> {
        let check = Check::new("down_residual");
        let m = args.m;
        check.axis("m", m, 1, 2048, 1)?;
        check.shape("h", args.h.layout(), [m, 1408])?;
        check.row_major("h", args.h.layout())?;
        check.shape("w", args.w.layout(), [512, 1408])?;
        check.row_major("w", args.w.layout())?;
        check.shape("r", args.r.layout(), [m, 512])?;
        check.row_major("r", args.r.layout())?;
        check.shape("y", args.y.layout(), [m, 512])?;
        check.row_major("y", args.y.layout())?;
        if args.y.layout().is_empty() {
            return Ok(());
        }
        let h = args.h.as_ptr();
        let w = args.w.as_ptr();
        let r = args.r.as_ptr();
        let y = args.y.as_mut_ptr();
        match workspace.choose(
            down_residual_variant(m, h.addr() as u64, w.addr() as u64, r.addr() as u64, y.addr() as u64),
            0,
        ) {
            0 => {
                let scratch = workspace.ready(
                    "down_residual",
                    check.count("workspace", Int::padded((Int::new(4) * Int::from(m)) * 512))?,
                )?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! { down_residual_host_naive(scratch, m, h, w, r, y) }
            }
            _ => fallback_down_residual(&mut args, [m, 512, 1408]),
        }
    }

    /// The variant that these arguments get; one past the last is the math.
    fn down_residual_variant(m: usize, h: u64, w: u64, r: u64, y: u64) -> usize {
        if !cpu::supports("x86-64-v3") {
            return 1;
        }
        0
    }

    unsafe_fn! {
        /// Launch contract of variant 0 for `host`, `naive`.
        fn down_residual_host_naive(
            workspace: *mut u8, m: usize, h: *const bf16, w: *const bf16, r: *const bf16, y: *mut bf16,
        ) -> Result<(), Error> {
            let check = Check::new("down_residual");
            let param_m = m as i64;
            let param_d: i64 = 512;
            let param_f: i64 = 1408;
            let part_0 = workspace;
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! {
                call(
                    cutegen_1c0cb9378593721b,
                    &mut params![h, w, r, y, param_m, param_d, param_f, part_0],
                )
            };
            Ok(())
        }
    }

    /// The math, in f64, rounded where the spec rounds.
    fn fallback_down_residual(
        args: &mut DownResidual<'_>, [a0, a1, a2]: [usize; 3],
    ) -> Result<(), Error> {
        let check = Check::new("down_residual");
        let t0 = &args.h;
        let t1 = &args.w;
        let t2 = &args.r;
        let t3 = &mut args.y;
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
                t3.put(
                    [v0, v1],
                    bf16::from_f64(math::cast_bf16((w0[v0 * a1 + v1] + f64::from(t2.at([v0, v1]))))),
                );
            }
        }
        Ok(())
    }

    static DOWN_RESIDUAL: [Variant; 2] = [
        Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" },
        Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
    ];

    /// Arguments of [`silu_mul`].
    ///
    /// `y[n] = silu(g[n]) * u[n]`
    #[derive(Debug)]
    pub struct SiluMul<'a> {
        /// Axis, 1..=1073741824.
        pub n: usize,
        /// Input, `bf16[n]`.
        pub g: View<'a, bf16, 1>,
        /// Input, `bf16[n]`.
        pub u: View<'a, bf16, 1>,
        /// Output, `bf16[n]`.
        pub y: ViewMut<'a, bf16, 1>,
    }

    /// `y[n] = silu(g[n]) * u[n]`
    ///
    /// Returns when done. Nothing is done where no output has an element.
    ///
    /// # Errors
    /// What is wrong with the call, by the argument's name; nothing has been written then.
    pub fn silu_mul(workspace: &mut Workspace, mut args: SiluMul<'_>) -> Result<(), Error> {
        let check = Check::new("silu_mul");
        let n = args.n;
        check.axis("n", n, 1, 1073741824, 1)?;
        check.shape("g", args.g.layout(), [n])?;
        check.row_major("g", args.g.layout())?;
        check.shape("u", args.u.layout(), [n])?;
        check.row_major("u", args.u.layout())?;
        check.shape("y", args.y.layout(), [n])?;
        check.row_major("y", args.y.layout())?;
        if args.y.layout().is_empty() {
            return Ok(());
        }
        let g = args.g.as_ptr();
        let u = args.u.as_ptr();
        let y = args.y.as_mut_ptr();
        match workspace.choose(
            silu_mul_variant(n, g.addr() as u64, u.addr() as u64, y.addr() as u64), 0,
        ) {
            0 => {
                let scratch = workspace.ready("silu_mul", 0)?;
                // SAFETY: arguments and the CPU's level are checked; borrows keep outputs apart.
                unsafe_block! { silu_mul_host_naive(scratch, n, g, u, y) }
            }
            _ => fallback_silu_mul(&mut args, [n]),
        }
    }

    /// The variant that these arguments get; one past the last is the math.
    fn silu_mul_variant(n: usize, g: u64, u: u64, y: u64) -> usize {
        if !cpu::supports("x86-64-v3") {
            return 1;
        }
        0
    }

    unsafe_fn! {
        /// Launch contract of variant 0 for `host`, `naive`.
        fn silu_mul_host_naive(
            workspace: *mut u8, n: usize, g: *const bf16, u: *const bf16, y: *mut bf16,
        ) -> Result<(), Error> {
            let check = Check::new("silu_mul");
            let param_n = n as i64;
            // SAFETY: the parameters are the contract's; the caller vouches for the memory.
            unsafe_block! { call(cutegen_260f5fbee767d567, &mut params![g, u, y, param_n]) };
            Ok(())
        }
    }

    /// The math, in f64, rounded where the spec rounds.
    fn fallback_silu_mul(args: &mut SiluMul<'_>, [a0]: [usize; 1]) -> Result<(), Error> {
        let check = Check::new("silu_mul");
        let t0 = &args.g;
        let t1 = &args.u;
        let t2 = &mut args.y;
        for v0 in 0..a0 {
            t2.put(
                [v0],
                bf16::from_f64(
                    math::cast_bf16((math::silu(f64::from(t0.at([v0]))) * f64::from(t1.at([v0]))))
                ),
            );
        }
        Ok(())
    }

    static SILU_MUL: [Variant; 2] = [
        Variant { name: "naive", origin: Origin::Untuned, eligible: "", preferred: "", tuned_on: "" },
        Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
    ];
}
