//! [`Globals`]: a loaded module's global memory, read before and after a launch. A kernel that changes it keeps state:
//! results to serve again, a count of its launches. Constants lie there too, so it is compared and not forbidden.

use cutegen_runtime::cuda::CUdeviceptr;

use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::Loaded;
use crate::evaluate::device::memory::read_at;
use crate::inspect::cubin;

/// A module's variables. What is linked has those alone that its kernels refer to.
pub(super) struct Globals {
    variables: Vec<Variable>,
}

/// Address, length and symbol.
type Variable = (CUdeviceptr, u64, String);

impl Globals {
    /// Looks all variables up.
    pub(super) fn of(image: &[u8], loaded: &Loaded) -> Result<Self, DeviceError> {
        let mut variables = Vec::new();
        for symbol in cubin::globals(image).map_err(DeviceError::Refused)? {
            if let Some((at, bytes)) = loaded.global(&symbol)? {
                variables.push((at, bytes, symbol));
            }
        }
        Ok(Self { variables })
    }

    /// What they hold, one behind the other.
    pub(super) fn read(&self) -> Result<Vec<u8>, DeviceError> {
        let mut held = Vec::new();
        for (at, bytes, _) in &self.variables {
            held.extend(read_at(*at, *bytes as usize)?);
        }
        Ok(held)
    }

    /// The first variable that holds something else than `before`.
    pub(super) fn changed(&self, before: &[u8]) -> Result<Option<String>, DeviceError> {
        let after = self.read()?;
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
        let globals = Globals { variables };
        let names: Vec<String> = [0, 7, 8, 9, 10].into_iter().map(|byte| globals.name(byte)).collect();
        assert_eq!(names, ["a", "a", "c", "c", ""]);
    }
}
