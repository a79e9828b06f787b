//! TMA descriptors of a launch, encoded by the driver as emitted wrappers have it done.

use cutegen_runtime::DType;
use cutegen_runtime::cuda::{Fill, L2Promotion, Swizzle, TensorMap, TiledView, launch};
use cutegen_spec::contract::tensor_map;
use cutegen_spec::dtype;

use super::error::DeviceError;
use super::resolve::Mapped;
use super::session::candidate;

/// Has the driver encode a descriptor.
pub(super) fn encode(mapped: &Mapped) -> Result<TensorMap, DeviceError> {
    let view = TiledView {
        dtype: element(mapped.dtype),
        address: mapped.address,
        shape: &mapped.dims,
        strides: &mapped.strides,
        tile: &mapped.tile,
        every: &mapped.every,
        swizzle: swizzle(mapped.swizzle),
        promotion: promotion(mapped.promotion),
        fill: match mapped.fill {
            tensor_map::Fill::Zero => Fill::Zero,
            tensor_map::Fill::Nan => Fill::Nan,
        },
    };
    launch::encode_view(&view).map_err(candidate("encoding a tensor map"))
}

/// The runtime's name for a dtype of specs.
fn element(dtype: dtype::DType) -> DType {
    match dtype {
        dtype::DType::F64 => DType::F64,
        dtype::DType::F32 => DType::F32,
        dtype::DType::F16 => DType::F16,
        dtype::DType::Bf16 => DType::Bf16,
        dtype::DType::F8e4m3 => DType::F8E4M3,
        dtype::DType::F8e5m2 => DType::F8E5M2,
        dtype::DType::I8 => DType::I8,
        dtype::DType::U8 => DType::U8,
        dtype::DType::I32 => DType::I32,
        dtype::DType::I64 => DType::I64,
        dtype::DType::Bool => DType::Bool,
        dtype::DType::I4 => DType::I4,
        dtype::DType::U4 => DType::U4,
    }
}

fn swizzle(bytes: u32) -> Swizzle {
    match bytes {
        32 => Swizzle::B32,
        64 => Swizzle::B64,
        128 => Swizzle::B128,
        _ => Swizzle::None,
    }
}

fn promotion(bytes: u32) -> L2Promotion {
    match bytes {
        64 => L2Promotion::B64,
        128 => L2Promotion::B128,
        256 => L2Promotion::B256,
        _ => L2Promotion::None,
    }
}
