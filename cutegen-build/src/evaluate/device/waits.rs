//! Programmatic launches against what their kernels do about the kernel before. Pure. What a kernel does is read off its
//! instructions by [`crate::inspect::cubin::wait`]. What it may do follows from the contract and the spec's constants.

use cutegen_spec::contract::tensor_map::Base;
use cutegen_spec::contract::{Arg, Contract, Step};
use cutegen_spec::tensor::Tensor;

use crate::inspect::cubin::KernelInfo;
use crate::inspect::cubin::wait::Wait;

/// Holds each programmatic launch against what its kernel does about the one before it. On every path it must wait before it
/// touches memory. Else it reads what is not written yet, or overwrites what is not read yet. Where it `may_read`, loads may
/// come first. Launches behind a late writer tell whether they are of constants only.
///
/// # Errors
/// The first that does not, for the generator.
pub fn check_waits(
    contract: &Contract,
    kernels: &[KernelInfo],
    may_read: &dyn Fn(&Step) -> bool,
) -> Result<(), String> {
    for step in contract.steps.iter().filter(|step| step.pdl) {
        let entry = &step.entry;
        let found = kernels.iter().find(|kernel| kernel.name == *entry).map(|kernel| kernel.wait);
        let does = match found {
            Some(Wait::First) => continue,
            Some(Wait::Ahead(_)) if may_read(step) => continue,
            Some(Wait::Ahead(access)) => format!(
                "{access} may come before its `griddepcontrol.wait`, as loads marked `.nc` do, and none of its arguments is \
                 declared `constant`: move it behind a wait that no condition skips, in each warp role"
            ),
            Some(Wait::Late(access)) => format!(
                "{access} may come before its `griddepcontrol.wait`: move it behind a wait that no condition skips, in each \
                 warp role"
            ),
            Some(Wait::Never) => "it has no `griddepcontrol.wait`".to_owned(),
            None => "it was not compiled".to_owned(),
        };
        return Err(format!("`{entry}` may start while the kernel before it runs, but {does}"));
    }
    Ok(())
}

/// Whether a step is given a tensor that is the same at every launch, which it may read before it waits.
#[must_use]
pub fn takes_constants(step: &Step, tensors: &[Tensor]) -> bool {
    let tensor = |arg: &Arg| match arg {
        Arg::Ptr(tensor) => Some(*tensor),
        Arg::Map(map) => match map.base {
            Base::Tensor(tensor) => Some(tensor),
            Base::Workspace(_) => None,
        },
        Arg::Axis(_) | Arg::Scalar(_) | Arg::Workspace(_) | Arg::Int(_) => None,
    };
    step.args.iter().filter_map(tensor).any(|at| tensors.get(at).is_some_and(|tensor| tensor.constant))
}

#[cfg(test)]
mod tests {
    use cutegen_spec::contract::Contract;

    use super::{check_waits, takes_constants};
    use crate::inspect::cubin::KernelInfo;
    use crate::inspect::cubin::wait::{Access, Wait};

    fn compiled(wait: Wait) -> Vec<KernelInfo> {
        vec![KernelInfo {
            name: "k".to_owned(),
            params: Vec::new(),
            static_smem_bytes: 0,
            registers: None,
            stack_bytes: None,
            threads_max: None,
            cluster: None,
            wait,
        }]
    }

    fn contract(args: &str, pdl: &str) -> Contract {
        let text = format!(
            "[[steps]]\nentry = \"k\"\ngrid = [\"1\", \"1\", \"1\"]\nblock = [\"256\", \"1\", \"1\"]\nargs = [{args}]\n{pdl}"
        );
        toml::from_str(&text).expect("parses")
    }

    const LOAD: Access = Access { what: "a load (`LDG`)", at: 0x90 };
    const STORE: Access = Access { what: "a store (`STG`)", at: 0x120 };

    #[test]
    fn who_overlaps_the_kernel_before_waits_for_it_first() {
        let never = |wait, pdl| check_waits(&contract("", pdl), &compiled(wait), &|_| false);
        assert_eq!(never(Wait::Never, ""), Ok(()), "launched behind it");
        let said = |wait| never(wait, "pdl = true");
        assert_eq!(said(Wait::First), Ok(()));
        let reason = said(Wait::Late(STORE)).expect_err("late");
        let begins =
            "`k` may start while the kernel before it runs, but a store (`STG`) at 0x120 may come before";
        assert!(reason.starts_with(begins), "{reason}");
        let reason = said(Wait::Never).expect_err("never");
        assert!(reason.ends_with("it has no `griddepcontrol.wait`"), "{reason}");
        assert!(check_waits(&contract("", "pdl = true"), &[], &|_| true).is_err());
    }

    #[test]
    fn only_loads_may_come_first_and_only_where_there_are_constants() {
        let said = |wait, may: bool| check_waits(&contract("", "pdl = true"), &compiled(wait), &|_| may);
        assert_eq!(said(Wait::Ahead(LOAD), true), Ok(()));
        assert!(said(Wait::Late(STORE), true).is_err());
        let reason = said(Wait::Ahead(LOAD), false).expect_err("no constants");
        assert!(
            reason.contains("a load (`LDG`) at 0x90") && reason.contains("declared `constant`"),
            "{reason}"
        );
    }

    #[test]
    fn constants_are_looked_for_among_the_arguments_of_the_step() {
        let text = "edition = 1\n[kernels.k]\naxes = { n = '1..=64' }\n\
                    inputs = { x = 'f32[n]', w = { type = 'f32[n]', constant = true } }\n\
                    outputs = { y = 'f32[n]' }\nmath = 'y[n] = x[n] * w[n]'\ntargets = ['sm_90a']\n";
        let specs = cutegen_spec::edition::spec_file(text, &Default::default()).into_kernels();
        let tensors = &specs.expect("a right text")[0].tensors;
        let takes = |args: &str| takes_constants(&contract(args, "").steps[0], tensors);
        let map = |base: &str| {
            format!("\"tma({base}, type = f32, dims = [64, 64], strides = [64, 1], box = [8, 64])\"")
        };
        assert!(takes("\"ptr(t1)\"") && takes(&map("t1")));
        assert!(!takes("\"ptr(t0)\", \"ptr(t2)\", \"workspace(w1)\", \"axis(a1)\""));
        assert!(!takes(&map("t0")) && !takes(&map("w1")) && !takes(""));
    }
}
