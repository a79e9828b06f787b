//! Ranked views over device memory: cudarc's slices with a shape. They carry the memory's own events, so using
//! one orders streams as using the slice does.

use cudarc::driver::{CudaContext, CudaSlice, CudaView as Memory, CudaViewMut as MemoryMut, DeviceSlice};
use std::sync::Arc;

use crate::element::{F8E4M3, F8E5M2, I4x2, U4x2};
use crate::layout::Layout;
use crate::view::{AsView, AsViewMut};

/// A tensor of rank `R` in device memory.
#[derive(Debug)]
pub struct CudaView<'a, T, const R: usize> {
    pub(super) memory: Memory<'a, T>,
    layout: Layout<R>,
}

/// A tensor of rank `R` in device memory, to be written.
#[derive(Debug)]
pub struct CudaViewMut<'a, T, const R: usize> {
    pub(super) memory: MemoryMut<'a, T>,
    layout: Layout<R>,
}

impl<'a, T, const R: usize> CudaView<'a, T, R> {
    fn row_major(memory: Memory<'a, T>, shape: [usize; R]) -> Self {
        let layout = Layout::row_major(shape, memory.len());
        Self { memory, layout }
    }

    /// The same shape with these strides, in elements; the memory may be longer than what they reach.
    #[must_use]
    pub fn with_strides(self, strides: [usize; R]) -> Self {
        let layout = Layout::strided(self.layout.shape(), strides, self.memory.len());
        Self { layout, ..self }
    }

    /// Shape and strides.
    #[must_use]
    pub const fn layout(&self) -> &Layout<R> {
        &self.layout
    }

    /// The context that the memory belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        self.memory.stream().context()
    }
}

impl<'a, T, const R: usize> CudaViewMut<'a, T, R> {
    fn row_major(memory: MemoryMut<'a, T>, shape: [usize; R]) -> Self {
        let layout = Layout::row_major(shape, memory.len());
        Self { memory, layout }
    }

    /// The same shape with these strides, in elements; the memory may be longer than what they reach.
    #[must_use]
    pub fn with_strides(self, strides: [usize; R]) -> Self {
        let layout = Layout::strided(self.layout.shape(), strides, self.memory.len());
        Self { layout, ..self }
    }

    /// Shape and strides.
    #[must_use]
    pub const fn layout(&self) -> &Layout<R> {
        &self.layout
    }

    /// The context that the memory belongs to.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        self.memory.stream().context()
    }
}

impl<T> AsView for CudaSlice<T> {
    type View<'a, const R: usize>
        = CudaView<'a, T, R>
    where
        T: 'a;

    fn view<const R: usize>(&self, shape: [usize; R]) -> CudaView<'_, T, R> {
        CudaView::row_major(self.as_view(), shape)
    }
}

impl<T> AsViewMut for CudaSlice<T> {
    type ViewMut<'a, const R: usize>
        = CudaViewMut<'a, T, R>
    where
        T: 'a;

    fn view_mut<const R: usize>(&mut self, shape: [usize; R]) -> CudaViewMut<'_, T, R> {
        CudaViewMut::row_major(self.as_view_mut(), shape)
    }
}

impl<'m, T> AsView for Memory<'m, T> {
    type View<'a, const R: usize>
        = CudaView<'m, T, R>
    where
        Self: 'a;

    fn view<const R: usize>(&self, shape: [usize; R]) -> CudaView<'m, T, R> {
        CudaView::row_major(self.slice(..), shape)
    }
}

impl<T> AsView for MemoryMut<'_, T> {
    type View<'a, const R: usize>
        = CudaView<'a, T, R>
    where
        Self: 'a;

    fn view<const R: usize>(&self, shape: [usize; R]) -> CudaView<'_, T, R> {
        CudaView::row_major(self.as_view(), shape)
    }
}

impl<T> AsViewMut for MemoryMut<'_, T> {
    type ViewMut<'a, const R: usize>
        = CudaViewMut<'a, T, R>
    where
        Self: 'a;

    fn view_mut<const R: usize>(&mut self, shape: [usize; R]) -> CudaViewMut<'_, T, R> {
        CudaViewMut::row_major(self.slice_mut(..), shape)
    }
}

macro_rules! plain_bytes {
    ($($type:ty),*) => {
        $(
            // SAFETY: transparent over a byte.
            unsafe impl cudarc::driver::DeviceRepr for $type {}
            // SAFETY: zero is a value of each.
            unsafe impl cudarc::driver::ValidAsZeroBits for $type {}
        )*
    };
}

plain_bytes!(F8E4M3, F8E5M2, I4x2, U4x2);
