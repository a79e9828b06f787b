//! Everything a wrapper or a loader can report. Messages are lower-case fragments that name the kernel and end
//! with what to do next. A kernel that computes a wrong number is no error here: the gate's business.

use std::fmt;

/// Why a kernel wasn't loaded or launched. Nothing was written when one of these is returned before a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A view's shape isn't the length of its memory.
    ViewLength {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// Elements the view needs.
        expected: usize,
        /// Elements it has.
        found: usize,
    },
    /// A view's extents or strides overflow.
    ViewTooLarge {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
    },
    /// An extent isn't what the axes say.
    ShapeMismatch {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// The dimension, outermost 0.
        dimension: usize,
        /// The extent that the axes give.
        expected: usize,
        /// The view's extent.
        found: usize,
    },
    /// An axis lies outside the domain that the spec declares.
    AxisOutOfRange {
        /// The kernel called.
        kernel: &'static str,
        /// The axis.
        axis: &'static str,
        /// Its value.
        found: usize,
        /// The least value declared.
        lo: usize,
        /// The greatest value declared.
        hi: usize,
    },
    /// An axis isn't a multiple of what the spec declares.
    AxisNotMultiple {
        /// The kernel called.
        kernel: &'static str,
        /// The axis.
        axis: &'static str,
        /// Its value.
        found: usize,
        /// What must divide it.
        multiple_of: usize,
    },
    /// A derived axis, or a number of a launch contract, is negative or overflows for these axes.
    Overflow {
        /// The kernel called.
        kernel: &'static str,
        /// The axis or number.
        what: &'static str,
    },
    /// Memory of this process for scratch or a temporary isn't there.
    OutOfMemory {
        /// The kernel called.
        kernel: &'static str,
        /// What it is for.
        what: &'static str,
        /// Its size; `usize::MAX` for more than can be counted.
        bytes: usize,
    },
    /// A stride isn't the one that the spec declares for these axes.
    StrideMismatch {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// The dimension, outermost 0.
        dimension: usize,
        /// The declared stride, in elements.
        expected: usize,
        /// The view's stride.
        found: usize,
    },
    /// A stride isn't that of dense rows, and the spec declares none.
    NotContiguous {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// The dimension, outermost 0.
        dimension: usize,
        /// The stride that the kernel was built for, in elements.
        expected: usize,
        /// The view's stride.
        found: usize,
    },
    /// A pointer isn't aligned as the kernel needs.
    Misaligned {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// Alignment in bytes.
        needed: usize,
        /// The address.
        address: u64,
    },
    /// An output shares memory with another argument.
    Overlap {
        /// The kernel called.
        kernel: &'static str,
        /// The output.
        argument: &'static str,
        /// What it overlaps; itself where two of its indices share an element.
        other: &'static str,
    },
    /// A view of a packed tensor has another last extent than its values take in bytes.
    PackedShape {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// The last declared extent, in values.
        values: usize,
        /// The bytes that these take.
        expected: usize,
        /// The view's last extent.
        found: usize,
    },
    /// Rows of a packed tensor end inside a byte.
    PackedOdd {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// Values in a row.
        values: usize,
    },
    /// A value lies outside the range that the spec declares for its tensor.
    ValueOutOfRange {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// Which element, counted row by row.
        element: usize,
        /// Its value.
        value: i64,
        /// The least value declared.
        from: i64,
        /// One past the greatest.
        to: i64,
    },
    /// Two elements are equal of a tensor that the spec declares unique.
    ValueRepeated {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// The first of them, counted row by row.
        element: usize,
        /// The second.
        other: usize,
        /// Their value.
        value: i64,
    },
    /// A grid is larger than a device accepts.
    GridTooLarge {
        /// The kernel called.
        kernel: &'static str,
        /// The grid, in blocks.
        blocks: [usize; 3],
    },
    /// Blocks that wait for each other don't fit on the device together.
    NotCoResident {
        /// The kernel called.
        kernel: &'static str,
        /// Blocks launched.
        needed: usize,
        /// Blocks that fit.
        found: usize,
    },
    /// An argument or a stream belongs to another device or context than the kernels.
    WrongDevice {
        /// The kernel called.
        kernel: &'static str,
        /// The argument.
        argument: &'static str,
        /// The ordinal of the device that the kernels were loaded on.
        expected: usize,
        /// The argument's device ordinal.
        found: usize,
    },
    /// The build carries nothing for this device.
    NoEntryForDevice {
        /// The kernel.
        kernel: &'static str,
        /// The device's name.
        device: String,
        /// Its architecture, as in `sm_90`.
        arch: String,
        /// The targets that the build carries, comma-separated.
        targets: String,
    },
    /// The crate was built without kernels.
    Stub {
        /// The kernel.
        kernel: &'static str,
    },
    /// The driver is older than a kernel's binary format, or than this crate needs.
    DriverTooOld {
        /// The least driver branch that will do, as in 580.
        needed: u32,
        /// The driver branch found.
        found: u32,
    },
    /// No CUDA driver library on this machine.
    DriverMissing {
        /// File names tried.
        tried: String,
    },
    /// The driver is there but the device isn't.
    NoDevice {
        /// The ordinal asked for.
        ordinal: usize,
        /// How many devices the driver shows.
        found: usize,
    },
    /// Linked bytes aren't the ones that were accepted.
    CorruptArtifact {
        /// The kernel.
        kernel: &'static str,
        /// The variant.
        variant: &'static str,
        /// The SHA-256 that the lock pins.
        expected: &'static str,
        /// What was found instead: another digest, or why there is none.
        found: String,
    },
    /// A stream is being captured while cudarc records events on it.
    CaptureNeedsTrackingOff {
        /// The kernel called.
        kernel: &'static str,
    },
    /// A variant would have to be loaded during a capture.
    NotLoadedInCapture {
        /// The kernel called.
        kernel: &'static str,
        /// The variant that it got.
        variant: &'static str,
    },
    /// The workspace would have to grow during a capture.
    WorkspaceTooSmallInCapture {
        /// The kernel called.
        kernel: &'static str,
        /// Bytes needed.
        needed: usize,
        /// Bytes there.
        found: usize,
    },
    /// The workspace was last used on another stream, which a capture cannot wait for.
    WorkspaceOfOtherStreamInCapture {
        /// The kernel called.
        kernel: &'static str,
    },
    /// The driver refused a call.
    #[cfg(feature = "cuda")]
    Cuda {
        /// The kernel, or what was being done.
        kernel: &'static str,
        /// The driver's function.
        call: &'static str,
        /// Its answer.
        source: cudarc::driver::DriverError,
    },
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        #[cfg(feature = "cuda")]
        if let Self::Cuda { source, .. } = self {
            return Some(source);
        }
        None
    }
}

/// The oldest driver branch that loads what NVRTC 13.0 compiles.
const NVRTC_13: u32 = 580;

/// What to declare for devices of this architecture.
fn declared_for(arch: &str) -> Option<&'static str> {
    match arch {
        "sm_80" | "sm_86" | "sm_89" => Some("sm_80"),
        "sm_90" => Some("sm_90a"),
        "sm_100" | "sm_103" => Some("sm_100f"),
        "sm_120" | "sm_121" => Some("sm_120f"),
        _ => None,
    }
}

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "a table: one message for each case, none forgotten")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What the caller passed is at fault.
            Self::ViewLength { kernel, argument, expected, found } => write!(
                f,
                "{kernel}: argument `{argument}` has {found} elements where its view needs {expected}; \
                 slice the memory to the view or correct the view's shape"
            ),
            Self::ViewTooLarge { kernel, argument } => write!(
                f,
                "{kernel}: the extents of argument `{argument}` overflow the address space; \
                 correct the view's shape"
            ),
            Self::ShapeMismatch { kernel, argument, dimension, expected, found } => write!(
                f,
                "{kernel}: dimension {dimension} of argument `{argument}` is {found} where the axes \
                 give {expected}; correct the view's shape or the axis"
            ),
            Self::AxisOutOfRange { kernel, axis, found, lo, hi } => write!(
                f,
                "{kernel}: axis `{axis}` is {found}, outside the declared {lo}..={hi}; \
                 widen the axis in the spec and run {}",
                Again(kernel)
            ),
            Self::AxisNotMultiple { kernel, axis, found, multiple_of } => write!(
                f,
                "{kernel}: axis `{axis}` is {found}, no multiple of the declared {multiple_of}; \
                 pad it, or drop `multiple-of` in the spec and run {}",
                Again(kernel)
            ),
            Self::Overflow { kernel, what } => write!(
                f,
                "{kernel}: `{what}` comes out negative or overflows for these axes; \
                 narrow the axes in the spec and run {}",
                Again(kernel)
            ),
            Self::StrideMismatch { kernel, argument, dimension, expected, found } => write!(
                f,
                "{kernel}: argument `{argument}` has stride {found} in dimension {dimension} where the declared \
                 strides give {expected}; correct the view's strides or the axis"
            ),
            Self::NotContiguous { kernel, argument, dimension, expected, found } => write!(
                f,
                "{kernel}: argument `{argument}` has stride {found} in dimension {dimension} where \
                 the kernel was built for {expected}; copy it, or declare its strides in the spec"
            ),
            Self::Misaligned { kernel, argument, needed, address } => write!(
                f,
                "{kernel}: argument `{argument}` at {address:#x} isn't aligned to {needed} bytes; \
                 begin the view at an aligned element"
            ),
            Self::Overlap { kernel, argument, other } if argument == other => write!(
                f,
                "{kernel}: two indices of output `{argument}` share an element; \
                 give it strides that don't overlap"
            ),
            Self::Overlap { kernel, argument, other } => write!(
                f,
                "{kernel}: output `{argument}` shares memory with `{other}`; \
                 use separate memory, or declare an `inout` in the spec"
            ),
            Self::PackedShape { kernel, argument, values, expected, found } => write!(
                f,
                "{kernel}: the last extent of argument `{argument}` is {found} where {values} values take \
                 {expected} bytes, two to a byte; correct the view's shape or the axis"
            ),
            Self::PackedOdd { kernel, argument, values } => write!(
                f,
                "{kernel}: rows of argument `{argument}` have {values} values, which end inside a byte; \
                 pad them to an even number, with `multiple-of = 2` at the axis"
            ),
            Self::ValueOutOfRange { kernel, argument, element, value, from, to } => write!(
                f,
                "{kernel}: element {element} of argument `{argument}` is {value}, outside the declared \
                 {from}..{to}; correct the value, or the tensor's `range` in the spec"
            ),
            Self::ValueRepeated { kernel, argument, element, other, value } => write!(
                f,
                "{kernel}: elements {element} and {other} of argument `{argument}` are both {value}, and the \
                 spec declares them `unique`; give each a value of its own"
            ),
            // The launch can't be made as things stand.
            Self::GridTooLarge { kernel, blocks: [x, y, z] } => write!(
                f,
                "{kernel}: a grid of {x} x {y} x {z} blocks exceeds the device's limits; \
                 narrow the axes in the spec and run {}",
                Again(kernel)
            ),
            Self::NotCoResident { kernel, needed, found } => write!(
                f,
                "{kernel}: {needed} blocks must be resident together and {found} fit on this device; \
                 run `cargo cutegen tune {kernel} --again && cargo cutegen accept {kernel}` on it"
            ),
            Self::OutOfMemory { kernel, what, bytes } => write!(
                f,
                "{kernel}: {what} of {bytes} bytes can't be allocated; call it for smaller axes, \
                 or with more memory"
            ),
            Self::CaptureNeedsTrackingOff { kernel } => write!(
                f,
                "{kernel}: called on a capturing stream while cudarc's event tracking is on, which would record \
                 waits into the graph; call `CudaContext::disable_event_tracking` before allocating, and keep \
                 kernels, workspace and tensors until the graph is gone"
            ),
            Self::NotLoadedInCapture { kernel, variant } => write!(
                f,
                "{kernel}: its variant `{variant}` is called for the first time during a capture, which loads no \
                 module; call `Kernels::warm()` before the capture"
            ),
            Self::WorkspaceTooSmallInCapture { kernel, needed, found } => write!(
                f,
                "{kernel}: needs {needed} bytes of workspace and has {found} during a capture; \
                 run it once before the capture, or call `Workspace::reserve`"
            ),
            Self::WorkspaceOfOtherStreamInCapture { kernel } => write!(
                f,
                "{kernel}: its workspace was last used on another stream than the capturing one; \
                 give each stream its own workspace"
            ),
            // The build, the driver or the machine lacks something.
            Self::WrongDevice { kernel, argument, expected, found } => write!(
                f,
                "{kernel}: `{argument}` belongs to another context (device {found}) than the kernels \
                 (device {expected}); load the kernels once for each context"
            ),
            Self::NoEntryForDevice { kernel, device, arch, targets } => {
                write!(f, "{kernel}: no kernel for {device} ({arch}), this build has {targets}; ")?;
                match declared_for(arch) {
                    Some(target) => write!(f, "add `{target}` to `targets` and run {}", Again(kernel)),
                    None => f.write_str(
                        "no target is for it: there are targets for compute capability 8.0 and newer, and none for \
                         Tegra; declare `host` and call `kernels::host`",
                    ),
                }
            }
            Self::Stub { kernel } => write!(
                f,
                "{kernel}: this build carries stubs, as CUTEGEN_MODE=stub and targets that no cubin is linked for \
                 get; build with CUTEGEN_MODE=locked, for Linux on x86-64 or AArch64"
            ),
            Self::DriverTooOld { needed, found } => {
                let why = if *needed >= NVRTC_13 { ", as all that NVRTC 13.0 compiles does" } else { "" };
                write!(f, "needs driver >= {needed}{why}, found {found}; update the NVIDIA driver")
            }
            Self::DriverMissing { tried } => write!(
                f,
                "no CUDA driver library (tried {tried}); install the NVIDIA driver, or in a container \
                 pass the GPU through, and put the library on the loader's path"
            ),
            Self::NoDevice { ordinal, found } => write!(
                f,
                "no CUDA device {ordinal}, the driver shows {found}; check `nvidia-smi` and \
                 CUDA_VISIBLE_DEVICES"
            ),
            Self::CorruptArtifact { kernel, variant, expected, found } => write!(
                f,
                "{kernel}: variant `{variant}` should have sha256 {expected}, found {found}; \
                 run `cargo clean` and build again, then `cargo cutegen check`"
            ),
            #[cfg(feature = "cuda")]
            Self::Cuda { kernel, call, source } => write!(
                f,
                "{kernel}: {call} failed: {source}; after a failed kernel the context is lost, so start the \
                 program anew, and see what `nvidia-smi` says of the device"
            ),
        }
    }
}

/// The commands that make a kernel of a changed spec. A search alone leaves the lock as it is, and builds go by that.
struct Again(&'static str);

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernel = self.0;
        write!(
            f,
            "`cargo cutegen tune {kernel} && cargo cutegen accept {kernel}`, or for an untuned kernel \
             `cargo cutegen lock {kernel}`"
        )
    }
}

#[cfg(test)]
mod tests;
