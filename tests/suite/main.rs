//! The workspace's test suite: one binary, so that it links once. Each file of this folder is declared here, and
//! `tidy` fails when one is not.

mod accept;
mod agentic;
mod bars;
mod bench;
mod buckets;
mod candle;
mod check;
mod ci;
mod cookbook;
mod diagnostics;
mod emit;
mod forged_evidence;
mod mcp;
mod migrate;
mod min_gate;
mod node;
mod predicted;
mod products;
mod projects;
mod propose;
mod readme;
mod refine;
mod replay;
mod report;
mod resealed;
mod results;
mod retune;
mod run;
mod session;
mod store;
mod targets;
mod tidy;
mod tune;
mod user_crate;
mod verify;
