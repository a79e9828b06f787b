//! What is linked of a host object: code, constants, and the places in the code that a linker fills in. Everything else that
//! compilers write stays behind: unwind tables, notes, names of local functions. Panics on no bytes, whoever made them.

use std::collections::BTreeMap;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolSection};

use super::{ElfSection, Kind, is_entry, kind_of};

/// Alignment of code and constants. Ten times what a vector needs would be a waste, and some linkers give up on a gigabyte.
pub(super) const ALIGN: u64 = 64;

/// More than any kernel has; offsets and displacements fit in four bytes.
const BYTES_MAX: usize = 16 << 20;

/// How far outside of the constants an address may lie that code begins to count from.
const BESIDE_MAX: i64 = 1 << 20;

/// Code and constants, each in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::inspect) struct Image {
    /// The code, with distances inside of it filled in.
    pub(in crate::inspect) code: Vec<u8>,
    /// Where the entry begins in it.
    pub(in crate::inspect) entry: u32,
    /// How long the entry says that it is.
    pub(in crate::inspect) entry_bytes: u32,
    /// The constants, with no address among them.
    pub(in crate::inspect) constants: Vec<u8>,
    /// The four bytes of code from each of these on are a linker's to fill in.
    pub(in crate::inspect) fixes: BTreeMap<u32, Target>,
}

/// What a linker writes the distance to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::inspect) enum Target {
    /// A function of a library, from the end of the four bytes.
    Function(String),
    /// A place relative to the first constant, from the beginning of the four bytes.
    Constant(i32),
}

/// Where sections went.
type Bases = BTreeMap<usize, (Kind, usize)>;

type File<'data> = ElfFile64<'data, object::Endianness>;

impl Image {
    /// Reads what passed the inspection of names, types and flags.
    pub(super) fn read(file: &File<'_>, entry: &str) -> Result<Image, Vec<String>> {
        let mut image = Image {
            code: Vec::new(),
            entry: 0,
            entry_bytes: 0,
            constants: Vec::new(),
            fixes: BTreeMap::new(),
        };
        let mut bases = Bases::new();
        for section in file.sections() {
            image.append(&section, &mut bases).map_err(|problem| vec![problem])?;
        }
        image.find_entry(file, entry, &bases).map_err(|problem| vec![problem])?;
        let problems = image.fill(file, &bases);
        if problems.is_empty() { Ok(image) } else { Err(problems) }
    }

    /// The functions of libraries that it calls, sorted.
    pub(super) fn functions(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.fixes.values().filter_map(Target::function).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn append(&mut self, section: &ElfSection<'_, '_>, bases: &mut Bases) -> Result<(), String> {
        let name = section.name().unwrap_or_default();
        let kind = kind_of(name);
        let (piece, filling) = match kind {
            Kind::Code => (&mut self.code, 0xcc), // a trap, should something ever run there
            Kind::Constants => (&mut self.constants, 0),
            Kind::Beside => return Ok(()),
        };
        let data = section.data().map_err(|_| format!("section `{name}` is not in the file"))?;
        let align = usize::try_from(section.align().clamp(1, ALIGN)).unwrap_or(1);
        let base = piece.len().next_multiple_of(align);
        if base + data.len() > BYTES_MAX {
            return Err(format!("section `{name}` makes it too large: at most {BYTES_MAX} bytes"));
        }
        if !data.is_empty() {
            piece.resize(base, filling);
            piece.extend_from_slice(data);
        }
        bases.insert(section.index().0, (kind, base));
        Ok(())
    }

    fn find_entry(&mut self, file: &File<'_>, entry: &str, bases: &Bases) -> Result<(), String> {
        let symbol = file.symbols().find(|symbol| is_entry(symbol, entry));
        let place = symbol.and_then(|symbol| {
            let (kind, base) = bases.get(&symbol.section_index()?.0)?;
            let at = usize::try_from(symbol.address()).ok()?.checked_add(*base)?;
            let end = usize::try_from(symbol.size()).ok()?.checked_add(at)?;
            let inside = *kind == Kind::Code && at < self.code.len() && end <= self.code.len();
            inside.then_some((at, end - at))
        });
        let (at, bytes) = place.ok_or_else(|| format!("`{entry}` does not lie in its code"))?;
        (self.entry, self.entry_bytes) = (four(at), four(bytes));
        Ok(())
    }

    /// Resolves what stays inside the code, and keeps what a linker must know.
    fn fill(&mut self, file: &File<'_>, bases: &Bases) -> Vec<String> {
        let mut problems = Vec::new();
        for section in file.sections() {
            let Some((Kind::Code, base)) = bases.get(&section.index().0) else { continue };
            for (offset, relocation) in section.relocations() {
                // the inspection has seen that it lies inside
                let at = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(*base);
                if let Err(why) = self.resolve(file, bases, at, &relocation) {
                    problems.push(format!("its code refers to {why} at {at:#x}"));
                }
            }
        }
        let close = self.fixes.keys().zip(self.fixes.keys().skip(1)).any(|(one, next)| next - one < 4);
        problems.extend(close.then(|| "two of its relocations write the same bytes".to_owned()));
        problems
    }

    fn resolve(
        &mut self,
        file: &File<'_>,
        bases: &Bases,
        at: usize,
        relocation: &object::Relocation,
    ) -> Result<(), String> {
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => file.symbol_by_index(index).ok(),
            _ => None,
        };
        let symbol = symbol.ok_or("nothing")?;
        let name = symbol.name().unwrap_or_default();
        let addend = relocation.addend();
        let target = match symbol.section() {
            SymbolSection::Undefined if addend == -4 && !name.is_empty() => Target::Function(name.to_owned()),
            SymbolSection::Undefined => return Err(format!("a part of `{name}`")),
            SymbolSection::Section(index) => {
                let (kind, base) = bases.get(&index.0).ok_or("what is not linked")?;
                let place = i64::try_from(symbol.address()).ok().and_then(|value| value.checked_add(addend));
                let place = place.and_then(|place| place.checked_add(*base as i64)).ok_or("no place")?;
                return match kind {
                    Kind::Code => self.bridge(at, place),
                    _ => self.keep(at, self.constant(place)?),
                };
            }
            _ => return Err(format!("`{name}`, which no section holds")),
        };
        self.keep(at, target)
    }

    fn constant(&self, place: i64) -> Result<Target, String> {
        let near = -BESIDE_MAX..=self.constants.len() as i64 + BESIDE_MAX;
        let place = i32::try_from(place).ok().filter(|place| near.contains(&i64::from(*place)));
        place.map(Target::Constant).ok_or_else(|| "what is far from its constants".to_owned())
    }

    /// A distance inside the code, which no linker changes any more.
    fn bridge(&mut self, at: usize, place: i64) -> Result<(), String> {
        let distance = i32::try_from(place.saturating_sub(at as i64)).map_err(|_| "no place in it")?;
        let bytes = at.checked_add(4).and_then(|end| self.code.get_mut(at..end)).ok_or("no place in it")?;
        bytes.copy_from_slice(&distance.to_le_bytes());
        Ok(())
    }

    fn keep(&mut self, at: usize, target: Target) -> Result<(), String> {
        let bytes = at.checked_add(4).and_then(|end| self.code.get_mut(at..end)).ok_or("no place in it")?;
        bytes.fill(0);
        match self.fixes.insert(four(at), target) {
            None => Ok(()),
            Some(_) => Err("two things".to_owned()),
        }
    }
}

impl Target {
    pub(in crate::inspect) fn function(&self) -> Option<&str> {
        match self {
            Target::Function(name) => Some(name),
            Target::Constant(_) => None,
        }
    }
}

/// Of an offset that [`BYTES_MAX`] bounds.
fn four(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
