//! What a prompt says of compiler and includes: the flags of every artifact we store, and the guard's list of headers, each read
//! where it is defined, so that a prompt cannot say something else than what holds.

use cutegen_spec::target::Target;

use super::filled;
use crate::kit;
use crate::plan::Plan;
use crate::toolchain::{CxxFamily, Output, cuda_options, host_flags};

/// Of the guard's headers of CUDA the one for programs of a CPU: NVRTC does not compile it.
const OF_DRIVER: &str = "cuda.h";

/// The guard's lists as text: its stage is behind this one, which may not import it.
const ALLOWED: &str = include_str!("../../compile/allowed.rs");

/// Flags that change messages and names alone, or name folders.
const SILENT: [&str; 6] =
    ["-Ishim", "-fno-diagnostics", "-fdiagnostics", "-fmax-errors", "-frandom-seed", "-fno-ident"];

/// The section's text.
pub(super) fn told(plan: &Plan) -> String {
    let (template, flags, lists) = match &plan.target {
        Target::Cuda { arch, .. } => {
            let flags = cuda_options(arch.name(), &[], Output::Linkable);
            (include_str!("compiler.md"), flags, ["CUDA_HEADERS", "STANDARD_HEADERS"])
        }
        Target::Host { level, .. } => {
            let flags = host_flags(CxxFamily::Gcc, level.name(), &[]);
            (include_str!("compiler_host.md"), flags, ["STANDARD_HEADERS", "HOST_HEADERS"])
        }
    };
    let is_silent = |flag: &String| SILENT.iter().any(|silent| flag.starts_with(silent));
    let flags: Vec<String> = flags.into_iter().filter(|flag| !is_silent(flag)).collect();
    let headers: Vec<&str> =
        lists.into_iter().flat_map(listed).filter(|header| opens(plan, header)).collect();
    let folders: Vec<String> = listed("FOLDERS").into_iter().map(|folder| format!("`{folder}`")).collect();
    let values =
        [("flags", flags.join(" ")), ("folders", folders.join(", ")), ("headers", headers.join(", "))];
    filled(template, &values).trim_end().to_owned()
}

/// Whether the target's compiler has the header. NVRTC has few standard ones; the others have their twins below `cuda/std/`.
fn opens(plan: &Plan, header: &str) -> bool {
    let is_standard = listed("STANDARD_HEADERS").contains(&header);
    plan.target.is_host() || (header != OF_DRIVER && (!is_standard || kit::BUILT_IN.contains(&header)))
}

/// The texts of one of the guard's lists.
fn listed(name: &str) -> Vec<&'static str> {
    let head = format!("const {name}: &[&str] = &[");
    let list = ALLOWED.split_once(&head).and_then(|(_, rest)| rest.split_once("];"));
    list.map_or_else(Vec::new, |(list, _)| list.split('"').skip(1).step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use super::{listed, told};
    use crate::compile::guard::{Language, check};
    use crate::generate::prompt::sample;

    /// Whether the guard lets a source include this.
    fn is_taken(header: &str, language: Language) -> bool {
        check(&format!("#include <{header}>\n"), language).is_empty()
    }

    /// The headers that a section names.
    fn named(text: &str) -> Vec<&str> {
        let list = text.rsplit_once("and these:").expect("a list").1;
        list.split([',', ' ', '\n'])
            .map(|word| word.trim_end_matches('.'))
            .filter(|word| !word.is_empty())
            .collect()
    }

    #[test]
    fn what_is_told_is_what_the_guard_takes() {
        let (cuda, host) = (told(&sample::plan()), told(&sample::on_host(sample::WINDOW)));
        let cuda = cuda.replace("No other one.", "");
        for (text, language, known) in
            [(&cuda, Language::Cuda, "cuda_fp16.h"), (&host, Language::Host, "immintrin.h")]
        {
            let headers = named(text);
            assert!(headers.contains(&known) && headers.contains(&"cstdint"), "{text}");
            assert!(headers.iter().all(|header| is_taken(header, language)), "{text}");
            let others = ["iostream", "thread", "vector", "cstdio", "unistd.h", "curand.h"];
            assert!(others.iter().all(|other| !headers.contains(other) && !is_taken(other, language)));
        }
        assert!(!named(&cuda).contains(&"immintrin.h") && !is_taken("immintrin.h", Language::Cuda));
        let folders = listed("FOLDERS");
        assert!(
            folders.contains(&"cute/") && folders.iter().all(|folder| cuda.contains(&format!("`{folder}`")))
        );
        assert!(folders.iter().all(|folder| is_taken(&format!("{folder}a.hpp"), Language::Cuda)));
    }

    #[test]
    fn flags_are_told_that_say_what_code_means() {
        let cuda = told(&sample::plan());
        assert!(cuda.contains("`--gpu-architecture=sm_90a -std=c++17 "), "{cuda}");
        assert!(!cuda.contains("fast_math") && !cuda.contains("--include-path"), "{cuda}");
        let host = told(&sample::on_host(sample::WINDOW));
        for flag in [
            "`-std=c++17 -O3 ",
            " -ffp-contract=fast ",
            " -march=x86-64-v3 ",
            "-Werror=frame-larger-than=65536",
        ] {
            assert!(host.contains(flag), "no {flag} in\n{host}");
        }
        for silent in ["-ffast-math", "-isystem", "-Ishim", "-fmax-errors"] {
            assert!(!host.contains(silent), "{silent} in\n{host}");
        }
    }
}
