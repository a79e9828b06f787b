//! A worker to talk to, and a spec with its inputs and reference.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use cutegen_build::evaluate::judge::inputs;
use cutegen_build::evaluate::timing::peer::{
    Agreement, Device, Inputs, Mode, Peer, Prepare, Python, Stopped, What, agreement, describe, write,
};
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_build::evaluate::{Call, Distribution, Expected, Reference, contents};
use cutegen_build::plan::Plan;
use cutegen_build::print;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::tensor::Role;

/// Importing PyTorch on a busy machine takes long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// The interpreter of these tests, with only the variables that a worker needs.
pub(crate) fn python() -> Python {
    let command = std::env::var_os("CUTEGEN_PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let kept = ["PATH", "HOME", "LD_LIBRARY_PATH"];
    let env = kept.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
    Python { command, env }
}

/// The interpreter, to which a module `torch` of this text comes before any other.
pub(crate) fn planted(torch: &str, folder: &tempfile::TempDir) -> Python {
    std::fs::write(folder.path().join("torch.py"), torch).expect("written");
    let mut python = python();
    python.env.push(("PYTHONPATH".into(), folder.path().into()));
    python
}

/// Why nothing that needs PyTorch can run here.
pub(crate) fn missing() -> Option<String> {
    match Peer::start_within(&python(), Device::Cpu, PATIENCE) {
        Ok(_) => None,
        Err(Stopped::NotRun(reason)) => Some(reason),
        Err(other) => panic!("{other}"),
    }
}

/// A spec at one shape, and a worker.
pub(crate) struct Bench {
    pub(crate) peer: Peer,
    plan: Plan,
    axes: Vec<i64>,
    scalars: Vec<ScalarValue>,
    slots: Vec<Vec<Option<Vec<u8>>>>,
    folder: tempfile::TempDir,
}

impl Bench {
    /// `body` is a kernel's table without its header; all axes are constant.
    pub(crate) fn new(body: &str) -> Self {
        let text = format!("edition = 1\n[kernels.k]\n{body}");
        let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
        let spec = &kernels[0];
        let axes = spec.bind(&Default::default()).expect("constant axes");
        let scalar = |(i, s)| inputs::draw_scalar(Distribution::Normal, 5, i, s);
        let draw = |seed| contents(spec, seed, &axes, Distribution::Normal).expect("drawn");
        Self {
            peer: Peer::start_within(&python(), Device::Cpu, PATIENCE).expect("a worker"),
            plan: Plan::new(spec, &spec.targets[0]),
            scalars: spec.scalars.iter().enumerate().map(scalar).collect(),
            slots: vec![draw(1), draw(2)],
            axes,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn prepare(&self, expression: &str) -> Prepare {
        let slots: Vec<&[Option<Vec<u8>>]> = self.slots.iter().map(Vec::as_slice).collect();
        let inputs = Inputs { axes: &self.axes, scalars: &self.scalars, slots: &slots };
        let what = What::Expression { text: expression.to_owned(), mode: Mode::Eager };
        let written = write(&self.plan.spec, &inputs, self.folder.path()).expect("written");
        describe(&self.plan.spec, &written, what, (5, 8), self.folder.path())
    }

    /// What `expression` is to the spec.
    pub(crate) fn agreement(&mut self, expression: &str) -> Agreement {
        let prepared = self.peer.prepare(&self.prepare(expression), PATIENCE).expect("it runs");
        agreement(&self.plan.spec, &self.axes, &self.expected(), &prepared).expect("its outputs can be read")
    }

    /// By the spec's own reference, compiled here.
    fn expected(&self) -> Vec<Option<Expected>> {
        let spec = &self.plan.spec;
        let shared = self.folder.path().join("reference.so");
        let source = shared.with_extension("cpp");
        std::fs::write(&source, print::reference::print(&self.plan)).expect("written");
        let flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-o"];
        let compiled =
            Command::new("c++").args(flags).arg(&shared).arg(&source).output().expect("c++ starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let reference = Reference::load(&shared).expect("it loads");
        let results: Vec<usize> = spec.tensors_with(Role::Output).collect();
        let size = |t: &usize| spec.tensors[*t].span(&self.axes).expect("it has a size") as usize;
        let outputs: Vec<usize> = results.iter().map(size).collect();
        let inputs: Vec<Vec<u8>> = self.slots[0].iter().flatten().cloned().collect();
        let (axes, scalars) = (&self.axes, &self.scalars);
        let call = Call { inputs: &inputs, axes, scalars, outputs: &outputs, exact: false, sampled: None };
        let mut expected = vec![None; spec.tensors.len()];
        results.iter().zip(reference.call(&call)).for_each(|(t, e)| expected[*t] = Some(e));
        expected
    }
}
