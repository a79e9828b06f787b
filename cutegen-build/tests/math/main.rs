//! What is read of a spec and printed from its math, by numbers: messages, references, bounds, naive kernels, and the gate's
//! rule in a model of kernels on the CPU. One binary, so that it links once; each folder says what it needs.

#[path = "../bad/mod.rs"]
mod bad;
#[path = "../bound/mod.rs"]
mod bound;
#[path = "../device_reference/mod.rs"]
mod device_reference;
#[path = "../model/mod.rs"]
mod model;
#[path = "../naive/mod.rs"]
mod naive;
#[path = "../naive_cuda/mod.rs"]
mod naive_cuda;
#[path = "../parts/mod.rs"]
mod parts;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../sample/mod.rs"]
mod sample;
