//! What a TMA descriptor says of a tensor. Data only: [`super::launch::encode_tiled`] encodes it.

use cudarc::driver::sys;

use super::launch::CUdeviceptr;
use crate::element::DType;

/// An encoded descriptor, passed to a kernel by value as a `const __grid_constant__ CUtensorMap`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(128))]
pub struct TensorMap(pub(super) sys::CUtensorMap);

/// A tensor that TMA copies tile by tile. Dimensions are outermost first; the innermost stride is 1.
#[derive(Clone, Copy, Debug)]
pub struct TiledTensor<const R: usize> {
    /// The element type.
    pub dtype: DType,
    /// The first element, aligned to 16 bytes.
    pub address: CUdeviceptr,
    /// Extents, in elements.
    pub shape: [usize; R],
    /// Strides, in elements; all but the innermost a multiple of 16 bytes.
    pub strides: [usize; R],
    /// Extents of a tile, each at most 256.
    pub tile: [u32; R],
    /// Of so many elements along a dimension one is copied: all ones for every element.
    pub every: [u32; R],
    /// How a tile's rows are permuted in shared memory.
    pub swizzle: Swizzle,
    /// How far reads are widened in L2.
    pub promotion: L2Promotion,
    /// What reads outside of the tensor give.
    pub fill: Fill,
}

/// How a tile's rows are permuted in shared memory, by the bytes of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// As they are.
    #[default]
    None,
    /// Rows of 32 bytes.
    B32,
    /// Rows of 64 bytes.
    B64,
    /// Rows of 128 bytes.
    B128,
}

/// How far reads are widened in L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum L2Promotion {
    /// Not at all.
    #[default]
    None,
    /// To 64 bytes.
    B64,
    /// To 128 bytes.
    B128,
    /// To 256 bytes.
    B256,
}

/// What reads outside of the tensor give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zero,
    /// NaNs, which a fused multiply-add of the tensor core takes for zeros.
    Nan,
}

impl Swizzle {
    pub(super) fn raw(self) -> sys::CUtensorMapSwizzle {
        use sys::CUtensorMapSwizzle_enum as Raw;
        match self {
            Self::None => Raw::CU_TENSOR_MAP_SWIZZLE_NONE,
            Self::B32 => Raw::CU_TENSOR_MAP_SWIZZLE_32B,
            Self::B64 => Raw::CU_TENSOR_MAP_SWIZZLE_64B,
            Self::B128 => Raw::CU_TENSOR_MAP_SWIZZLE_128B,
        }
    }
}

impl L2Promotion {
    pub(super) fn raw(self) -> sys::CUtensorMapL2promotion {
        use sys::CUtensorMapL2promotion_enum as Raw;
        match self {
            Self::None => Raw::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            Self::B64 => Raw::CU_TENSOR_MAP_L2_PROMOTION_L2_64B,
            Self::B128 => Raw::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            Self::B256 => Raw::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        }
    }
}

impl Fill {
    pub(super) fn raw(self) -> sys::CUtensorMapFloatOOBfill {
        use sys::CUtensorMapFloatOOBfill_enum as Raw;
        match self {
            Self::Zero => Raw::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            Self::Nan => Raw::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
        }
    }
}

/// The same of a number of dimensions that only a launch knows: as many as each list has.
#[derive(Clone, Copy, Debug)]
pub struct TiledView<'a> {
    /// The element type.
    pub dtype: DType,
    /// The first element, aligned to 16 bytes.
    pub address: CUdeviceptr,
    /// Extents, in elements.
    pub shape: &'a [usize],
    /// Strides, in elements.
    pub strides: &'a [usize],
    /// Extents of a tile.
    pub tile: &'a [u32],
    /// Of so many elements along a dimension one is copied.
    pub every: &'a [u32],
    /// How a tile's rows are permuted in shared memory.
    pub swizzle: Swizzle,
    /// How far reads are widened in L2.
    pub promotion: L2Promotion,
    /// What reads outside of the tensor give.
    pub fill: Fill,
}

impl<const R: usize> TiledTensor<R> {
    pub(super) fn view(&self) -> TiledView<'_> {
        let Self { dtype, address, shape, strides, tile, every, swizzle, promotion, fill } = self;
        let (dtype, address, swizzle) = (*dtype, *address, *swizzle);
        TiledView { dtype, address, shape, strides, tile, every, swizzle, promotion: *promotion, fill: *fill }
    }
}

impl TiledView<'_> {
    /// Bytes that TMA only moves (8-bit floats, booleans) go as unsigned bytes.
    pub(super) fn data_type(&self) -> sys::CUtensorMapDataType {
        use sys::CUtensorMapDataType_enum as Raw;
        match self.dtype {
            DType::F64 => Raw::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
            DType::F32 => Raw::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            DType::F16 => Raw::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
            DType::Bf16 => Raw::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            DType::I32 => Raw::CU_TENSOR_MAP_DATA_TYPE_INT32,
            DType::I64 => Raw::CU_TENSOR_MAP_DATA_TYPE_INT64,
            DType::F8E4M3 | DType::F8E5M2 | DType::I8 | DType::U8 | DType::Bool | DType::I4 | DType::U4 => {
                Raw::CU_TENSOR_MAP_DATA_TYPE_UINT8
            }
        }
    }
}
