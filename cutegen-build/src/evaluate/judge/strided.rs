//! Where the elements of a tensor lie in its memory: between a dense row-major copy and memory with strides and gaps.
//! Pure.

use cutegen_spec::dtype::DType;
use cutegen_spec::tensor::Tensor;

use super::element;
use crate::evaluate::error::Error;
use crate::evaluate::wire::arena::POISON;

/// Extents and strides of a tensor at some axis extents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    dtype: DType,
    extents: Vec<usize>,
    strides: Vec<usize>,
    /// Elements of its memory, gaps included.
    pub(crate) span: usize,
    /// Whether no strides are declared.
    pub(crate) is_dense: bool,
}

impl Placed {
    /// `tensor` at these axis extents; an error where it has no size.
    pub(crate) fn new(tensor: &Tensor, axes: &[i64]) -> Result<Self, Error> {
        let sized = Self::sized(tensor, axes);
        sized.ok_or_else(|| Error::Shape(format!("`{}` has no size at {axes:?}", tensor.name)))
    }

    fn sized(tensor: &Tensor, axes: &[i64]) -> Option<Self> {
        let extent = |dim: &cutegen_spec::int_expr::IntExpr| usize::try_from(dim.eval_axes(axes)?).ok();
        let span = usize::try_from(tensor.span(axes)?).ok()?;
        usize::try_from(tensor.bytes(axes)?).ok()?;
        Some(Self {
            dtype: tensor.dtype,
            extents: tensor.dims.iter().map(extent).collect::<Option<_>>()?,
            strides: tensor
                .strides(axes)?
                .into_iter()
                .map(|s| usize::try_from(s).ok())
                .collect::<Option<_>>()?,
            span,
            is_dense: tensor.strides.is_none(),
        })
    }

    /// Bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        element::bytes(self.dtype, self.span)
    }

    /// Number of elements.
    pub(crate) fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// Which byte of its memory `random` means, of those that hold nothing but elements; none where there are none.
    pub(crate) fn byte_of_an_element(&self, random: u64) -> Option<u64> {
        let (each, elements) = (element::bytes(self.dtype, 1) as u64, self.elements() as u64);
        if element::bytes(self.dtype, 2) as u64 == each {
            // two to a byte
            return random.checked_rem(elements / 2).filter(|_| self.is_dense);
        }
        if elements == 0 {
            return None;
        }
        let offset = self.offset((random / each % elements) as usize);
        Some(offset as u64 * each + random % each)
    }

    /// Where an element lies, of which the tensor has more than `element` in row-major order.
    pub(crate) fn offset(&self, element: usize) -> usize {
        let (mut rest, mut offset) = (element, 0);
        for (extent, stride) in self.extents.iter().zip(&self.strides).rev() {
            offset += rest % extent * stride;
            rest /= extent;
        }
        offset
    }

    /// Extent of the last dimension.
    pub(crate) fn row(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// Where each element lies, in row-major order.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = usize> {
        let mut index = vec![0; self.extents.len()];
        (0..self.elements()).map(move |_| {
            let offset = index.iter().zip(&self.strides).map(|(i, stride)| i * stride).sum();
            self.advance(&mut index);
            offset
        })
    }

    fn advance(&self, index: &mut [usize]) {
        for (slot, extent) in index.iter_mut().zip(&self.extents).rev() {
            *slot += 1;
            if *slot < *extent {
                return;
            }
            *slot = 0;
        }
    }

    /// The memory of a tensor whose elements in row-major order are `dense`; gaps are poisoned.
    pub(crate) fn scatter(&self, dense: Vec<u8>) -> Vec<u8> {
        if self.is_dense {
            return dense;
        }
        let mut memory = vec![POISON; self.bytes()];
        for (element, offset) in self.offsets().enumerate() {
            let word = element::bits(self.dtype, &dense, element);
            element::put_bits(self.dtype, &mut memory, offset, word);
        }
        memory
    }

    /// The elements in row-major order; what [`Self::scatter`] laid out.
    pub(crate) fn gather(&self, memory: Vec<u8>) -> Vec<u8> {
        if self.is_dense {
            return memory;
        }
        let mut dense = vec![0; element::bytes(self.dtype, self.elements())];
        for (element, offset) in self.offsets().enumerate() {
            let word = element::bits(self.dtype, &memory, offset);
            element::put_bits(self.dtype, &mut dense, element, word);
        }
        dense
    }

    /// The index of the element at `offset`; in a gap that of one before it.
    pub(crate) fn index(&self, offset: usize) -> Vec<i64> {
        let mut order: Vec<usize> = (0..self.extents.len()).collect();
        order.sort_by_key(|d| std::cmp::Reverse((self.strides[*d], self.extents[*d])));
        let (mut index, mut rest) = (vec![0; order.len()], offset);
        for d in order {
            let most = self.extents[d].max(1) - 1;
            let steps = rest.checked_div(self.strides[d]).unwrap_or(0).min(most);
            rest -= steps * self.strides[d];
            index[d] = steps as i64;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::Placed;
    use cutegen_spec::dtype::DType;
    use std::collections::BTreeSet;

    fn placed(dtype: DType, extents: &[usize], strides: &[usize], is_dense: bool) -> Placed {
        let reach = |(extent, stride): (&usize, &usize)| (extent - 1) * stride;
        let span = 1 + extents.iter().zip(strides).map(reach).sum::<usize>();
        Placed { dtype, extents: extents.to_vec(), strides: strides.to_vec(), span, is_dense }
    }

    #[test]
    fn bytes_of_elements_are_never_of_gaps() {
        let found = |dtype, strides: &[usize], is_dense| -> BTreeSet<u64> {
            let placed = placed(dtype, &[3, 5], strides, is_dense);
            (0..1000).filter_map(|random| placed.byte_of_an_element(random)).collect()
        };
        assert_eq!(found(DType::F16, &[5, 1], true), (0..30).collect());
        let rows = [0..10, 14..24, 28..38].into_iter().flatten().collect();
        assert_eq!(found(DType::F16, &[7, 1], false), rows);
        assert_eq!(
            found(DType::I4, &[5, 1], true),
            (0..7).collect(),
            "half of the last byte belongs to no element"
        );
        assert_eq!(placed(DType::F32, &[1, 1], &[1, 1], true).byte_of_an_element(7), Some(3));
    }

    #[test]
    fn elements_lie_where_strides_say() {
        let padded = placed(DType::I8, &[2, 3], &[5, 1], false);
        let memory = padded.scatter(vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(memory, [1, 2, 3, 0xff, 0xff, 4, 5, 6]);
        assert_eq!(padded.gather(memory), [1, 2, 3, 4, 5, 6]);
        let column = placed(DType::I8, &[2, 3], &[1, 2], false);
        assert_eq!(column.scatter(vec![1, 2, 3, 4, 5, 6]), [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn nibbles_leave_gaps() {
        let padded = placed(DType::U4, &[2, 2], &[3, 1], false);
        assert_eq!(padded.scatter(vec![0x21, 0x43]), [0x21, 0x3f, 0xf4]);
        assert_eq!(padded.gather(vec![0x21, 0x3f, 0xf4]), [0x21, 0x43]);
    }

    #[test]
    fn an_offset_has_an_index() {
        let column = placed(DType::F32, &[2, 3], &[1, 8], false);
        for (offset, index) in [(0, [0, 0]), (1, [1, 0]), (9, [1, 1]), (17, [1, 2]), (5, [1, 0])] {
            assert_eq!(column.index(offset), index, "{offset}");
        }
        let broadcast = placed(DType::F32, &[4, 3], &[0, 1], false);
        assert_eq!(broadcast.index(2), [0, 2]);
        assert_eq!(placed(DType::F32, &[2, 1, 3], &[3, 3, 1], true).index(4), [1, 0, 1]);
    }
}
