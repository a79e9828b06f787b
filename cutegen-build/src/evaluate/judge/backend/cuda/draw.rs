//! Inputs where the device keeps them: what is large is drawn there, by kernels that give the bytes of `inputs.rs`.

use super::{CudaBackend, Word, code};
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::error::Error;
use crate::evaluate::judge::content::{Content, Contents};
use crate::evaluate::judge::inputs::{Law, PIECE, Request, specials};
use crate::evaluate::wire::protocol::Region;
use crate::outcome::Distribution;

/// A piece takes a thread some 15 ms, however many there are; from here on the host and the way from there take longer.
pub(super) const LEAST: usize = 1 << 23;
/// Specials are planted one after another; more of them are left to the host.
const PLANTED_MOST: usize = 1 << 16;

impl CudaBackend {
    /// These contents in memory of their own.
    pub(super) fn place(&self, contents: &Contents) -> Result<Vec<Option<DeviceMemory>>, Error> {
        let one =
            |content: &Option<Content>| content.as_ref().map(|content| self.placed(content)).transpose();
        contents.iter().map(one).collect()
    }

    fn placed(&self, content: &Content) -> Result<DeviceMemory, Error> {
        match content {
            Content::Drawn(distribution, request) if is_drawn_here(*distribution, request) => {
                self.draw(*distribution, request)
            }
            Content::Drawn(..) | Content::Bytes(_) => super::case::uploaded(&self.session, &content.bytes()),
        }
    }

    fn draw(&self, distribution: Distribution, request: &Request) -> Result<DeviceMemory, Error> {
        let memory = DeviceMemory::new(&self.session, request.bytes() as u64)?;
        let at = memory.at(Region { offset: 0, bytes: memory.bytes() })?;
        for Drawing { entry, threads, words } in drawing(distribution, request, at) {
            self.kernels.go(entry, threads, &words)?;
        }
        Ok(memory)
    }
}

/// A launch that draws an input of floats, or plants what is special there.
#[derive(Debug)]
pub struct Drawing {
    entry: &'static str,
    threads: u64,
    words: Vec<Word>,
}

impl Drawing {
    /// The kernel of [`KERNELS`](crate::evaluate::KERNELS).
    #[must_use]
    pub fn entry(&self) -> &'static str {
        self.entry
    }

    /// Its parameters, in words of 8 bytes.
    #[must_use]
    pub fn words(&self) -> Vec<u64> {
        self.words.iter().map(|word| word.bits()).collect()
    }
}

/// What draws an input of floats at the address `at`, in this order.
#[must_use]
pub fn drawing(distribution: Distribution, request: &Request, at: u64) -> Vec<Drawing> {
    let Request { dtype, elements, row, position, .. } = *request;
    let Law { number, whole } = request.law(distribution);
    let first = [Word::Narrow(distribution as u32), code(dtype), Word::Wide(at), Word::Wide(elements as u64)];
    let more = [
        Word::Wide(row.max(1) as u64),
        Word::Wide(request.stem()),
        Word::Narrow(position as u32),
        Word::Real(number),
        Word::Wide(whole.cast_unsigned()),
    ];
    let threads = elements.div_ceil(PIECE) as u64;
    let mut all = vec![Drawing { entry: "cutegen_draw", threads, words: [&first[..], &more].concat() }];
    if let Some(planting) = request.planting(distribution) {
        let [.., subnormal, _] = specials(dtype);
        let more = [
            Word::Wide(planting.run as u64),
            Word::Wide(planting.stem),
            Word::Wide(planting.turns as u64),
            Word::Wide(planting.order),
            Word::Real(subnormal),
        ];
        all.push(Drawing { entry: "cutegen_plant", threads: 1, words: [&first[..], &more].concat() });
    }
    all
}

fn is_drawn_here(distribution: Distribution, request: &Request) -> bool {
    let planted = request.planting(distribution).map(|planting| request.elements.div_ceil(planting.run));
    planted.is_none_or(|planted| planted <= PLANTED_MOST)
}
