//! The gate's kernels that draw inputs, run on the host: byte by byte what `inputs.rs` draws, nothing beside it, and
//! rounded as `element.rs` rounds, which drawn values hardly tell. It must not know how either draws.

use std::ffi::c_void;

use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::judge::inputs::{Request, draw};
use cutegen_build::evaluate::{Distribution, KERNELS, drawing};
use cutegen_spec::dtype::DType;
use libloading::os::unix::Library;

use super::pieces::{Launch, object_of};

const FLOATS: [DType; 6] = [DType::F64, DType::F32, DType::F16, DType::Bf16, DType::F8e4m3, DType::F8e5m2];

/// Elements that a thread draws.
const PIECE: usize = 1 << 16;

/// Elements and rows: less than a piece, with and without several rows, and single rows around where all that is special
/// stands in one.
const SHORT: [(usize, usize); 8] =
    [(1, 1), (3, 3), (19, 19), (20, 20), (101, 101), (24, 1), (4000, 40), (108 * 37, 37)];

/// A piece, and several with a ragged end: rows that divide one, that do not, that are longer, and a single one.
const LONG: [(usize, usize); 6] = [
    (PIECE, 256),
    (PIECE, PIECE),
    (3 * PIECE + 832, 64),
    (197 * 1001, 1001),
    (3 * 70_000, 70_000),
    (3 * PIECE + 777, 3 * PIECE + 777),
];

/// Of so many inputs one is chosen.
const INPUTS: usize = 3;

/// What no kernel has written.
const POISON: u8 = 0xee;
static UNTOUCHED: [u8; BEHIND] = [POISON; BEHIND];

/// More than a piece takes.
const BEHIND: usize = 8 * PIECE + 64;

/// Memory that is drawn into. More than a piece lies behind it, so that who writes on is found and harms nothing else.
struct Memory {
    all: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Memory {
    fn new(bytes: usize) -> Self {
        let all = vec![POISON; bytes + BEHIND];
        let start = all.as_ptr().align_offset(16) + 8; // aligned for no more than an f64
        Self { all, start, bytes }
    }

    fn at(&mut self) -> u64 {
        self.all[self.start..].as_mut_ptr() as u64
    }

    fn held(&self) -> &[u8] {
        &self.all[self.start..][..self.bytes]
    }

    fn is_alone(&self) -> bool {
        let (before, behind) = (&self.all[..self.start], &self.all[self.start + self.bytes..]);
        [before, behind].iter().all(|around| **around == UNTOUCHED[..around.len()])
    }
}

/// Parameters of a kernel.
fn parameters(entry: &str) -> usize {
    let (_, list) = KERNELS.split_once(&format!(" {entry}(")).expect("a kernel");
    list.split(')').next().expect("a list").split(',').count()
}

fn launch(object: &Library, entry: &str, mut words: Vec<u64>) {
    assert_eq!(words.len(), parameters(entry), "words of {entry}");
    let mut args: Vec<*mut c_void> = words.iter_mut().map(|word| (&raw mut *word).cast()).collect();
    // SAFETY: our own text, as many words as it takes, and live memory
    unsafe {
        let launch = object.get::<Launch>(format!("launch_{entry}").as_bytes()).expect("it is there");
        // fewer threads than pieces
        launch(args.as_mut_ptr(), 2, 1);
    }
}

/// The first difference to what the host draws.
fn difference(object: &Library, distribution: Distribution, request: &Request) -> Option<String> {
    let wanted = draw(distribution, request).expect("floats have no range");
    let mut memory = Memory::new(wanted.len());
    for drawing in drawing(distribution, request, memory.at()) {
        launch(object, drawing.entry(), drawing.words());
    }
    let Request { dtype, elements, row, position, .. } = *request;
    let about = format!("{distribution} {dtype}, {elements} in rows of {row}, input {position}");
    if memory.held() != wanted {
        let value = |bytes, i| element::read(dtype, bytes, i);
        let differs =
            |i: &usize| element::bits(dtype, memory.held(), *i) != element::bits(dtype, &wanted, *i);
        let first = (0..elements).find(differs).expect("one differs");
        let (is, want) = (value(memory.held(), first), value(&wanted, first));
        return Some(format!("{about}: element {first} is {is:e} in place of {want:e}"));
    }
    (!memory.is_alone()).then(|| format!("{about}: its neighbour is written"))
}

fn request(dtype: DType, (elements, row): (usize, usize), (seed, position): (u64, usize)) -> Request {
    // more terms than wide integers may have
    Request {
        seed,
        position,
        inputs: INPUTS,
        dtype,
        elements,
        row,
        terms: 200,
        most: i64::MAX,
        range: None,
        is_unique: false,
    }
}

/// The first difference of all that is drawn at these shapes, each as so many types in turn.
fn drawn_otherwise(object: &Library, shapes: &[(usize, usize)], types: usize) -> Option<String> {
    let seeded = |(number, shape)| (0..INPUTS).map(move |position| (shape, (number as u64, position)));
    let inputs: Vec<_> = shapes.iter().copied().enumerate().flat_map(seeded).collect();
    let mut turn = FLOATS.into_iter().cycle();
    let mut each = |distribution, (shape, seeded)| {
        let mut types = turn.by_ref().take(types);
        types.find_map(|dtype| difference(object, distribution, &request(dtype, shape, seeded)))
    };
    Distribution::ALL.into_iter().find_map(|d| inputs.iter().find_map(|input| each(d, *input)))
}

/// Values at which rounding to a type goes wrong if it does: its own, ties between them and what lies beside these, and
/// those beyond its ends.
fn telling(dtype: DType) -> Vec<f64> {
    let magnitudes = 1_u64 << (dtype.bits() - 1);
    let value = |word| {
        let mut bytes = [0; 8];
        element::put_bits(dtype, &mut bytes, 0, word);
        element::read(dtype, &bytes, 0)
    };
    let around = |word| {
        let (own, next) = (value(word), value(word + 1));
        let tie = own / 2.0 + next / 2.0;
        [own, tie, tie.next_down(), tie.next_up()]
    };
    let words = (0..magnitudes - 1).step_by((magnitudes / 300) as usize | 1);
    let end = element::overflow_threshold(dtype);
    let ends = [end, end.next_down(), dtype.max_finite(), f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)];
    let small = (1..8).flat_map(|n| [dtype.underflow() * f64::from(n), dtype.underflow() / f64::from(n)]);
    let all = words.flat_map(around).chain(ends).chain(small).filter(|value| !value.is_nan());
    all.flat_map(|value| [value, -value]).collect()
}

/// The first value that is stored otherwise than on the host: each is planted in place of a subnormal.
fn stored_otherwise(object: &Library, dtype: DType) -> Option<String> {
    let request = request(dtype, (5, 1), (0, 0));
    let mut wanted = draw(Distribution::Specials, &request).expect("floats have no range");
    let is_it = |i: &usize| element::read(dtype, &wanted, *i) == dtype.underflow() * 4.0;
    let place = (0..5).find(is_it).expect("all are planted");
    let mut memory = Memory::new(wanted.len());
    let plant = drawing(Distribution::Specials, &request, memory.at()).pop().expect("two");
    let mut differs = |value: &f64| {
        let mut words = plant.words();
        *words.last_mut().expect("words") = value.to_bits();
        launch(object, plant.entry(), words);
        element::write(dtype, &mut wanted, place, *value);
        memory.held() != wanted
    };
    let found = telling(dtype).into_iter().find(|value| differs(value));
    found.map(|value| format!("{value:e} is stored otherwise as {dtype}"))
}

fn difference_of(kernels: &str) -> Option<String> {
    let object = object_of(kernels);
    let stored = || FLOATS.into_iter().find_map(|dtype| stored_otherwise(&object, dtype));
    let short = drawn_otherwise(&object, &SHORT, FLOATS.len());
    short.or_else(stored).or_else(|| drawn_otherwise(&object, &LONG, 1))
}

pub(crate) fn agree() {
    assert_eq!(difference_of(KERNELS), None);
}

/// A fault in the kernels: what stands there, and what instead.
const PLANTED: [(&str, &str); 12] = [
    ("(rest == half && kept & 1)", "rest == half"),
    ("low > 53", "low > 52"),
    ("0x7e)); return;", "0x7f)); return;"),
    ("mix(distribution ^ mix(piece))", "mix(distribution ^ piece)"),
    ("n < (piece + 1) * piece_elements ? n :", ""),
    ("u64 column = piece * piece_elements % row", "u64 column = 0"),
    ("double previous = 0.0", "static double previous = 0.0"),
    ("row, previous, number", "row, 0.0, number"),
    ("? 0 : row - 1) || position", "? 0 : row - 1)"),
    ("random.unit() * number < 64.0", "false"),
    ("run < n - start ? run : n - start", "run"),
    ("(first + start / run) % turns", "(first + start) % turns"),
];

pub(crate) fn planted_faults_are_found() {
    let survives = |(right, wrong): &(&str, &str)| {
        assert!(KERNELS.contains(right), "no `{right}`");
        difference_of(&KERNELS.replacen(right, wrong, 1)).is_none()
    };
    let survivors: Vec<_> = PLANTED.iter().filter(|fault| survives(fault)).collect();
    assert!(survivors.is_empty(), "{survivors:?}");
}
