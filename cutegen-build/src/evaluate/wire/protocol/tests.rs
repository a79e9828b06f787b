//! Messages come back as they went.

use super::{
    Action, Backend, Code, Format, IpcHandle, Job, Limits, Memory, Program, Regime, Region, Reply, Request,
    Run, ScalarValue, Start, TimePlan, Timed, Variant, Written,
};
use crate::evaluate::wire::gemm::{Compute, Element, Gemm, Matrix};

fn product() -> Gemm {
    let matrix =
        |tensor, ld| Matrix { tensor, element: Element::Bf16, transposed: tensor == 0, ld, batch_stride: 0 };
    let (a, b, d) = (matrix(0, 64), matrix(1, 64), matrix(2, 48));
    let compute = Compute::F32;
    Gemm { m: 48, n: 32, k: 64, batch: 1, a, b, d, compute, fast_accumulation: false, scales: vec![] }
}

#[test]
fn every_kind_of_memory_arrives() {
    let mut handle = IpcHandle([[0; 32]; 2]);
    for (at, byte) in handle.0.as_flattened_mut().iter_mut().enumerate() {
        *byte = (at * 37) as u8;
    }
    let bytes = u64::MAX;
    let kinds = [
        (Memory::Host { fd: 5 }, Some(5)),
        (Memory::Device { fd: 6, bytes }, Some(6)),
        (Memory::DeviceByHandle { handle, bytes }, None),
    ];
    for (memory, fd) in kinds {
        assert_eq!(memory.fd(), fd);
        let (backend, limits) = (Backend::Cuda, Limits::host());
        let (candidates, kernels, cublaslt) = ("folder".into(), None, None);
        let start = Request::Start(Start { backend, memory, limits, candidates, kernels, cublaslt });
        let line = serde_json::to_string(&start).expect("prints");
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Request>(&line).expect("parses"), start);
    }
}

#[test]
fn what_is_written_wanders_and_nothing_else() {
    let at = |offset| Region { offset, bytes: 1 };
    let slots = (0..3).map(|slot| vec![at(slot), at(10 + slot), at(20 + slot)]).collect();
    let program = Program {
        code: Code::CublasLt(product()),
        slots,
        workspaces: vec![at(30)],
        written: vec![Written { tensor: 2, bytes: vec![] }, Written { tensor: 0, bytes: vec![] }],
        only_read: Vec::new(),
        constant: vec![1],
    };
    assert_eq!(program.turned(0), program);
    let turned = program.turned(1).slots;
    assert_eq!(turned[0], [at(1), at(10), at(21)]);
    assert_eq!(turned[2], [at(0), at(12), at(20)]);
    assert_eq!(program.turned(4).slots, turned, "around");
}

/// A pause of the machine in one block must not pass for a slow incumbent.
#[test]
fn far_slower_is_what_is_so_while_calibrating_and_in_the_first_pair() {
    let plan = |order: &[usize], enough| TimePlan {
        order: order.to_vec(),
        min_block_ns: 1,
        warm_up_ns: 1,
        regime: Regime::Burst,
        enough,
    };
    let far = plan(&[0, 1, 1, 0], Some(20));
    assert!(far.is_enough(&[10, 200]) && !far.is_enough(&[10, 199]) && !far.is_enough(&[200, 10]));
    assert!(!far.is_enough(&[0, 0]) && !far.is_enough(&[10]) && !far.is_enough(&[10, 200, 200]));
    assert!(far.ends_behind(&[10, 200]) && !far.ends_behind(&[200, 10]));
    let turned = plan(&[1, 0, 0, 1], Some(20));
    assert!(turned.ends_behind(&[200, 10]) && !turned.ends_behind(&[10, 200]));
    assert!(!far.ends_behind(&[10]) && !far.ends_behind(&[10, 200, 200]) && !far.ends_behind(&[]));
    let never = plan(&[0, 1, 1, 0], None);
    assert!(!never.is_enough(&[10, 200]) && !never.ends_behind(&[10, 200]));
}

#[test]
fn one_line_each_and_round_trips() {
    let variant = Variant {
        artifact: "k.so".into(),
        format: Format::SharedObject,
        contract: cutegen_spec::contract::Contract::default(),
    };
    let program = Program {
        code: Code::Variant(variant),
        slots: vec![vec![Region { offset: 4096, bytes: 12 }]],
        workspaces: vec![Region::default()],
        written: vec![Written { tensor: 0, bytes: vec![8] }],
        only_read: Vec::new(),
        constant: vec![1],
    };
    let library = Program { code: Code::CublasLt(product()), ..program.clone() };
    assert!(program.variant().is_some() && library.variant().is_none());
    let job = Job {
        arena_bytes: 8192,
        axes: vec![3],
        scalars: vec![ScalarValue::F32(1e-5_f32.to_bits()), ScalarValue::F64(0.1_f64.to_bits())],
        programs: vec![program, library],
        action: Action::Run(Run {
            reload: true,
            scramble: false,
            watch_globals: true,
            poison_stack: false,
            fenced: false,
            late_ns: Some(u64::MAX),
        }),
    };
    let request = Request::Job(job);
    let line = serde_json::to_string(&request).expect("prints");
    assert!(!line.contains('\n'));
    assert_eq!(serde_json::from_str::<Request>(&line).expect("parses"), request);
    let reply = Reply::Timed(Timed { launches: 4, block_ns: vec![u64::MAX] });
    let line = serde_json::to_string(&reply).expect("prints");
    assert_eq!(serde_json::from_str::<Reply>(&line).expect("parses"), reply);
    assert_eq!(ScalarValue::F64(0.1_f64.to_bits()).value(), 0.1);
}
