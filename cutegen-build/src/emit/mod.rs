//! temporary
#![allow(missing_docs, dead_code)]
use std::path::{Path, PathBuf};
use crate::plan::Plan;
use cutegen_spec::record::Record;
#[derive(Debug)] pub struct Error;
impl std::fmt::Display for Error { fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { Ok(()) } }
pub struct Package<'a> { pub name: &'a str, pub version: &'a str, pub triple: &'a str, pub host: &'a str }
pub struct EmitKernel<'a> { pub plan: &'a Plan, pub record: &'a Record, pub artifacts: &'a [Vec<u8>] }
#[derive(Debug)] pub struct Emitted { pub lib_dir: PathBuf, pub lib_name: Option<String>, pub system_libs: Vec<String> }
pub fn emit(_: &Package<'_>, _: &[EmitKernel<'_>], _: &Path) -> Result<Emitted, Error> { Err(Error) }
pub fn stub(_: &Package<'_>, _: &[Plan], _: &Path) -> Result<Emitted, Error> { Err(Error) }
