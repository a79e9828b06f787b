//! The vocabulary of CuTeGen: what is asked (specs, math, axes, dtypes, targets, keys) and what was answered
//! (launch contracts, records, locks).
//!
//! Data only. Nothing here knows a file system, an environment, a clock, a process or a GPU: texts come in as
//! `&str`, values go out. Both the build pipeline and the command speak these types, so that a build on a laptop
//! and a search on a GPU node mean the same thing by the same word.

pub mod arch;
pub mod axis;
pub mod contract;
pub mod diagnostic;
pub mod digest;
pub mod dtype;
pub mod edition;
pub mod eligibility;
pub mod figures;
pub mod generators;
pub mod hint;
pub mod int_expr;
pub mod key;
pub mod lock;
pub mod math;
pub mod name;
mod nesting;
pub mod printable;
pub mod provenance;
pub mod record;
pub mod settings;
pub mod spec;
pub mod symbol;
pub mod target;
pub mod tensor;
pub mod unread;
pub mod workload;
