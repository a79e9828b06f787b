//! What is inside a cubin: its kernels, their parameters as compiled, and that it needs nothing from outside.
//!
//! Reads the ELF image and the `.nv.info` records. The launch contract is compared with this by others.

use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolSection, elf};

mod nv_info;
pub mod wait;

use nv_info::Attribute;
pub use nv_info::Param;
use wait::{Wait, wait};

/// A cubin's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubinInfo {
    /// Its kernels, by name.
    pub kernels: Vec<KernelInfo>,
    /// The CUDA ELF ABI: 8 needs driver 580, 7 an older one.
    pub abi_version: u8,
}

/// One kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its symbol.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Shared memory it declares itself, in bytes, without the system's share.
    pub static_smem_bytes: u64,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Local memory per thread: spills and arrays.
    pub stack_bytes: Option<u32>,
    /// From `__launch_bounds__`: block dimensions it is compiled for, at most.
    pub threads_max: Option<[u32; 3]>,
    /// Cluster dimensions it insists on.
    pub cluster: Option<[u32; 3]>,
    /// What it does about a kernel before it that may still run.
    pub wait: Wait,
}

type Cubin<'data> = ElfFile64<'data, Endianness>;

/// All problems at once, each a sentence for the generator. Every one of `entries` must be a kernel, and no other.
pub fn check(bytes: &[u8], entries: &[String]) -> Result<CubinInfo, Vec<String>> {
    let info = read(bytes).map_err(|problem| vec![problem])?;
    let file = Cubin::parse(bytes).map_err(|error| vec![error.to_string()])?;
    let mut problems: Vec<String> = undefined(&file).map(|name| outside_call(&name)).collect();
    let defined = |entry: &String| info.kernels.iter().any(|kernel| kernel.name == *entry);
    problems.extend(
        entries
            .iter()
            .filter(|entry| !defined(entry))
            .map(|entry| format!("no kernel `{entry}`: declare it extern \"C\" __global__")),
    );
    let foreign = info.kernels.iter().filter(|kernel| !entries.contains(&kernel.name));
    problems
        .extend(foreign.map(|kernel| format!("kernel `{}` is in no launch step: remove it", kernel.name)));
    if problems.is_empty() { Ok(info) } else { Err(problems) }
}

/// Reads a cubin without judging it.
pub fn read(bytes: &[u8]) -> Result<CubinInfo, String> {
    let file = Cubin::parse(bytes).map_err(|error| format!("not a cubin: {error}"))?;
    if file.elf_header().e_machine(file.endian()) != elf::EM_CUDA {
        return Err("not a cubin: the ELF image is for another machine".to_owned());
    }
    let registers = register_counts(&file);
    let mut kernels = Vec::new();
    for section in file.sections() {
        if let Some(name) = section.name().ok().and_then(|name| name.strip_prefix(".nv.info.")) {
            kernels.push(kernel(&file, name, section.data().unwrap_or_default(), &registers)?);
        }
    }
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(CubinInfo { kernels, abi_version: file.elf_header().e_ident().abi_version })
}

/// The variables in a cubin's global memory, which its kernels could write: names as the driver knows them.
pub fn globals(bytes: &[u8]) -> Result<Vec<String>, String> {
    let file = Cubin::parse(bytes).map_err(|error| format!("not a cubin: {error}"))?;
    let is_global = |section: &object::read::elf::ElfSection64<'_, '_, Endianness>| {
        section.name().is_ok_and(|name| name.starts_with(".nv.global"))
    };
    let sections: Vec<_> = file.sections().filter(is_global).map(|section| section.index()).collect();
    let inside = file.symbols().filter(|symbol| {
        symbol.size() > 0 && symbol.section_index().is_some_and(|section| sections.contains(&section))
    });
    inside.map(|symbol| symbol.name().map(str::to_owned).map_err(|error| error.to_string())).collect()
}

fn kernel(file: &Cubin<'_>, name: &str, records: &[u8], counts: &Counts) -> Result<KernelInfo, String> {
    let attributes =
        nv_info::attributes(records).map_err(|at| format!("`.nv.info.{name}` is cut off at byte {at}"))?;
    let triple = |wanted: u8| attributes.iter().find(|a| a.code == wanted).and_then(Attribute::triple);
    let index = file.symbols().find(|symbol| symbol.name() == Ok(name)).map(|symbol| symbol.index().0 as u32);
    let count = |table: &[(u32, u32)]| {
        table.iter().find(|(symbol, _)| Some(*symbol) == index).map(|(_, count)| *count)
    };
    Ok(KernelInfo {
        name: name.to_owned(),
        params: params(&attributes)?,
        static_smem_bytes: static_smem(file, name),
        registers: count(&counts.registers),
        stack_bytes: count(&counts.stack),
        threads_max: triple(nv_info::MAX_THREADS).or_else(|| triple(nv_info::REQUIRED_THREADS)),
        cluster: triple(nv_info::CLUSTER_DIMENSIONS),
        wait: wait(text(file, name), entry(file, name)),
    })
}

/// A kernel's instructions.
fn text<'data>(file: &Cubin<'data>, kernel: &str) -> &'data [u8] {
    let section = file.section_by_name(&format!(".text.{kernel}"));
    section.and_then(|section| section.data().ok()).unwrap_or_default()
}

/// Where among its instructions a kernel begins.
fn entry(file: &Cubin<'_>, kernel: &str) -> usize {
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(kernel));
    symbol.map_or(0, |symbol| symbol.address() as usize)
}

/// Parameters by ordinal; a gap means that we do not understand the format.
fn params(attributes: &[Attribute<'_>]) -> Result<Vec<Param>, String> {
    let mut found: Vec<(u32, Param)> = attributes.iter().filter_map(nv_info::param).collect();
    found.sort_unstable();
    let in_order = found.iter().enumerate().all(|(index, (ordinal, _))| index as u32 == *ordinal);
    if !in_order {
        return Err("the cubin's parameter records have gaps".to_owned());
    }
    Ok(found.into_iter().map(|(_, param)| param).collect())
}

/// Per-symbol numbers from the section `.nv.info`.
struct Counts {
    registers: Vec<(u32, u32)>,
    stack: Vec<(u32, u32)>,
}

fn register_counts(file: &Cubin<'_>) -> Counts {
    let data = file.section_by_name(".nv.info").and_then(|section| section.data().ok()).unwrap_or_default();
    let attributes = nv_info::attributes(data).unwrap_or_default();
    let pairs = |code: u8| attributes.iter().filter(|a| a.code == code).filter_map(Attribute::pair).collect();
    Counts { registers: pairs(nv_info::REGISTER_COUNT), stack: pairs(nv_info::FRAME_SIZE) }
}

/// From sm_90 on, the section of a kernel that uses shared memory begins with the system's kibibyte.
fn static_smem(file: &Cubin<'_>, kernel: &str) -> u64 {
    let reserved = if file.section_by_name(".nv.shared.reserved.0").is_some() { 1024 } else { 0 };
    section_size(file, &format!(".nv.shared.{kernel}")).saturating_sub(reserved)
}

fn section_size(file: &Cubin<'_>, name: &str) -> u64 {
    file.section_by_name(name).map_or(0, |section| section.size())
}

/// Symbols that are not defined: printf, malloc, the device runtime. Reserved shared memory is each cubin's own.
fn undefined<'a>(file: &'a Cubin<'a>) -> impl Iterator<Item = String> + 'a {
    let missing = file.symbols().filter(|symbol| symbol.section() == SymbolSection::Undefined);
    let from_driver = |name: &str| name.is_empty() || name.starts_with(".nv.reservedSmem.");
    missing.filter_map(move |symbol| symbol.name().ok().filter(|name| !from_driver(name)).map(str::to_owned))
}

fn outside_call(name: &str) -> String {
    format!("calls `{name}`, which is not in the cubin: no printf, malloc, assert or device-side launches")
}
