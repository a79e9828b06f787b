//! The template of matrix products on `wgmma`: factors that TMA reaches, on Hopper.

mod launch;
mod planes;
mod point;
mod text;

use cutegen_spec::arch::Feature;
use cutegen_spec::dtype::DType;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::math::{Expr, Place};
use cutegen_spec::record;

use super::super::problem::Laid;
use super::operand::{ELEMENT, Operand, multiples};
use super::{Product, all_of};
use crate::generate::{Candidate, CostFeatures, Fetched, Instruction, ProductFeatures, hinted, hints};
use crate::plan::matmul::View;
use point::{BK, Cluster, Point, Schedule, Shape, Split, points};

/// Bytes of what TMA copies at a time, to which addresses and strides are aligned.
const TMA_BYTES: i64 = 16;
/// Products of planes that count where factors are f32.
const PASSES: i64 = 6;

/// The template for one product.
pub(super) struct Wgmma<'a> {
    product: &'a Product<'a>,
    laid: Laid<'a>,
    /// Where results lie, if they are a cast of the sum.
    y: Option<View>,
    conditions: Vec<Condition>,
}

/// A point, and what the cost does not tell apart.
struct Choice<'a> {
    point: &'a Point,
    pdl: bool,
}

impl<'a> Wgmma<'a> {
    /// The template, where there is wgmma, if TMA reaches all factors, or their planes if these are f32.
    pub(super) fn of(product: &'a Product<'a>) -> Option<Self> {
        if !product.plan.target.has(Feature::Wgmma) {
            return None;
        }
        let operands = || std::iter::once(&product.a).chain(&product.b);
        let conditions: Option<Vec<_>> = if product.element == DType::F32 {
            operands().map(|operand| operand.is_dense().then(Vec::new)).collect()
        } else {
            operands().map(|operand| operand.conditions(TMA_BYTES, ELEMENT)).collect()
        };
        let conditions = all_of(Vec::new(), conditions?.concat());
        if !operands().all(Operand::is_of_three_dimensions) {
            return None;
        }
        let laid = product.laid();
        let (y, more) = cast(product).unzip();
        let more = more.unwrap_or_else(|| laid.conditions());
        Some(Self { product, laid, y, conditions: all_of(conditions, more) })
    }

    /// Whether factors are f32, of which planes of bf16 are multiplied.
    fn has_planes(&self) -> bool {
        self.product.element == DType::F32
    }

    fn shape(&self) -> Shape {
        let product = self.product;
        Shape {
            sums: product.sums(),
            cast: self.y.is_some(),
            planes: self.has_planes(),
            k_major: [product.a.is_k_major(), product.b[0].is_k_major()],
            batched_columns: product.b[0].is_batched(),
        }
    }

    pub(super) fn candidates(&self, at_most: usize) -> Vec<Candidate> {
        let points = points(self.shape());
        let terms = self.product.known(&self.product.matmul.terms());
        let has_work = |point: &&Point| terms.is_none_or(|terms| terms >= point.parts() * BK);
        let all = points.iter().filter(has_work).flat_map(|point| {
            let alone = [false, true].into_iter().filter(|pdl| !(*pdl && self.has_planes()));
            let alone = alone.map(|pdl| (*point, pdl));
            let stream_k = point.stream_k().into_iter().flat_map(|point| [(point, false), (point, true)]);
            alone.chain(self.split(point).into_iter().map(|point| (point, false))).chain(stream_k)
        });
        let all = all.take(at_most);
        all.map(|(point, pdl)| self.candidate(&Choice { point: &point, pdl })).collect()
    }

    /// The points of this tile whose blocks share k.
    fn split(&self, point: &Point) -> Vec<Point> {
        let parts = point.fill().map(|fill| self.product.parts(point.tile(), &fill));
        parts.into_iter().flatten().map(|parts| Point { split: Split::Parts(parts), ..*point }).collect()
    }

    fn candidate(&self, choice: &Choice<'_>) -> Candidate {
        let (point, shape, matmul) = (choice.point, self.shape(), self.product.matmul);
        let letters = hints(&[
            (point.cluster == Cluster::Columns, 'm'),
            (point.cluster == Cluster::Rows, 'n'),
            (choice.pdl, 'd'),
        ]);
        let name = hinted(point.name(shape), &letters);
        let source = self.source(choice, &name);
        let contract = self.contract(choice);
        let splits = if let Split::Parts(parts) = point.split { format!("-{parts}") } else { String::new() };
        let [rows, columns] = point.tile();
        Candidate {
            name: format!("product-{name}{splits}"),
            kind: record::Kind::Tuned,
            origin: format!("template sm90a/product_wgmma {name}{splits}"),
            source,
            contract,
            eligibility: Eligibility(self.conditions(point)),
            tiles: self.product.tiled_axes([rows, columns, BK]),
            cost_features: Some(CostFeatures::Product(ProductFeatures {
                instruction: Instruction::Wgmma,
                passes: if self.has_planes() { PASSES } else { 1 },
                kind: kind(point),
                extents: [matmul.batches(), matmul.rows(), matmul.columns(), matmul.terms()],
                tile: [rows, columns, BK],
                products: shape.sums,
                stages: point.ring(shape).map_or(0, |ring| ring.stages),
                threads: point.threads(),
                registers: point.registers(shape),
                smem_reads: point.smem_reads(shape),
                element_bytes: ELEMENT,
                access_bytes: TMA_BYTES,
                fetched: self.fetched(point),
                splits: point.splits() * point.parts(),
                stream_k: point.split == Split::StreamK,
                hints: letters,
            })),
        }
    }

    /// What a block asks L2 for.
    fn fetched(&self, point: &Point) -> Fetched {
        let factors = [&self.product.a, &self.product.b[0]];
        let lines = factors.map(|factor| if self.straddles(factor) { 2 } else { 1 });
        if lines == [1, 1] {
            return Fetched::Tile;
        }
        let (rows, [high, wide]) = (point.loaded(), point.tile());
        let [of_cluster, across] = point.cluster_tile();
        Fetched::Straddling { rows, lines, cluster: [of_cluster / high, across / wide] }
    }

    /// What must hold of a launch: each block of a cluster that shares k has a part of it.
    fn conditions(&self, point: &Point) -> Vec<Condition> {
        let (product, matmul) = (self.product, self.product.matmul);
        let bound = product.bounds_rows(point.split != Split::Whole, point.tile()[0]);
        let mut conditions: Vec<_> = self.conditions.iter().cloned().chain(bound).collect();
        if point.parts() > 1 && product.known(&matmul.terms()).is_none() {
            conditions.push(Condition::AtLeast { expr: matmul.terms(), bound: point.parts() * BK });
        }
        conditions
    }
}

/// Of one kind are points that differ in numbers alone.
fn kind(point: &Point) -> &'static str {
    match (point.swap, point.schedule, point.cluster) {
        (true, ..) if point.split == Split::StreamK => "wgmma for few rows, stream-K",
        (true, _, Cluster::Terms(_)) => "wgmma for few rows, k over a cluster",
        (true, ..) => "wgmma for few rows",
        (false, Schedule::PingPong, _) => "wgmma, ping-pong",
        (false, Schedule::Cooperative, _) => "wgmma, cooperative",
    }
}

/// Where the results lie and what TMA asks of that, if they are one tensor of casts of one sum.
fn cast(product: &Product<'_>) -> Option<(View, Vec<Condition>)> {
    let (plan, matmul) = (product.plan, product.matmul);
    let [output] = product.nest.outputs.as_slice() else { return None };
    let is_sum = matches!(&output.value, Expr::Load(Place::Temp(temp), _) if *temp == matmul.products[0].sum);
    let tensor = &plan.spec.tensors[output.tensor];
    if !is_sum || product.sums() > 1 || !matches!(tensor.dtype, DType::Bf16 | DType::F16) {
        return None;
    }
    let view = View::of(output.tensor, tensor, &output.index)?;
    let axes = &plan.spec.axes;
    let rows = matmul.is_one_dimension(axes, &view, &matmul.batch)
        && matmul.is_one_dimension(axes, &view, &matmul.m);
    let dense = product.known(&view.stride(matmul.n?)) == Some(1);
    let strides = matmul.batch.iter().chain(&matmul.m).map(|var| view.stride(*var));
    let whole = strides.chain([matmul.columns(), view.offset.clone()]);
    let elements = TMA_BYTES / tensor.dtype.bytes() as i64;
    let multiples = multiples(axes, whole, elements)?;
    let aligned = Condition::Aligned { tensor: output.tensor, bytes: TMA_BYTES.cast_unsigned() };
    (rows && dense).then(|| (view, std::iter::once(aligned).chain(multiples).collect()))
}
