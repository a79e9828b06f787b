// Emitted by cutegen 0.1.0 for package `example-app` 0.1.0.
// Not meant to be edited: edit the kernels' specs and build.
//
// rms_norm: a stub, without kernels
// gate_up: a stub, without kernels
// down_residual: a stub, without kernels
// silu_mul: a stub, without kernels
// llama_norm: a stub, without kernels
// llama_gate_up: a stub, without kernels
// llama_down: a stub, without kernels
// everything: a stub, without kernels
// scatter: a stub, without kernels

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
        use super::cutegen_runtime::element::F8E4M3;
        use super::cutegen_runtime::element::I4x2;
        use super::cutegen_runtime::element::U4x2;
        use super::cutegen_runtime::{Error, Int, params, unsafe_block, unsafe_extern, unsafe_fn};
        use ::std::sync::Arc;

        /// All kernels of this package, on the device of one context.
        #[derive(Debug)]
        pub struct Kernels(());

        /// Checks device and driver.
        pub fn load(context: &Arc<CudaContext>) -> Result<Kernels, Error> {
            Err(Error::Stub { kernel: "silu_mul" })
        }

        impl Kernels {
            /// Bytes that every raw entry finds zero and leaves so.
            pub const KEPT_ZERO_BYTES: usize = 0;

            /// Loads every kernel that has not been called yet.
            pub fn warm(&self) -> Result<(), Error> {
                Ok(())
            }

            /// Workspace for the calls of every kernel on this stream.
            pub fn workspace(&self, stream: &Arc<CudaStream>) -> Result<Workspace, Error> {
                Workspace::with_bytes(stream, 0)
            }

            /// What is linked for this device, and in which order it is tried.
            pub fn explain(&self) -> Vec<Explain> {
                Vec::new()
            }
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

        impl Kernels {
            /// `y[n] = silu(g[n]) * u[n]`
            ///
            /// Launches on `stream` and returns.
            pub fn silu_mul(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: SiluMul<'_>,
            ) -> Result<(), Error> {
                Err(Error::Stub { kernel: "silu_mul" })
            }

            unsafe_fn! {
                /// [`Self::silu_mul`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Safety
                /// As the build that carries kernels says.
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
                    Err(Error::Stub { kernel: "silu_mul" })
                }
            }

            /// Bytes of workspace that [`Self::silu_mul_raw`] needs for these axes and addresses.
            pub fn silu_mul_workspace_bytes(
                &self, n: usize, g: CUdeviceptr, u: CUdeviceptr, y: CUdeviceptr,
            ) -> usize {
                0
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

        impl Kernels {
            /// ```text
            /// a[m, d] = cast(bf16, x[m, d] + r[m, d])
            /// s[m, d] = a[m, d]
            /// y[m, d] = rms_norm(d, a[m, d], eps) * w[d]
            /// ```
            ///
            /// Launches on `stream` and returns.
            pub fn llama_norm(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: LlamaNorm<'_>,
            ) -> Result<(), Error> {
                Err(Error::Stub { kernel: "llama_norm" })
            }

            unsafe_fn! {
                /// [`Self::llama_norm`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Safety
                /// As the build that carries kernels says.
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
                    Err(Error::Stub { kernel: "llama_norm" })
                }
            }

            /// Bytes of workspace that [`Self::llama_norm_raw`] needs for these axes and addresses.
            pub fn llama_norm_workspace_bytes(
                &self,
                m: usize,
                x: CUdeviceptr,
                r: CUdeviceptr,
                w: CUdeviceptr,
                s: CUdeviceptr,
                y: CUdeviceptr,
            ) -> usize {
                0
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

        impl Kernels {
            /// ```text
            /// g[m, f] = sum(d, y[m, d] * wg[f, d])
            /// u[m, f] = sum(d, y[m, d] * wu[f, d])
            /// h[m, f] = silu(g[m, f]) * u[m, f]
            /// ```
            ///
            /// Launches on `stream` and returns.
            pub fn llama_gate_up(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: LlamaGateUp<'_>,
            ) -> Result<(), Error> {
                Err(Error::Stub { kernel: "llama_gate_up" })
            }

            unsafe_fn! {
                /// [`Self::llama_gate_up`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Safety
                /// As the build that carries kernels says.
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
                    Err(Error::Stub { kernel: "llama_gate_up" })
                }
            }

            /// Bytes of workspace that [`Self::llama_gate_up_raw`] needs for these axes and addresses.
            pub fn llama_gate_up_workspace_bytes(
                &self, m: usize, y: CUdeviceptr, wg: CUdeviceptr, wu: CUdeviceptr, h: CUdeviceptr,
            ) -> usize {
                0
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

        impl Kernels {
            /// `z[m, d] = sum(f, h[m, f] * w[d, f]) + s[m, d]`
            ///
            /// Launches on `stream` and returns.
            pub fn llama_down(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: LlamaDown<'_>,
            ) -> Result<(), Error> {
                Err(Error::Stub { kernel: "llama_down" })
            }

            unsafe_fn! {
                /// [`Self::llama_down`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Safety
                /// As the build that carries kernels says.
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
                    Err(Error::Stub { kernel: "llama_down" })
                }
            }

            /// Bytes of workspace that [`Self::llama_down_raw`] needs for these axes and addresses.
            pub fn llama_down_workspace_bytes(
                &self, m: usize, h: CUdeviceptr, w: CUdeviceptr, s: CUdeviceptr, z: CUdeviceptr,
            ) -> usize {
                0
            }
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

        impl Kernels {
            /// ```text
            /// y[m, stream] = sum(k, check[m, k] * w[stream, k]) + eps
            /// z[twice] = args
            /// ```
            ///
            /// Launches on `stream` and returns.
            pub fn everything(
                &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: Everything<'_>,
            ) -> Result<(), Error> {
                Err(Error::Stub { kernel: "everything" })
            }

            unsafe_fn! {
                /// [`Self::everything`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Safety
                /// As the build that carries kernels says.
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
                    Err(Error::Stub { kernel: "everything" })
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
                0
            }
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

        impl Kernels {
            unsafe_fn! {
                /// ```text
                /// code[t, d] = cast(u4, scale[t, d])
                /// kept[t] = max(d, abs(scale[t, d])) > 1
                /// total[h] = kind[h] * sum((t, d), x[t, d])
                /// cache[slot[t], d] = cache[slot[t], d] + x[t, d] * scale[t, d]
                /// ```
                ///
                /// Launches on `stream` and returns.
                ///
                /// # Safety
                /// The kernel takes positions from memory of the device, which is not looked at here:
                /// - `slot`: every value lies in `0..n`, and no two values are equal.
                /// - `kind`: every value lies in `1..=4`.
                pub fn scatter(
                    &self, stream: &Arc<CudaStream>, workspace: &mut Workspace, args: Scatter<'_>,
                ) -> Result<(), Error> {
                    Err(Error::Stub { kernel: "scatter" })
                }
            }

            unsafe_fn! {
                /// [`Self::scatter`] over raw handles, for memory and streams that another library owns.
                ///
                /// # Safety
                /// As the build that carries kernels says.
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
                    Err(Error::Stub { kernel: "scatter" })
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
                0
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
    use super::cutegen_runtime::element::F8E4M3;
    use super::cutegen_runtime::element::I4x2;
    use super::cutegen_runtime::element::U4x2;
    use super::cutegen_runtime::host::{Workspace, call, cpu};
    use super::cutegen_runtime::{Error, Int, View, ViewMut, fallback as math, params};
    use super::cutegen_runtime::{unsafe_block, unsafe_extern, unsafe_fn};

    /// Workspace for every call of every kernel.
    pub fn workspace() -> Workspace {
        Workspace::new()
    }

    /// What is linked, and in which order it is tried.
    pub fn explain() -> Vec<Explain> {
        Vec::new()
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
    /// Returns when done.
    pub fn rms_norm(workspace: &mut Workspace, args: RmsNorm<'_>) -> Result<(), Error> {
        Err(Error::Stub { kernel: "rms_norm" })
    }

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
    /// Returns when done.
    pub fn gate_up(workspace: &mut Workspace, args: GateUp<'_>) -> Result<(), Error> {
        Err(Error::Stub { kernel: "gate_up" })
    }

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
    /// Returns when done.
    pub fn down_residual(workspace: &mut Workspace, args: DownResidual<'_>) -> Result<(), Error> {
        Err(Error::Stub { kernel: "down_residual" })
    }

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
    /// Returns when done.
    pub fn silu_mul(workspace: &mut Workspace, args: SiluMul<'_>) -> Result<(), Error> {
        Err(Error::Stub { kernel: "silu_mul" })
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
    /// Returns when done.
    pub fn everything(workspace: &mut Workspace, args: Everything<'_>) -> Result<(), Error> {
        Err(Error::Stub { kernel: "everything" })
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
    /// Returns when done.
    pub fn scatter(workspace: &mut Workspace, args: Scatter<'_>) -> Result<(), Error> {
        Err(Error::Stub { kernel: "scatter" })
    }
}
