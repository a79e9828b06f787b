//! Random contracts and conditions: mostly small numbers, with those that overflow, divide by nothing or are negative among them.

use cutegen_spec::contract::tensor_map::{Base, Fill, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Initial, Step, WorkspacePart, ones};
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{DeviceProp, IntExpr, IntOp};

use super::kind;

/// SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    fn expr(&mut self, depth: u32, props: &[DeviceProp]) -> IntExpr {
        const OPS: [IntOp; 10] = [
            IntOp::Add,
            IntOp::Sub,
            IntOp::Mul,
            IntOp::Div,
            IntOp::Rem,
            IntOp::CeilDiv,
            IntOp::CeilDiv,
            IntOp::Min,
            IntOp::Max,
            IntOp::Mul,
        ];
        if depth == 0 || self.one_in(4) {
            return match self.below(8) {
                0 if !props.is_empty() => IntExpr::Device(self.pick(props)),
                0..=3 => IntExpr::Axis(self.below(4) as usize),
                4 if self.one_in(6) => IntExpr::Const(self.pick(&[i64::MAX, -1, 0, 1 << 31, -7])),
                _ => IntExpr::Const(self.pick(&[1, 2, 8, 31, 128, 256])),
            };
        }
        let op = self.pick(&OPS);
        IntExpr::op(op, self.expr(depth - 1, props), self.expr(depth - 1, props))
    }

    /// An expression whose value is usually small and positive.
    fn count(&mut self, props: &[DeviceProp]) -> IntExpr {
        match self.below(24) {
            0 => self.expr(3, props),
            1..=9 => {
                let inner = self.expr(2, props);
                let low = IntExpr::op(IntOp::Max, inner, IntExpr::Const(1));
                IntExpr::op(IntOp::Min, low, IntExpr::Const(self.pick(&[3, 40, 60_000])))
            }
            _ => IntExpr::Const(self.pick(&[1, 1, 2, 64, 128])),
        }
    }

    /// Bytes of some counters, which have a bound.
    fn counters(&mut self) -> IntExpr {
        let tile = IntExpr::Const(self.pick(&[64, 128, 1000]));
        let tiles = IntExpr::op(IntOp::CeilDiv, IntExpr::Axis(self.below(2) as usize), tile);
        let bytes = IntExpr::op(IntOp::Mul, tiles, IntExpr::Const(4));
        if self.one_in(2) { bytes } else { IntExpr::Const(self.pick(&[0, 4, 300])) }
    }

    pub(super) fn conditions(&mut self) -> Eligibility {
        let count = self.pick(&[0, 1, 1, 2]);
        let condition = |_| match self.below(4) {
            0 => Condition::Divides { expr: self.expr(1, &[]), by: self.pick(&[2, 3, 8]) },
            1 => Condition::AtLeast {
                expr: self.expr(2, &[DeviceProp::SmCount]),
                bound: self.pick(&[1, 40, -3]),
            },
            2 => Condition::AtMost { expr: self.expr(2, &[]), bound: self.pick(&[100, 2000, 1 << 40]) },
            _ => Condition::Aligned { tensor: self.below(2) as usize, bytes: self.pick(&[4, 16, 128]) },
        };
        Eligibility((0..count).map(condition).collect())
    }

    pub(super) fn contract(&mut self, name: &str) -> Contract {
        let part = |_| {
            let initial = self.pick(&[Initial::Undefined, Initial::Zeroed, Initial::KeptZero]);
            let bytes = if initial == Initial::KeptZero { self.counters() } else { self.count(&[]) };
            WorkspacePart { bytes, initial }
        };
        let workspace: Vec<WorkspacePart> = (0..3).map(part).collect();
        let steps =
            (0..1 + self.below(2)).map(|i| self.step(&format!("{name}_{i}"), workspace.len())).collect();
        Contract { workspace, steps }
    }

    fn tensor_map(&mut self, parts: usize) -> TensorMap {
        let base = match self.one_in(3) {
            true => Base::Workspace(self.below(parts as u64) as usize),
            false => Base::Tensor(self.below(2) as usize),
        };
        let rank = 1 + self.below(3) as usize;
        let mut strides: Vec<IntExpr> = (1..rank).map(|_| self.count(&[DeviceProp::SmCount])).collect();
        strides.push(IntExpr::Const(1));
        TensorMap {
            base,
            dtype: self.pick(&[DType::F32, DType::Bf16, DType::I8, DType::F8e5m2]),
            offset: if self.one_in(2) { IntExpr::Const(0) } else { self.count(&[]) },
            dims: (0..rank).map(|_| self.count(&[])).collect(),
            strides,
            tile: (0..rank).map(|_| self.pick(&[16, 64, 256])).collect(),
            every: (0..rank).map(|_| self.pick(&[1, 1, 2])).collect(),
            swizzle: self.pick(&[0, 32, 64, 128]),
            promotion: self.pick(&[0, 64, 128, 256]),
            fill: self.pick(&[Fill::Zero, Fill::Nan]),
        }
    }

    fn step(&mut self, name: &str, parts: usize) -> Step {
        let fixed = [DeviceProp::SmCount, DeviceProp::DeviceSmem];
        let all = [fixed[0], fixed[1], DeviceProp::MaxActiveClusters, DeviceProp::MaxBlocksPerSm];
        let arg = |_| match self.below(20) {
            0..=4 => Arg::Ptr(self.below(2) as usize),
            5..=8 => Arg::Axis(self.below(4) as usize),
            9..=12 => Arg::Scalar(self.below(2) as usize),
            13..=17 => Arg::Workspace(self.below(parts as u64) as usize),
            18 => Arg::Int(self.expr(2, &all)),
            _ => Arg::Map(Box::new(self.tensor_map(parts))),
        };
        let args: Vec<Arg> = (0..8).map(arg).collect();
        let cluster =
            if self.one_in(3) { [self.count(&fixed), self.count(&[]), self.count(&[])] } else { ones() };
        Step {
            entry: format!("{name}_k{}", args.iter().map(kind).collect::<String>()),
            grid: [self.count(&all), self.count(&all), self.count(&fixed)],
            block: [self.count(&fixed), self.count(&[]), self.count(&[])],
            cluster,
            smem: if self.one_in(2) { IntExpr::Const(0) } else { self.count(&fixed) },
            args,
            pdl: self.one_in(3),
            co_resident: self.one_in(6),
        }
    }
}
