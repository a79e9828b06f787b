//! What an emitted `kernels.rs` looks like, written by hand for one kernel, compiled, and its host half run:
//!
//! ```toml
//! [package.metadata.kernels.silu_mul]
//! axes    = { n = "1..=268435456" }
//! inputs  = { g = "bf16[n]", u = "bf16[n]" }
//! outputs = { y = "bf16[n]" }
//! math    = "y[n] = silu(g[n]) * u[n]"
//! targets = ["sm_90a", "host"]
//! ```
//!
//! `mod kernels` is the emitted text; below it stand the linked symbols, which an archive holds in life, and
//! the tests, which are the user's code.

/// Emitted from the line above by `include_kernels!()`.
pub mod kernels {
    // Emitted by cutegen 0.1.0 from [package.metadata.kernels] in Cargo.toml. Not meant to be edited.

    /// CUDA kernels for `sm_90a`.
    #[cfg(feature = "cuda")]
    #[allow(clippy::all, clippy::pedantic, reason = "emitted code")]
    #[allow(
        missing_docs,
        non_upper_case_globals,
        unreachable_pub,
        unsafe_code,
        unused,
        reason = "emitted code"
    )]
    pub mod cuda {
        use ::cutegen_runtime::check::{Check, all_aligned, any_zero};
        use ::cutegen_runtime::cuda::{
            Artifact, CUdeviceptr, CUstream, CudaContext, CudaStream, CudaView, CudaViewMut, Device,
            KernelEntry, LaunchConfig, LoadedKernel, Order, Step, TargetEntry, VariantEntry, Workspace,
        };
        use ::cutegen_runtime::dispatch::{Explain, Origin, Variant};
        use ::cutegen_runtime::half::bf16;
        use ::cutegen_runtime::{Error, ceil_div, params};
        use ::std::sync::Arc;

        /// All kernels of this crate, loaded into one context by [`load`].
        #[derive(Debug)]
        pub struct Kernels {
            silu_mul: LoadedKernel,
        }

        /// Checks device, driver and digests, and loads every kernel.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            let device = Device::of(context)?;
            Ok(Kernels { silu_mul: LoadedKernel::load(&device, &SILU_MUL)? })
        }

        /// Arguments of [`Kernels::silu_mul`].
        ///
        /// `y[n] = silu(g[n]) * u[n]`
        #[derive(Debug)]
        pub struct SiluMul<'a> {
            /// Axis, 1..=268435456.
            pub n: usize,
            /// Input, `bf16[n]`.
            pub g: CudaView<'a, bf16, 1>,
            /// Input, `bf16[n]`.
            pub u: CudaView<'a, bf16, 1>,
            /// Output, `bf16[n]`.
            pub y: CudaViewMut<'a, bf16, 1>,
        }

        impl Kernels {
            /// Workspace for every call of every kernel on this stream: none of them needs more.
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_bytes(stream, 0)
            }

            /// What is loaded, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> {
                vec![self.silu_mul.explain()]
            }

            /// `y[n] = silu(g[n]) * u[n]`
            ///
            /// Launches on `stream` and returns. Empty axes are done already.
            pub fn silu_mul(
                &self,
                stream: &Arc<CudaStream>,
                workspace: &mut Workspace,
                args: SiluMul<'_>,
            ) -> Result<(), Error> {
                let check = Check::new("silu_mul");
                check.axis("n", args.n, 1, 268435456, 1)?;
                check.shape("g", args.g.layout(), [args.n])?;
                check.row_major("g", args.g.layout())?;
                check.shape("u", args.u.layout(), [args.n])?;
                check.row_major("u", args.u.layout())?;
                check.shape("y", args.y.layout(), [args.n])?;
                check.row_major("y", args.y.layout())?;
                if any_zero(&[args.n]) {
                    return Ok(());
                }
                let order = Order::begin(&self.silu_mul, stream)?;
                let bound_workspace = order.workspace(workspace, Self::silu_mul_workspace_bytes(args.n))?;
                let bound_g = order.read("g", args.g)?;
                let bound_u = order.read("u", args.u)?;
                let bound_y = order.write("y", args.y)?;
                check.disjoint(
                    [("y", bound_y.extent())],
                    [("g", bound_g.extent()), ("u", bound_u.extent())],
                )?;
                // SAFETY: axes, shapes, strides, devices and overlap are checked above, and the bound arguments
                // keep the memory, in stream order, past the launch.
                let launched = unsafe {
                    self.silu_mul_dispatch(
                        self.silu_mul_variant(
                            args.n,
                            bound_g.address(),
                            bound_u.address(),
                            bound_y.address(),
                        ),
                        stream.cu_stream(),
                        bound_workspace.address(),
                        args.n,
                        bound_g.address(),
                        bound_u.address(),
                        bound_y.address(),
                    )
                };
                drop((bound_workspace, bound_g, bound_u, bound_y));
                order.finish(launched)
            }

            /// Bytes of workspace that [`Self::silu_mul_raw`] needs for these axes.
            pub const fn silu_mul_workspace_bytes(n: usize) -> usize {
                0
            }

            /// [`Self::silu_mul`] over raw handles, for memory and streams that another library owns.
            ///
            /// # Safety
            /// `stream` belongs to the context given to [`load`]. Axes lie in their ranges. Each address is that
            /// of a dense row-major tensor of the shape and type that [`SiluMul`] says, aligned to its element,
            /// alive until the stream has passed the launch; outputs overlap nothing. `workspace` is aligned to
            /// 256 bytes and has [`Self::silu_mul_workspace_bytes`]. Order is the caller's.
            pub unsafe fn silu_mul_raw(
                &self,
                stream: CUstream,
                workspace: CUdeviceptr,
                n: usize,
                g: CUdeviceptr,
                u: CUdeviceptr,
                y: CUdeviceptr,
            ) -> Result<(), Error> {
                if any_zero(&[n]) {
                    return Ok(());
                }
                self.silu_mul.bind()?;
                let variant = self.silu_mul_variant(n, g, u, y);
                // SAFETY: the caller's promise.
                unsafe { self.silu_mul_dispatch(variant, stream, workspace, n, g, u, y) }
            }

            /// The variant that these arguments get.
            fn silu_mul_variant(&self, n: usize, g: CUdeviceptr, u: CUdeviceptr, y: CUdeviceptr) -> usize {
                if n >= 4096 && all_aligned(16, &[g, u, y]) {
                    return 0;
                }
                1
            }

            /// Launches a variant. The context is current, and the variant eligible.
            unsafe fn silu_mul_dispatch(
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
                unsafe {
                    match variant {
                        0 => self.silu_mul_sm_90a_vector8(stream, workspace, n, g, u, y),
                        _ => self.silu_mul_sm_90a_naive(stream, workspace, n, g, u, y),
                    }
                }
            }

            /// Variant 0, launch contract of `vector8`.
            unsafe fn silu_mul_sm_90a_vector8(
                &self,
                stream: CUstream,
                workspace: CUdeviceptr,
                n: usize,
                g: CUdeviceptr,
                u: CUdeviceptr,
                y: CUdeviceptr,
            ) -> Result<(), Error> {
                let check = Check::new("silu_mul");
                let sm_count = self.silu_mul.device().sm_count as usize;
                let param_n = n as i32;
                let config = LaunchConfig {
                    grid: check.grid([usize::min(ceil_div(n, 2048), sm_count * 8), 1, 1])?,
                    block: [256, 1, 1],
                    pdl: true,
                    ..LaunchConfig::default()
                };
                let mut params = params![param_n, g, u, y];
                // SAFETY: the parameters are those of the contract, which was checked against the cubin's layout.
                unsafe { self.silu_mul.launch(0, 0, stream, &config, &mut params) }
            }

            /// Variant 1, launch contract of `naive`.
            unsafe fn silu_mul_sm_90a_naive(
                &self,
                stream: CUstream,
                workspace: CUdeviceptr,
                n: usize,
                g: CUdeviceptr,
                u: CUdeviceptr,
                y: CUdeviceptr,
            ) -> Result<(), Error> {
                let check = Check::new("silu_mul");
                let param_n = n as i32;
                let config = LaunchConfig {
                    grid: check.grid([ceil_div(n, 256), 1, 1])?,
                    block: [256, 1, 1],
                    ..LaunchConfig::default()
                };
                let mut params = params![param_n, g, u, y];
                // SAFETY: the parameters are those of the contract, which was checked against the cubin's layout.
                unsafe { self.silu_mul.launch(1, 0, stream, &config, &mut params) }
            }
        }

        unsafe extern "C" {
            static cutegen_example_0_1_0_6f1d2c3b4a596877_vector8: [u8; 13];
            static cutegen_example_0_1_0_6f1d2c3b4a596877_naive: [u8; 11];
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
                            // SAFETY: linked from this crate's archive, constant, of this length.
                            stored: unsafe { &cutegen_example_0_1_0_6f1d2c3b4a596877_vector8 },
                            compressed: false,
                            sha256: "0000000000000000000000000000000000000000000000000000000000000000",
                            len: 13,
                        },
                        min_driver: 580,
                        steps: &[Step {
                            entry: "silu_mul_vector8",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
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
                            // SAFETY: linked from this crate's archive, constant, of this length.
                            stored: unsafe { &cutegen_example_0_1_0_6f1d2c3b4a596877_naive },
                            compressed: false,
                            sha256: "0000000000000000000000000000000000000000000000000000000000000000",
                            len: 11,
                        },
                        min_driver: 580,
                        steps: &[Step {
                            entry: "silu_mul_naive",
                            dynamic_smem_max: 0,
                            nonportable_cluster: false,
                        }],
                    },
                ],
            }],
        };
    }

    /// Host kernels for `x86_64-unknown-linux-gnu` at `x86-64-v3`, over CPU fallbacks from the math.
    #[allow(clippy::all, clippy::pedantic, reason = "emitted code")]
    #[allow(
        missing_docs,
        non_upper_case_globals,
        unreachable_pub,
        unsafe_code,
        unused,
        reason = "emitted code"
    )]
    pub mod host {
        use ::cutegen_runtime::check::{Check, all_aligned, any_zero};
        use ::cutegen_runtime::dispatch::{Explain, Origin, Variant};
        use ::cutegen_runtime::half::bf16;
        use ::cutegen_runtime::host::{Workspace, call, cpu};
        use ::cutegen_runtime::{Error, View, ViewMut, fallback, params};

        /// Arguments of [`silu_mul`].
        ///
        /// `y[n] = silu(g[n]) * u[n]`
        #[derive(Debug)]
        pub struct SiluMul<'a> {
            /// Axis, 1..=268435456.
            pub n: usize,
            /// Input, `bf16[n]`.
            pub g: View<'a, bf16, 1>,
            /// Input, `bf16[n]`.
            pub u: View<'a, bf16, 1>,
            /// Output, `bf16[n]`.
            pub y: ViewMut<'a, bf16, 1>,
        }

        /// Workspace for every call of every kernel: none of them needs more.
        pub fn workspace() -> Workspace {
            Workspace::with_bytes(0)
        }

        /// What is linked, and in which order it is tried.
        pub fn explain() -> Vec<Explain> {
            let variants: &[Variant] = if cpu::supports("x86-64-v3") { &SILU_MUL } else { &SILU_MUL[1..] };
            vec![Explain {
                kernel: "silu_mul",
                target: "x86-64-v3",
                device: cpu::level().to_owned(),
                variants: variants.to_vec(),
            }]
        }

        /// `y[n] = silu(g[n]) * u[n]`
        ///
        /// Returns when done.
        pub fn silu_mul(workspace: &mut Workspace, mut args: SiluMul<'_>) -> Result<(), Error> {
            let check = Check::new("silu_mul");
            check.axis("n", args.n, 1, 268435456, 1)?;
            check.shape("g", args.g.layout(), [args.n])?;
            check.row_major("g", args.g.layout())?;
            check.shape("u", args.u.layout(), [args.n])?;
            check.row_major("u", args.u.layout())?;
            check.shape("y", args.y.layout(), [args.n])?;
            check.row_major("y", args.y.layout())?;
            if any_zero(&[args.n]) {
                return Ok(());
            }
            if cpu::supports("x86-64-v3") {
                let scratch = workspace.reserve(0);
                let (g, u, y) = (args.g.as_ptr(), args.u.as_ptr(), args.y.as_mut_ptr());
                let param_n = args.n as i64;
                // SAFETY: axes, shapes and strides are checked above, the CPU's level too; borrows keep the memory
                // and keep outputs apart. The parameters are those of the launch contract.
                unsafe {
                    call(cutegen_example_0_1_0_0f1e2d3c4b5a6978_blocked, &mut params![param_n, g, u, y]);
                }
                return Ok(());
            }
            fallback_silu_mul(&mut args);
            Ok(())
        }

        /// The math, in f64, rounded where the spec rounds.
        fn fallback_silu_mul(args: &mut SiluMul<'_>) {
            for n in 0..args.n {
                let value = fallback::silu(args.g.at([n]).to_f64()) * args.u.at([n]).to_f64();
                args.y.put([n], bf16::from_f64(value));
            }
        }

        unsafe extern "C" {
            fn cutegen_example_0_1_0_0f1e2d3c4b5a6978_blocked(params: *mut *mut ::core::ffi::c_void);
        }

        static SILU_MUL: [Variant; 2] = [
            Variant { name: "blocked", origin: Origin::Tuned, eligible: "", preferred: "", tuned_on: "" },
            Variant { name: "math", origin: Origin::Fallback, eligible: "", preferred: "", tuned_on: "" },
        ];

        #[cfg(test)]
        pub(super) fn only_fallback(mut args: SiluMul<'_>) {
            fallback_silu_mul(&mut args);
        }
    }

    /// For the tests below; not emitted.
    #[cfg(test)]
    pub(super) fn fallback(args: host::SiluMul<'_>) {
        host::only_fallback(args);
    }
}

/// What the archive holds.
mod archive {
    use half::bf16;
    use std::ffi::c_void;

    #[cfg(feature = "cuda")]
    #[unsafe(no_mangle)]
    static cutegen_example_0_1_0_6f1d2c3b4a596877_vector8: [u8; 13] = *b"vector8 cubin";
    #[cfg(feature = "cuda")]
    #[unsafe(no_mangle)]
    static cutegen_example_0_1_0_6f1d2c3b4a596877_naive: [u8; 11] = *b"naive cubin";

    #[unsafe(no_mangle)]
    unsafe extern "C" fn cutegen_example_0_1_0_0f1e2d3c4b5a6978_blocked(params: *mut *mut c_void) {
        // SAFETY: four parameters, an i64 and three pointers to tensors of that many elements.
        unsafe {
            let params = std::slice::from_raw_parts(params, 4);
            let n = *params[0].cast::<i64>() as usize;
            let g = std::slice::from_raw_parts(*params[1].cast::<*const bf16>(), n);
            let u = std::slice::from_raw_parts(*params[2].cast::<*const bf16>(), n);
            let y = std::slice::from_raw_parts_mut(*params[3].cast::<*mut bf16>(), n);
            for i in 0..n {
                let x = g[i].to_f32();
                y[i] = bf16::from_f32(x / (1.0 + (-x).exp()) * u[i].to_f32());
            }
        }
    }
}

use cutegen_runtime::{AsView, AsViewMut, Error};
use half::bf16;
use kernels::host::{SiluMul, silu_mul};

fn ramp(n: usize, step: f32) -> Vec<bf16> {
    (0..n).map(|i| bf16::from_f32((i as f32 - n as f32 / 2.0) * step)).collect()
}

#[test]
fn a_host_kernel_is_one_typed_call() -> Result<(), Error> {
    let n = 777;
    let (g, u, mut y) = (ramp(n, 0.02), ramp(n, 0.01), vec![bf16::NAN; n]);
    let mut workspace = kernels::host::workspace();
    silu_mul(&mut workspace, SiluMul { n, g: g.view([n]), u: u.view([n]), y: y.view_mut([n]) })?;
    for i in 0..n {
        let x = g[i].to_f64();
        let expected = x / (1.0 + (-x).exp()) * u[i].to_f64();
        let error = (y[i].to_f64() - expected).abs();
        assert!(error <= expected.abs() / 256.0 + 1e-30, "y[{i}] = {} is not {expected}", y[i]);
    }
    Ok(())
}

#[test]
fn the_fallback_agrees_to_the_last_rounding() -> Result<(), Error> {
    let n = 777;
    let (g, u) = (ramp(n, 0.02), ramp(n, 0.01));
    let (mut y, mut z) = (vec![bf16::NAN; n], vec![bf16::NAN; n]);
    let mut workspace = kernels::host::workspace();
    silu_mul(&mut workspace, SiluMul { n, g: g.view([n]), u: u.view([n]), y: y.view_mut([n]) })?;
    kernels::fallback(SiluMul { n, g: g.view([n]), u: u.view([n]), y: z.view_mut([n]) });
    let apart = y.iter().zip(&z).filter(|(y, z)| y.to_bits().abs_diff(z.to_bits()) > 1).count();
    assert_eq!(apart, 0);
    Ok(())
}

#[test]
fn misuse_is_reported_by_kernel_and_argument() {
    let (g, u, mut y) = (ramp(8, 1.0), ramp(8, 1.0), vec![bf16::ZERO; 8]);
    let mut workspace = kernels::host::workspace();
    let mut attempt = |n, g_shape: [usize; 1], y_stride| {
        let y = y.view_mut([4]).with_strides([y_stride]);
        let args = SiluMul { n, g: g[..4].view(g_shape), u: u[..4].view([4]), y };
        silu_mul(&mut workspace, args).map_err(|error| error.to_string())
    };
    assert_eq!(attempt(4, [4], 1), Ok(()));
    let cases = [
        (attempt(5, [4], 1), "silu_mul: dimension 0 of argument `g` is 4 where the axes give 5;"),
        (attempt(4, [5], 1), "silu_mul: argument `g` has 4 elements where its view needs 5;"),
        (attempt(4, [4], 2), "silu_mul: argument `y` has stride 2 in dimension 0"),
        (attempt(4, [4], 3), "silu_mul: argument `y` has 8 elements where its view needs 10;"),
        (attempt(0, [4], 1), "silu_mul: axis `n` is 0, outside the declared 1..=268435456;"),
    ];
    for (result, expected) in cases {
        assert!(result.as_ref().is_err_and(|text| text.starts_with(expected)), "{result:?}, not {expected}");
    }
}

#[test]
fn host_kernels_explain_themselves() {
    let text = kernels::host::explain()[0].to_string();
    assert!(text.contains("silu_mul for x86-64-v3"), "{text}");
    assert!(text.contains("math     fallback  always"), "{text}");
}

#[cfg(feature = "cuda")]
mod on_a_device {
    use super::kernels::cuda::{Kernels, SiluMul, load};
    use cutegen_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
    use cutegen_runtime::cuda::{CUdeviceptr, CUstream, Workspace, context};
    use cutegen_runtime::{AsView, AsViewMut, Error};
    use half::bf16;
    use std::sync::Arc;

    /// What an engine writes; it compiles here and runs where there is a device.
    fn layer(
        kernels: &Kernels,
        stream: &Arc<CudaStream>,
        workspace: &mut Workspace,
        gate_up: &CudaSlice<bf16>,
        y: &mut CudaSlice<bf16>,
    ) -> Result<(), Error> {
        let n = y.len();
        let (g, u) = gate_up.as_view().split_at(n);
        let args = SiluMul { n, g: g.view([n]), u: u.view([n]), y: y.view_mut([n]) };
        kernels.silu_mul(stream, workspace, args)?;
        let half = n / 2;
        kernels.silu_mul(
            stream,
            workspace,
            SiluMul {
                n: half,
                g: gate_up.slice(..half).view([half]),
                u: g.slice(half..half * 2).view([half]),
                y: y.slice_mut(..half).view_mut([half]),
            },
        )
    }

    /// What an engine on another cudarc writes.
    ///
    /// # Safety
    /// As `silu_mul_raw`.
    unsafe fn raw_layer(
        kernels: &Kernels,
        stream: CUstream,
        [g, u, y]: [CUdeviceptr; 3],
        n: usize,
    ) -> Result<(), Error> {
        // SAFETY: the caller's promise.
        unsafe { kernels.silu_mul_raw(stream, 0, n, g, u, y) }
    }

    #[test]
    fn kernels_cross_threads_and_a_missing_driver_is_an_error() {
        fn shared<T: Send + Sync>() {}
        shared::<Kernels>();
        let _ = (layer, raw_layer);
        match context(0).and_then(|context| load(&context)) {
            Err(Error::DriverMissing { .. } | Error::NoDevice { .. } | Error::DriverTooOld { .. }) => {}
            // The cubins above are no cubins, and their digests say so.
            Err(Error::CorruptArtifact { .. } | Error::NoEntryForDevice { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
