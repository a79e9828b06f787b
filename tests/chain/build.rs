//! Replays the accepted kernels: no GPU, no CUDA, no network.
fn main() {
    cutegen_build::build();
}
