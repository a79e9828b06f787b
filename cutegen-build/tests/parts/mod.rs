//! The parts of a kernel by numbers: run one after the other by the machine of the tests in `bound`, they give what the whole's
//! reference says, within its bound. What the splitter must not do is seen: to round what the spec has exact, to run parts in
//! another order, to exchange what passes between them. Needs c++.

use std::collections::BTreeMap;

use cutegen_build::evaluate::judge::{compare::compare, element};
use cutegen_build::generate::template::parts_of;
use cutegen_build::plan::Plan;
use cutegen_build::plan::split::Part;
use cutegen_spec::axis::resolve;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::math::Place;
use cutegen_spec::tensor::Role;

use crate::bound::library;
use crate::bound::machine::{Launch, Machine};
use crate::bound::specs::{self, Drawn};
use crate::bound::style::Style;

/// Distributions of each kernel, the first that the gate draws.
const DRAWN: usize = 2;
/// Extent of every run-time axis.
const ROWS: i64 = 3;

/// A kernel, its parts, and what was drawn for it.
struct Case {
    whole: Plan,
    parts: Vec<Part>,
    drawn: Vec<Drawn>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("specs.toml");
    let kernels = spec_file(text, &Default::default()).into_kernels().expect("right specs");
    let case = |spec| {
        let whole = Plan::new(spec, &spec.targets[0]);
        let parts = parts_of(&whole).expect("templates fill its parts");
        let axes = resolve(&spec.axes, &|_| ROWS).expect("extents");
        let reference = library::reference(&whole);
        let of = |distribution| specs::draw(&whole, &reference, &axes, distribution, 1);
        Case { drawn: specs::distributions(&whole).take(DRAWN).map(of).collect(), parts, whole }
    };
    kernels.iter().map(case).collect()
}

impl Case {
    /// The first wrong element of any output, at any distribution.
    fn wrong(&self) -> Option<String> {
        self.drawn.iter().find_map(|drawn| {
            let held = self.run(drawn);
            let outputs = self.whole.spec.tensors.iter().enumerate();
            let mut outputs =
                outputs.filter_map(|(t, tensor)| Some((t, tensor, drawn.expected[t].as_ref()?)));
            outputs.find_map(|(t, tensor, expected)| {
                let compared = compare(tensor.dtype, &held[&Place::Tensor(t)], expected);
                let name = || format!("{}, {:?}", tensor.name, drawn.distribution);
                compared.wrong.map(|wrong| format!("{}: {wrong:?}", name()))
            })
        })
    }

    /// All tensors and temporaries behind the last part; what no part wrote before it is read is all ones.
    fn run(&self, drawn: &Drawn) -> BTreeMap<Place, Vec<u8>> {
        let given = drawn.contents.iter().enumerate();
        let given = given.filter_map(|(t, bytes)| Some((Place::Tensor(t), bytes.clone()?)));
        let mut held: BTreeMap<Place, Vec<u8>> = given.collect();
        for part in &self.parts {
            let tensors = part.plan.spec.tensors.iter().zip(&part.places);
            let contents = tensors.map(|(tensor, place)| {
                let size = element::bytes(tensor.dtype, tensor.span(&drawn.axes).expect("a size") as usize);
                let bytes = || held.get(place).cloned().unwrap_or_else(|| vec![0xff; size]);
                (tensor.role == Role::Input).then(bytes)
            });
            let contents: Vec<Option<Vec<u8>>> = contents.collect();
            let written = launch(&part.plan, drawn, &contents);
            held.extend(written.into_iter().map(|(t, bytes)| (part.places[t], bytes)));
        }
        held
    }
}

/// What a kernel writes.
fn launch(plan: &Plan, drawn: &Drawn, contents: &[Option<Vec<u8>>]) -> Vec<(usize, Vec<u8>)> {
    let (axes, scalars) = (drawn.axes.as_slice(), drawn.scalars.as_slice());
    let mut machine = Machine::new(Launch { plan, axes, contents, scalars }, Style::plain(false), None, 1);
    let mut written = Vec::new();
    for step in &plan.schedule.steps {
        let Place::Tensor(t) = step.dst else { continue };
        let tensor = &plan.spec.tensors[t];
        let mut bytes = vec![0; element::bytes(tensor.dtype, tensor.span(axes).expect("a size") as usize)];
        let extents: Vec<i64> = step.vars().iter().map(|var| axes[plan.schedule.vars[*var]]).collect();
        for number in 0..extents.iter().product() {
            let point = point(number, &extents);
            let slot = machine.offset_of(step, &point);
            machine.store(step, &point, &mut bytes, slot);
        }
        written.push((t, bytes));
    }
    written
}

fn point(number: i64, extents: &[i64]) -> Vec<i64> {
    let mut left = number;
    let mut point: Vec<i64> = extents
        .iter()
        .rev()
        .map(|extent| {
            let at = left % extent;
            left /= extent;
            at
        })
        .collect();
    point.reverse();
    point
}

#[test]
fn parts_give_what_the_whole_gives() {
    for mut case in cases() {
        let name = case.whole.spec.name.to_string();
        assert!(case.parts.len() > 1, "{name} is in parts");
        assert_eq!(case.wrong(), None, "{name}");
        case.parts.swap(0, 1);
        assert!(case.wrong().is_some(), "{name}: its parts run in another order");
    }
}

#[test]
fn what_the_spec_has_exact_is_not_rounded() {
    let mut seen = 0;
    for mut case in cases() {
        let exact = |place: &Place| matches!(place, Place::Temp(t) if case.whole.schedule.temps.get(*t).is_none_or(|temp| temp.may_round.is_none()));
        let mut rounded = false;
        for part in &mut case.parts {
            let passed =
                part.plan.spec.tensors.iter_mut().zip(&part.places).filter(|(_, place)| exact(place));
            passed.for_each(|(tensor, _)| (tensor.dtype, rounded) = (DType::Bf16, true));
        }
        seen += usize::from(rounded);
        assert_eq!(case.wrong().is_some(), rounded, "{}", case.whole.spec.name);
    }
    assert!(seen >= 4, "{seen} kernels pass exact values on");
}

#[test]
fn what_passes_is_not_exchanged() {
    let mut case = cases()
        .into_iter()
        .find(|case| case.whole.spec.name.as_str() == "batch_norm_softmax")
        .expect("it is there");
    let last = case.parts.last_mut().expect("parts");
    let tensors = &last.plan.spec.tensors;
    let of_columns = |at: &usize| matches!(last.places[*at], Place::Temp(_)) && tensors[*at].dims.len() == 1;
    let temps: Vec<usize> = (0..tensors.len()).filter(of_columns).collect();
    let [mean, variance, ..] = temps.as_slice() else { panic!("{:?}", last.places) };
    last.places.swap(*mean, *variance);
    assert!(case.wrong().is_some(), "mean and variance exchanged");
}
