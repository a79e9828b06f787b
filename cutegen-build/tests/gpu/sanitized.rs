//! What the gate cannot see and compute-sanitizer can.

use std::path::{Path, PathBuf};

use cutegen_build::evaluate::Judge;
use cutegen_build::evaluate::judge::sanitize::{Sanitized, Tool, locate};

use crate::Test;
use crate::bench::{self, PRELUDE, STEP};

pub(crate) const TESTS: &[Test] = &[("sanitized::each_falls_to_its_tool", each_falls_to_its_tool)];

struct Planted {
    name: &'static str,
    kernel: &'static str,
    /// Before the step in the contract.
    workspace: &'static str,
    tool: Tool,
}

const PLANTED: &[Planted] = &[
    Planted {
        name: "reads one element past an input",
        kernel: "extern \"C\" __global__ void candidate(PARAMETERS) {
  const long long i = INDEX;
  if (i < m * n) { volatile bf16 const* v = x; bf16 t; t = const_cast<bf16 const*>(v)[i];
    unsigned short past = reinterpret_cast<volatile unsigned short const*>(x)[i + 1];
    if (past == 0x1234) asm volatile(\"\"); y[i] = one(t, g[i]); }
}",
        workspace: "",
        tool: Tool::Memcheck,
    },
    Planted {
        name: "exchanges through shared memory without a barrier",
        kernel: "extern \"C\" __global__ void candidate(PARAMETERS) {
  __shared__ volatile unsigned short s[256];
  const long long i = INDEX;
  const bf16 v = i < m * n ? one(x[i], g[i]) : __float2bfloat16(0.0f);
  s[threadIdx.x ^ 255] = __bfloat16_as_ushort(v);
  const unsigned short other = s[threadIdx.x];
  s[threadIdx.x] = other + 1;
  if (i < m * n) y[i] = v;
}",
        workspace: "",
        tool: Tool::Racecheck,
    },
    Planted {
        name: "reads undefined workspace",
        kernel: "extern \"C\" __global__ void candidate(PARAMETERS, int* w) {
  const long long i = INDEX;
  if (i < m * n) { bf16 v = one(x[i], g[i]); if (w[threadIdx.x] == 0x12345678) v = x[i]; y[i] = v; }
}",
        workspace: "workspace = [{ bytes = \"1024\", initial = \"undefined\" }]",
        tool: Tool::Initcheck,
    },
    Planted {
        name: "leaves threads out of a barrier",
        kernel: "extern \"C\" __global__ void candidate(PARAMETERS) {
  const long long i = INDEX;
  if (threadIdx.x & 1) asm volatile(\"barrier.sync.aligned 0;\");
  if (i < m * n) y[i] = one(x[i], g[i]);
}",
        workspace: "",
        tool: Tool::Synccheck,
    },
];

impl Planted {
    fn contract(&self) -> String {
        let step = match self.workspace {
            "" => STEP.to_owned(),
            _ => STEP.replace("\"axis(a1)\"]", "\"axis(a1)\", \"workspace(w0)\"]"),
        };
        format!("{}\n{step}", self.workspace)
    }
}

pub(crate) fn sources() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    PLANTED.iter().map(|planted| (format!("{PRELUDE}{}", planted.kernel), vec!["candidate"]))
}

/// compute-sanitizer; that it is not here is said, and fails where it is required.
pub(crate) fn sanitizer() -> Option<PathBuf> {
    let (path, home) = (std::env::var_os("PATH"), std::env::var_os("CUDA_HOME"));
    let found = locate(path.as_deref(), home.as_deref());
    if found.is_none() {
        println!("    skipped: no compute-sanitizer");
        assert!(std::env::var_os("CUTEGEN_REQUIRE_SANITIZER").is_none(), "it is required");
    }
    found
}

fn each_falls_to_its_tool() {
    let Some(sanitizer) = sanitizer() else { return };
    let mut judge = bench::judge();
    let clean =
        judge.sanitize(&[bench::honest()], &sanitizer, &Tool::ALL).expect("the machine works").remove(0);
    println!("    honest: {clean:?}");
    assert_eq!(clean, Sanitized::Clean { tools: Tool::ALL.to_vec() });
    for planted in PLANTED {
        let source = format!("{PRELUDE}{}", planted.kernel);
        let candidate = bench::candidate(&source, &["candidate"], &planted.contract());
        let found =
            judge.sanitize(&[candidate], &sanitizer, &[planted.tool]).expect("the machine works").remove(0);
        println!("    {}: {found:?}", planted.name);
        assert!(matches!(found, Sanitized::Errors { tool, .. } if tool == planted.tool), "{}", planted.name);
        beside_honest_ones(&mut judge, planted, &sanitizer);
    }
}

/// In one process with kernels that are clean, before it and behind it, whose memory it may be given: what each tool finds stays.
fn beside_honest_ones(judge: &mut Judge, planted: &Planted, sanitizer: &Path) {
    let source = format!("{PRELUDE}{}", planted.kernel);
    let bad = bench::candidate(&source, &["candidate"], &planted.contract());
    let list = [bench::honest(), bad, bench::honest()];
    let found = judge.sanitize(&list, sanitizer, &[planted.tool]).expect("the machine works");
    let clean = Sanitized::Clean { tools: vec![planted.tool] };
    assert_eq!([&found[0], &found[2]], [&clean; 2], "beside {}", planted.name);
    assert!(
        matches!(found[1], Sanitized::Errors { tool, .. } if tool == planted.tool),
        "{} beside others",
        planted.name
    );
}
