//! Tensors that a user brings, on the device: what a kernel leaves and what the reference gives come back as they are.

use cutegen_build::evaluate::judge::{element, user_launch};
use cutegen_build::evaluate::{Candidate, UserLaunch};
use cutegen_spec::dtype::DType;

use crate::Test;
use crate::bench;

pub(crate) const TESTS: &[Test] = &[("user_launch::results_come_back", results_come_back)];

const AXES: [i64; 2] = [33, 65];

fn results_come_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let given = user_launch::drawn(&bench::spec(), 11, &AXES).expect("drawn");
    for (t, bytes) in given.iter().enumerate() {
        let Some(bytes) = bytes else { continue };
        std::fs::write(user_launch::given(folder.path(), t), bytes).expect("written");
    }
    let unequal = Candidate { eligibility: bench::never(), ..bench::honest() };
    let user_launch = UserLaunch {
        folder: folder.path().to_owned(),
        axes: AXES.to_vec(),
        scalars: Vec::new(),
        launches: vec![vec![unequal, bench::honest()]],
        reference: true,
    };
    let ran = bench::judge().run(&user_launch).expect("the machine works").expect("it runs");
    let launched = &ran.launched[0];
    assert_eq!(launched.variant, 1, "the first is eligible nowhere");
    let compared = launched.compared[2].expect("an output");
    let elements = (AXES[0] * AXES[1]) as usize;
    assert_eq!((compared.wrong, compared.judged, compared.not_judged), (None, elements as u64, 0));
    let read = |path| std::fs::read(path).expect("left");
    let (left, exact) =
        (read(user_launch::left(folder.path(), 0, 2)), read(user_launch::exact(folder.path(), 2)));
    let value = |t: usize, at| element::read(DType::Bf16, given[t].as_ref().expect("drawn"), at);
    for at in 0..elements {
        let (x, g) = (value(0, at), value(1, at));
        let wanted = g / (1.0 + (-g).exp()) * x;
        let (found, exact) = (element::read(DType::Bf16, &left, at), element::read(DType::F64, &exact, at));
        assert!((exact - wanted).abs() <= 1e-14 * wanted.abs(), "element {at}: {exact}, not {wanted}");
        assert!(
            (found - wanted).abs() <= 0.00393 * wanted.abs() + 1e-38,
            "element {at}: {found}, not {wanted}"
        );
    }
}
