//! [`Globals`]: a loaded module's global memory, read before and after a launch. A kernel that changes it keeps state:
//! results to serve again, a count of its launches. Constants lie there too, so it is compared and not forbidden.

use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;

use super::own::Own;
use crate::compile::cubin_check;
use crate::evaluate::cuda::launch::Loaded;
use crate::evaluate::cuda::memory::{DeviceMemory, read_at};
use crate::evaluate::cuda::piece::{self, Kind, Piece};
use crate::evaluate::cuda::session::Session;
use crate::evaluate::protocol::Region;
use crate::evaluate::runner::Stop;

/// A module's variables.
pub(super) struct Globals {
    variables: Vec<Variable>,
    bytes: u64,
    gathered: Option<Gathered>,
}

/// Address, length and symbol.
type Variable = (CUdeviceptr, u64, String);

/// Headers bring a thousand variables, each of which has its own allocation: read one by one they take 10 ms. A kernel of
/// ours copies all of them behind one another. What it is told is put on the device anew each time: a candidate may have
/// written there.
struct Gathered {
    pieces: Vec<u8>,
    table: DeviceMemory,
    copies: DeviceMemory,
}

impl Gathered {
    fn of(session: &Rc<Session>, variables: &[Variable], bytes: u64) -> Result<Self, Stop> {
        let copies = DeviceMemory::new(session, bytes)?;
        let (mut pieces, mut position) = (Vec::with_capacity(variables.len()), 0);
        for (from, bytes, _) in variables {
            let at = copies.at(Region { offset: position, bytes: *bytes })?;
            pieces.push(Piece { kind: Kind::Copy, at, from: *from, bytes: *bytes, position });
            position += bytes;
        }
        let pieces = piece::table(&pieces);
        let table = DeviceMemory::new(session, pieces.len() as u64)?;
        Ok(Self { pieces, table, copies })
    }
}

impl Globals {
    /// Looks all variables up.
    pub(super) fn of(
        session: &Rc<Session>,
        own: Option<&Own>,
        image: &[u8],
        loaded: &Loaded,
    ) -> Result<Self, Stop> {
        let mut variables = Vec::new();
        for symbol in cubin_check::globals(image).map_err(Stop::Refused)? {
            if let Some((at, bytes)) = loaded.global(&symbol)? {
                variables.push((at, bytes, symbol));
            }
        }
        let bytes = variables.iter().map(|(_, bytes, _)| bytes).sum();
        let gathered = own.filter(|_| bytes > 0).map(|_| Gathered::of(session, &variables, bytes));
        Ok(Self { gathered: gathered.transpose()?, variables, bytes })
    }

    /// What they hold, one behind the other.
    pub(super) fn read(&self, own: Option<&Own>) -> Result<Vec<u8>, Stop> {
        let mut held = vec![0; self.bytes as usize];
        if let (Some(own), Some(Gathered { pieces, table, copies })) = (own, &self.gathered) {
            table.write(0, pieces)?;
            own.copy(table.at(Region::default())?, self.variables.len() as u64)?;
            copies.read(0, &mut held)?;
            return Ok(held);
        }
        held.clear();
        for (at, bytes, _) in &self.variables {
            held.extend(read_at(*at, *bytes as usize)?);
        }
        Ok(held)
    }

    /// The first variable that holds something else than `before`.
    pub(super) fn changed(&self, own: Option<&Own>, before: &[u8]) -> Result<Option<String>, Stop> {
        let after = self.read(own)?;
        let byte = before.iter().zip(&after).position(|(before, after)| before != after);
        Ok(byte.map(|byte| self.name(byte as u64)))
    }

    /// Whose this byte is.
    fn name(&self, byte: u64) -> String {
        let mut end = 0;
        let is_behind = |(_, bytes, _): &&Variable| {
            end += bytes;
            byte < end
        };
        self.variables.iter().find(is_behind).map(|(.., name)| name.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Globals;

    #[test]
    fn a_byte_is_its_variables() {
        let variables = [(5000, 8, "a"), (1256, 0, "b"), (9000, 2, "c")];
        let variables = variables.map(|(at, bytes, name)| (at, bytes, name.to_owned())).to_vec();
        let globals = Globals { variables, bytes: 10, gathered: None };
        let names: Vec<String> = [0, 7, 8, 9, 10].into_iter().map(|byte| globals.name(byte)).collect();
        assert_eq!(names, ["a", "a", "c", "c", ""]);
    }
}
