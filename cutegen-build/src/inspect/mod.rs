//! What may be inside compiled bytes that end in a user's program. Pure: bytes in, problems out. Who asks is the compiler's
//! client for what has just been compiled, the gate for what it judges, and `emit` for what it links.

#[cfg(feature = "search")]
mod code;
#[cfg(feature = "search")]
pub mod cubin;
pub mod object;

/// What [`object::check`] reads, of an object whose code was looked at besides: where it jumps, what it calls, how much stack
/// it takes. The decoder of instructions is no part of a replaying build.
///
/// # Errors
/// As there, and each thing that the code must not do.
#[cfg(feature = "search")]
pub fn judged(bytes: &[u8], entries: &[String]) -> Result<object::ObjectInfo, Vec<String>> {
    let (image, entry) = object::read(bytes, entries)?;
    let mut problems = code::problems(&image);
    if object::written(&image, entry) != bytes {
        problems.push("it is not the object that is written of what is linked of it".to_owned());
    }
    if problems.is_empty() { Ok(object::info(&image, entry)) } else { Err(problems) }
}
