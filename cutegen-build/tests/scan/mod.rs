//! What another process maps, holds open and has in its memory, by way of `/proc`: for tests that show what runners do
//! not know. It must not know what is looked for.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use cutegen_build::evaluate::{RUN, VARIABLE};

/// Bytes to look for.
pub(crate) struct Needle {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// A look at one runner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// Its mappings, as the system lists them.
    pub(crate) maps: String,
    /// What its descriptors refer to.
    pub(crate) descriptors: Vec<String>,
    /// Names of the needles that its memory holds.
    pub(crate) found: BTreeSet<String>,
    /// Bytes of memory that were read, and that could not be.
    pub(crate) bytes: [u64; 2],
    /// Whether it still ran when all was read.
    pub(crate) is_whole: bool,
}

const CHUNK: usize = 4 << 20;

/// The 64-bit number as memory and text may hold it.
pub(crate) fn number(name: &str, value: u64) -> Vec<Needle> {
    let forms = [
        ("little endian", value.to_le_bytes().to_vec()),
        ("big endian", value.to_be_bytes().to_vec()),
        ("decimal", value.to_string().into_bytes()),
        ("hexadecimal", format!("{value:x}").into_bytes()),
    ];
    forms.map(|(form, bytes)| Needle { name: format!("{name}, {form}"), bytes }).into()
}

/// Runs `judging` on a thread of its own, and looks at its runners again and again until it ends.
pub(crate) fn watch<T: Send>(needles: &[Needle], judging: impl FnOnce() -> T + Send) -> (T, Vec<Look>) {
    std::thread::scope(|scope| {
        let judging = scope.spawn(judging);
        let mut looks = Vec::new();
        while !judging.is_finished() {
            looks.extend(runners().into_iter().filter_map(|runner| look(runner, needles)));
            std::thread::sleep(Duration::from_millis(5));
        }
        (judging.join().expect("judged"), looks)
    })
}

/// Children of this process that are runners. One that has not begun its own program is still a copy of this one, and
/// has not the variable yet.
fn runners() -> Vec<u32> {
    let listing = fs::read_dir("/proc").expect("processes").flatten();
    let ids = listing.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| is_child(*id) && is_runner(*id)).collect()
}

fn is_child(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    parent.is_some_and(|parent| parent.trim() == std::process::id().to_string())
}

fn is_runner(id: u32) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let wanted = format!("{VARIABLE}={RUN}");
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}

/// None where it has ended already.
fn look(runner: u32, needles: &[Needle]) -> Option<Look> {
    let memory = File::open(format!("/proc/{runner}/mem")).ok()?;
    let maps = fs::read_to_string(format!("/proc/{runner}/maps")).ok()?;
    let mut look = Look { descriptors: descriptors(runner), ..Look::default() };
    for line in maps.lines() {
        match readable(line) {
            // what a device lends: reading it from here would be reading the device
            Some((from, to)) if line.contains("/dev/nvidia") => look.bytes[1] += to - from,
            Some(range) => search(&memory, range, needles, &mut look),
            None => {}
        }
    }
    let after = fs::read_to_string(format!("/proc/{runner}/maps")).unwrap_or_default();
    look.is_whole = !after.is_empty() && is_runner(runner);
    look.maps = maps + &after;
    Some(look)
}

/// What the descriptors of a process refer to, those left out by which somebody looks around.
pub(crate) fn descriptors(id: u32) -> Vec<String> {
    let Ok(listing) = fs::read_dir(format!("/proc/{id}/fd")) else { return Vec::new() };
    let links = listing.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = links.map(|link| link.to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with("/proc/")).collect()
}

/// A readable mapping's ends.
fn readable(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_whitespace();
    let (from, to) = fields.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    fields.next()?.starts_with('r').then_some((hex(from)?, hex(to)?))
}

/// In chunks that overlap by the longest needle.
fn search(memory: &File, (from, to): (u64, u64), needles: &[Needle], look: &mut Look) {
    let overlap = needles.iter().map(|needle| needle.bytes.len()).max().unwrap_or(0);
    let mut chunk = vec![0; CHUNK + overlap];
    let mut at = from;
    while at < to {
        let wanted = chunk.len().min((to - at) as usize);
        // not everything that is mapped can be read: pages of the kernel, files that have shrunk
        let Ok(read) = memory.read_at(&mut chunk[..wanted], at) else {
            look.bytes[1] += to - at;
            return;
        };
        let hits = needles.iter().filter(|needle| holds(&chunk[..read], &needle.bytes));
        look.found.extend(hits.map(|needle| needle.name.clone()));
        if read == 0 || read < wanted {
            look.bytes[0] += read as u64;
            look.bytes[1] += to - at - read as u64;
            return;
        }
        let step = if at + wanted as u64 == to { wanted } else { CHUNK };
        look.bytes[0] += step as u64;
        at += step as u64;
    }
}

fn holds(hay: &[u8], needle: &[u8]) -> bool {
    // SAFETY: both are slices with their lengths; unoptimised tests go over hundreds of megabytes.
    !unsafe { libc::memmem(hay.as_ptr().cast(), hay.len(), needle.as_ptr().cast(), needle.len()) }.is_null()
}
