//! Which target runs on which device: cutegen-spec has the rule for the build and cutegen-runtime, which knows no specs, for
//! launches. They say the same.

use cutegen_runtime::Error;
use cutegen_runtime::cuda::target_runs_on;
use cutegen_spec::arch::Arch;
use cutegen_spec::target::Target;

/// Every target that is narrowed or not, with every device that might be.
#[test]
fn the_runtime_launches_what_the_build_judges() {
    let names = ["NVIDIA H200", "NVIDIA GH200 480GB", "NVIDIA H100 80GB HBM3", "NVIDIA L40S", "h200", ""];
    for arch in Arch::all() {
        for narrow in ["", ":h200", ":H100 80gb", ":l40"] {
            let text = format!("{}{narrow}", arch.name());
            let target = Target::parse(&text).expect("a target");
            for (major, minor) in (5..14).flat_map(|major| (0..10).map(move |minor| (major, minor))) {
                for name in names {
                    let judged = target.runs_on(name, (major, minor));
                    assert_eq!(
                        judged,
                        target_runs_on(&text, name, (major, minor)),
                        "{text} on {name} {major}.{minor}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_runtime_names_the_target_that_is_advised() {
    for (major, minor) in (5..14).flat_map(|major| (0..10).map(move |minor| (major, minor))) {
        let (arch, targets) = (format!("sm_{major}{minor}"), String::new());
        let told =
            Error::NoEntryForDevice { kernel: "k", device: "GPU".to_owned(), arch, targets }.to_string();
        let is_made = Arch::all().any(|arch| arch.compute_capability() == (major, minor));
        match Arch::advised((major, minor)).filter(|_| is_made) {
            Some(arch) => {
                assert!(told.contains(&format!("add `{}` to `targets`", arch.name())), "{told}")
            }
            None => assert!(told.contains("no target is for it"), "{told}"),
        }
    }
}
