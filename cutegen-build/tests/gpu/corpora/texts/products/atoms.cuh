// atoms.cuh: what the products of this corpus share.
#include <cute/tensor.hpp>
#include <cutlass/arch/reg_reconfig.h>
#include <cutlass/pipeline/sm90_pipeline.hpp>

using namespace cute;
using b16 = cutlass::bfloat16_t;

CUTE_DEVICE void grid_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
CUTE_DEVICE void grid_release() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

CUTE_DEVICE uint32_t pack2(float a, float b) {
  uint32_t d = 0;
  asm volatile("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(b), "f"(a));
  return d;
}

constexpr uint64_t KEPT = uint64_t(TMA::CacheHintSm90::EVICT_LAST);

// One wgmma over 16 of k: acc += a * b, a by descriptor or in registers.
template <class Atom, class Acc>
CUTE_DEVICE void wgmma_ss(Atom const& atom, Acc& acc, GMMA::DescriptorIterator a, GMMA::DescriptorIterator b) {
  Tensor tA = make_tensor(a, Layout<_1>{});
  Tensor tB = make_tensor(b, Layout<_1>{});
  atom.call(acc, tA, tB, acc);
}
template <class Atom, class Acc, class A>
CUTE_DEVICE void wgmma_rs(Atom const& atom, Acc& acc, A const& a, GMMA::DescriptorIterator b) {
  Tensor tB = make_tensor(b, Layout<_1>{});
  atom.call(acc, a, tB, acc);
}
// Rows of 64 b16, 128-byte swizzle.
CUTE_DEVICE GMMA::DescriptorIterator k_major(b16 const* at) {
  GMMA::DescriptorIterator d{};
  d.desc_.bitfield.start_address_ = uint16_t(cast_smem_ptr_to_uint(at) >> 4);
  d.desc_.bitfield.leading_byte_offset_ = 1;
  d.desc_.bitfield.stride_byte_offset_ = 1024 >> 4;
  d.desc_.bitfield.layout_type_ = uint8_t(GMMA::LayoutType::B128);
  return d;
}
template <int ROWS>
using Rows64 = ComposedLayout<Swizzle<3, 3, 3>, _0, Layout<Shape<Int<ROWS>, _64>, Stride<_64, _1>>>;  // b16, 128-byte swizzle
