//! How long 1,000 kernels take to be read, lowered, classified and keyed: the kernels of `kernel-specs` under new
//! names, each copy with a constant of its own, on one thread. Prints one line of JSON, samples in milliseconds.
//!
//! ```text
//! cargo run --release -p cutegen-build --example spec_speed [SAMPLES]
//! ```

use std::path::Path;
use std::time::Instant;

use cutegen_build::plan::Plan;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::spec::KernelSpec;

const SPECS: usize = 1_000;

fn main() {
    let samples = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(21);
    let texts = texts();
    let warm = sample(&texts);
    let ms: Vec<String> = (0..samples).map(|_| format!("{:.3}", sample(&texts).1)).collect();
    let build = if cfg!(debug_assertions) { "opt-level 0" } else { "opt-level 3" };
    println!("{{\"specs\":{},\"build\":\"{build}\",\"ms\":[{}]}}", warm.0, ms.join(","));
}

/// Files as they lie in `kernel-specs`, copied under new names until they hold enough kernels.
fn texts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel-specs");
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let specs = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "toml"));
    let files: Vec<String> =
        specs.map(|file| std::fs::read_to_string(file.path()).expect("a spec file")).collect();
    let (mut texts, mut kernels) = (Vec::new(), 0);
    for copy in 0.. {
        for file in &files {
            if kernels >= SPECS {
                return texts;
            }
            kernels += file.matches("[kernels.").count();
            texts.push(
                file.replace("[kernels.", &format!("[kernels.v{copy}_"))
                    .replace("4096", &(4096 + 128 * copy).to_string()),
            );
        }
    }
    texts
}

/// Kernels that were planned, and how long that took.
fn sample(texts: &[String]) -> (usize, f64) {
    let settings = Settings::default();
    let start = Instant::now();
    let specs: Vec<KernelSpec> =
        texts.iter().flat_map(|text| spec_file(text, &settings).kernels).take(SPECS).collect();
    let plans: Vec<Plan> = specs.iter().map(|spec| Plan::new(spec, &spec.targets[0])).collect();
    (plans.len(), start.elapsed().as_secs_f64() * 1e3)
}
