//! The roofline plot of a target: what was timed, under the ceilings of its device. Pure.

use std::collections::BTreeMap;

use cutegen_build::plan::device_model::{DeviceModel, Unit};
use cutegen_build::plan::roofline;

use super::gather::{Entry, Spot};
use super::html::{Scale, at, powers, target, text};
use crate::check::table::digits;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 430.0;
/// Left, right, top and bottom of the plot's area.
const AREA: (f64, f64, f64, f64) = (56.0, 744.0, 30.0, 380.0);
/// How far apart two numbers must be to be read.
const APART: (f64, f64) = (15.0, 11.0);

/// Shares of bytes that are read: the drawn ceiling is that of reads alone, the highest.
const READS: f64 = 1.0;
const COPY: f64 = 0.5;

/// A numbered point.
struct Point<'a> {
    entry: &'a Entry,
    spot: &'a Spot,
}

/// The scales of a plot.
struct Plot {
    x: Scale,
    y: Scale,
    ends: [(f64, f64); 2],
}

/// Plot, legend and table of one target; nothing where nothing was timed. What only moves bytes stands in the table alone, at
/// its end: a logarithm has no place for it.
pub(super) fn section(entries: &[&Entry]) -> Option<String> {
    let timed = entries
        .iter()
        .flat_map(|entry| entry.spots.iter().map(|spot| Point { entry, spot }))
        .filter(|point| point.spot.micros > 0.0);
    let (points, moves): (Vec<Point<'_>>, Vec<Point<'_>>) =
        timed.partition(|point| point.spot.intensity() > 0.0);
    let plan = &points.iter().chain(&moves).next()?.entry.plan;
    let ceilings = DeviceModel::of(&plan.target);
    let name = plan.target.to_string();
    let about = match &ceilings {
        Some(ceilings) => format!(
            "Ceilings of an {}: memory as measured, {} TB/s of reads alone, {} with one for each write; operations as \
             measured in bursts, else by the data sheet. Bytes are counted once each, so that what stays in a cache may lie \
             above.",
            text(ceilings.device),
            digits(ceilings.bytes_per_s(READS) / 1e12),
            digits(ceilings.bytes_per_s(COPY) / 1e12)
        ),
        None => "There are no ceilings on record for this target, so points stand alone.".to_owned(),
    };
    let families = families(&points);
    let plot = if points.is_empty() {
        String::new()
    } else {
        format!("<div class=\"plot\">{}</div>{}", drawing(&points, ceilings, &families), legend(&families))
    };
    let all: Vec<Point<'_>> = points.into_iter().chain(moves).collect();
    Some(format!("<section><h3>{}</h3><p>{about}</p>{plot}{}</section>\n", text(target(&name)), table(&all)))
}

/// The families that are plotted, in the order of their colours, which are the same in every plot.
fn families(points: &[Point<'_>]) -> Vec<(usize, &'static str)> {
    const ALL: [&str; 6] = ["contraction", "elementwise", "rowwise", "scan", "window", "general"];
    let has = |name: &str| points.iter().any(|point| point.entry.plan.family.name() == name);
    ALL.into_iter().enumerate().filter(|(_, name)| has(name)).collect()
}

fn drawing(points: &[Point<'_>], ceilings: Option<&DeviceModel>, families: &[(usize, &str)]) -> String {
    let units = units(points);
    let plot = Plot::around(points, ceilings, &units);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"operations a second over operations a byte, \
         both logarithmic\">"
    );
    svg += &plot.grid();
    if let Some(ceilings) = ceilings {
        svg += &plot.ceilings(ceilings, &units);
    }
    let is_clear = |spot| ceilings.is_none_or(|ceilings| plot.is_clear(ceilings, &units, spot));
    svg += &plot.points(points, families, is_clear);
    svg + "</svg>"
}

/// What computes the plotted kernels, with the number of them.
fn units(points: &[Point<'_>]) -> BTreeMap<&'static str, Unit> {
    let unit = |point: &Point<'_>| roofline::unit(&point.entry.plan);
    points.iter().map(|point| (words(unit(point)), unit(point))).collect()
}

fn words(unit: Unit) -> &'static str {
    match unit {
        Unit::VectorF32 => "scalar cores, f32",
        Unit::VectorF64 => "scalar cores, f64",
        Unit::TensorHalf => "tensor cores, 16 bits",
        Unit::TensorTf32 => "tensor cores, TF32",
        Unit::TensorF8 => "tensor cores, 8-bit floats",
        Unit::TensorI8 => "tensor cores, 8-bit integers",
        Unit::TensorF64 => "tensor cores, f64",
    }
}

impl Plot {
    /// Whole decades around all points and ceilings.
    fn around(points: &[Point<'_>], ceilings: Option<&DeviceModel>, units: &BTreeMap<&str, Unit>) -> Self {
        let mut xs: Vec<f64> = points.iter().map(|point| point.spot.intensity()).collect();
        let mut ys: Vec<f64> = points.iter().map(|point| point.spot.flops_per_s()).collect();
        for unit in units.values() {
            let Some(ceilings) = ceilings else { continue };
            ys.push(ceilings.flops_per_s(*unit));
            xs.push(ceilings.flops_per_s(*unit) / ceilings.bytes_per_s(READS) * 2.0);
        }
        let ends = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(0.0, f64::max);
            let decades = powers(10.0, low / 1.3, high * 1.3);
            (decades[0], decades[decades.len() - 1])
        };
        let ends = [ends(&xs), ends(&ys)];
        let (left, right, top, bottom) = AREA;
        Self { x: Scale::new(ends[0], (left, right)), y: Scale::new(ends[1], (bottom, top)), ends }
    }

    fn grid(&self) -> String {
        let (left, right, top, bottom) = AREA;
        let mut svg = String::new();
        for value in powers(10.0, self.ends[0].0, self.ends[0].1) {
            let x = at(self.x.at(value));
            svg += &format!("<line class=\"grid\" x1=\"{x}\" y1=\"{top}\" x2=\"{x}\" y2=\"{bottom}\"/>");
            let (y, label) = (at(bottom + 18.0), plain(value));
            svg += &format!("<text class=\"tick\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>");
        }
        for value in powers(10.0, self.ends[1].0, self.ends[1].1) {
            let y = self.y.at(value);
            let (line, label) = (at(y), decade(value));
            svg +=
                &format!("<line class=\"grid\" x1=\"{left}\" y1=\"{line}\" x2=\"{right}\" y2=\"{line}\"/>");
            let (x, y) = (at(left - 8.0), at(y + 4.0));
            svg += &format!("<text class=\"tick\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{label}</text>");
        }
        svg += "<text class=\"axis\" x=\"2\" y=\"14\">operations a second</text>";
        let (middle, below) = (at(f64::midpoint(left, right)), at(HEIGHT - 12.0));
        svg += &format!(
            "<text class=\"axis\" x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">operations a byte</text>"
        );
        svg
    }

    /// A line up the slope of the memory's rate, and one across for each unit.
    fn ceilings(&self, ceilings: &DeviceModel, units: &BTreeMap<&'static str, Unit>) -> String {
        let rate = ceilings.bytes_per_s(READS);
        let top = units.values().map(|unit| ceilings.flops_per_s(*unit)).fold(0.0, f64::max);
        let first = (self.ends[0].0).max(self.ends[1].0 / rate);
        let mut svg = self.line((first, first * rate), (top / rate, top));
        let (foot, label) = ((first * (top / rate / first).powf(0.28)), digits(rate / 1e12));
        let (x, y) = (self.x.at(foot), self.y.at(foot * rate));
        let slope = self.slope();
        svg += &format!(
            "<text class=\"ceiling-name\" transform=\"translate({} {}) rotate({})\">{label} TB/s</text>",
            at(x - 4.0),
            at(y - 7.0),
            at(slope)
        );
        for (name, unit) in units {
            let flops = ceilings.flops_per_s(*unit);
            svg += &self.line((flops / rate, flops), (self.ends[0].1, flops));
            let (x, y) = (at(AREA.1 - 4.0), at(self.y.at(flops) - 6.0));
            let (name, tera) = (text(name), digits(flops / 1e12));
            svg += &format!(
                "<text class=\"ceiling-name\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{name}: {tera} TFLOP/s</text>"
            );
        }
        svg
    }

    /// Degrees by which a line of slope one falls on the drawing.
    fn slope(&self) -> f64 {
        let (one, ten) = (self.ends[0].0, self.ends[0].0 * 10.0);
        let run = self.x.at(ten) - self.x.at(one);
        let rise = self.y.at(self.ends[1].0 * 10.0) - self.y.at(self.ends[1].0);
        rise.atan2(run).to_degrees()
    }

    fn line(&self, from: (f64, f64), to: (f64, f64)) -> String {
        let [x1, x2] = [from.0, to.0].map(|x| at(self.x.at(x)));
        let [y1, y2] = [from.1, to.1].map(|y| at(self.y.at(y)));
        format!("<line class=\"ceiling\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
    }

    /// Whether a number stands clear of every ceiling, and of what is written above it.
    fn is_clear(&self, ceilings: &DeviceModel, units: &BTreeMap<&str, Unit>, (x, y): (f64, f64)) -> bool {
        let (rate, fall) = (ceilings.bytes_per_s(READS), self.slope().to_radians().tan());
        let first = (self.ends[0].0).max(self.ends[1].0 / rate);
        let (left, foot) = (self.x.at(first), self.y.at(first * rate));
        let flat: Vec<f64> = units.values().map(|unit| self.y.at(ceilings.flops_per_s(*unit))).collect();
        let passes = |line: f64| y - 12.0 > line || y < line - 28.0;
        [x - 7.0, x + 7.0].into_iter().all(|x| passes(foot + (x - left) * fall))
            && flat.into_iter().all(passes)
    }

    fn points(
        &self,
        points: &[Point<'_>],
        families: &[(usize, &str)],
        is_clear: impl Fn((f64, f64)) -> bool,
    ) -> String {
        let places: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (self.x.at(point.spot.intensity()), self.y.at(point.spot.flops_per_s())))
            .collect();
        let numbers = labels(&places, is_clear);
        let mut svg = String::new();
        for (number, (point, (x, y))) in points.iter().zip(&places).enumerate() {
            let family = point.entry.plan.family.name();
            let colour = families.iter().find(|(_, name)| *name == family).map_or(0, |(colour, _)| *colour);
            svg += &format!(
                "<circle class=\"c{colour}\" cx=\"{}\" cy=\"{}\" r=\"5\"><title>{}</title></circle>",
                at(*x),
                at(*y),
                text(format!("{} {}: {}", point.entry.plan.spec.name, point.spot.at, achieved(point.spot)))
            );
            let Some((x, y)) = numbers[number] else { continue };
            let (x, y, number) = (at(x), at(y), number + 1);
            svg +=
                &format!("<text class=\"number\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{number}</text>");
        }
        svg
    }
}

/// Where the numbers of points stand: beside them where there is room, clear of the ceilings if that can be, else nowhere;
/// the table has them all.
fn labels(places: &[(f64, f64)], is_clear: impl Fn((f64, f64)) -> bool) -> Vec<Option<(f64, f64)>> {
    const AROUND: [(f64, f64); 6] =
        [(11.0, -5.0), (11.0, 12.0), (-11.0, -5.0), (-11.0, 12.0), (0.0, -9.0), (0.0, 17.0)];
    let mut taken: Vec<(f64, f64)> = places.iter().map(|(x, y)| (*x, y + 4.0)).collect();
    let mut found = Vec::new();
    for (x, y) in places {
        let is_free = |spot: &(f64, f64)| {
            taken.iter().all(|other| {
                (spot.0 - other.0).abs() >= APART.0 * 0.7 || (spot.1 - other.1).abs() >= APART.1 * 0.8
            })
        };
        let free: Vec<_> = AROUND.iter().map(|(dx, dy)| (x + dx, y + dy)).filter(is_free).collect();
        let label = free.iter().find(|spot| is_clear(**spot)).or(free.first()).copied();
        taken.extend(label);
        found.push(label);
    }
    found
}

fn legend(families: &[(usize, &str)]) -> String {
    let item = |(colour, name): &(usize, &str)| {
        format!(
            "<span><svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><circle class=\"c{colour}\" cx=\"6\" cy=\"6\" r=\"5\"/></svg>{}</span>",
            text(name)
        )
    };
    format!("<p class=\"legend\">{}</p>", families.iter().map(item).collect::<String>())
}

fn table(points: &[Point<'_>]) -> String {
    let row = |(index, point): (usize, &Point<'_>)| {
        let (spot, spec) = (point.spot, &point.entry.plan.spec);
        let of_roof =
            spot.roof.map_or_else(|| "–".to_owned(), |roof| format!("{:.0} %", 100.0 * roof / spot.micros));
        let cells = [digits(spot.intensity()), digits(spot.micros), rate_of(spot), of_roof];
        let numbers: String =
            cells.iter().map(|cell| format!("<td class=\"n\">{}</td>", text(cell))).collect();
        format!(
            "<tr><td class=\"n\">{}</td><th scope=\"row\">{}</th><td>{}</td><td>{}</td>{numbers}</tr>\n",
            index + 1,
            text(&spec.name),
            text(&spot.at),
            text(&spot.variant)
        )
    };
    let rows: String = points.iter().enumerate().map(row).collect();
    format!(
        "<details><summary>{} points as a table</summary><div class=\"wide\"><table><thead><tr><th class=\"n\">#</th>\
         <th>kernel</th><th>at</th><th>variant</th><th class=\"n\">flop/B</th><th class=\"n\">us</th><th class=\"n\">rate</th>\
         <th class=\"n\">of roof</th></tr></thead><tbody>{rows}</tbody></table></div></details>",
        points.len()
    )
}

/// `3.91 TB/s, 24.1 us, 94 % of the roof`
fn achieved(spot: &Spot) -> String {
    let roof = spot.roof.map(|roof| format!(", {:.0} % of the roof", 100.0 * roof / spot.micros));
    format!("{}, {} us{}", rate_of(spot), digits(spot.micros), roof.unwrap_or_default())
}

/// Bytes a second, and operations a second where there are more than ten a byte.
fn rate_of(spot: &Spot) -> String {
    if spot.intensity() > 10.0 { rate(spot.flops_per_s()) } else { unit(spot.bytes_per_s(), "B/s") }
}

fn rate(flops: f64) -> String {
    unit(flops, "FLOP/s")
}

fn unit(value: f64, unit: &str) -> String {
    match value {
        v if v >= 1e12 => format!("{} T{unit}", digits(v / 1e12)),
        v if v >= 1e9 => format!("{} G{unit}", digits(v / 1e9)),
        v => format!("{} M{unit}", digits(v / 1e6)),
    }
}

/// A power of ten of operations a second, `100 G`.
fn decade(value: f64) -> String {
    match value {
        v if v >= 0.99e12 => format!("{:.0} T", v / 1e12),
        v if v >= 0.99e9 => format!("{:.0} G", v / 1e9),
        v => format!("{:.0} M", v / 1e6),
    }
}

/// A power of ten as written by hand.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

#[cfg(test)]
mod tests {
    use super::{decade, labels, plain};

    #[test]
    fn numbers_do_not_cover_one_another() {
        let crowd: Vec<(f64, f64)> =
            (0..30).map(|at| (100.0 + f64::from(at % 6), 100.0 + f64::from(at / 6))).collect();
        let found = labels(&crowd, |_| true);
        assert!(found[0].is_some() && found.iter().any(Option::is_none), "some have no room");
        let placed: Vec<(f64, f64)> = found.into_iter().flatten().collect();
        for (at, one) in placed.iter().enumerate() {
            let apart = |other: &(f64, f64)| (one.0 - other.0).abs() > 10.0 || (one.1 - other.1).abs() > 8.0;
            assert!(placed[at + 1..].iter().all(apart), "{placed:?}");
        }
        let two = [(100.0, 100.0), (300.0, 100.0)];
        assert_eq!(labels(&two, |_| true), [Some((111.0, 95.0)), Some((311.0, 95.0))]);
        assert_eq!(
            labels(&two, |(x, y)| x > 200.0 || y > 100.0),
            [Some((111.0, 112.0)), Some((311.0, 95.0))]
        );
        assert_eq!(labels(&two, |_| false)[0], Some((111.0, 95.0)), "beside a line rather than nowhere");
    }

    #[test]
    fn decades_are_short() {
        assert_eq!([1e8, 1e9, 1e11, 1e12].map(decade), ["100 M", "1 G", "100 G", "1 T"]);
        assert_eq!([0.1, 1.0, 1000.0].map(plain), ["0.1", "1", "1000"]);
    }
}
