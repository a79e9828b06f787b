//! Sweeps: constants of a text for which `// sweep: TILE_M = 64 | 128` gives several values. From one text it makes one text a
//! point, in which the line is a definition and the contract has numbers. What a point is worth is for others to say.

use super::Problem;
use super::header;

/// Points of a text, at most.
const POINTS_MAX: usize = 24;
/// The largest value: what an `int` holds.
const VALUE_MAX: i64 = i32::MAX as i64;
const FORM: &str =
    "a sweep is `// sweep: TILE_M = 64 | 128`: a name in capitals, and values from 0 to 2147483647";

/// One choice of values, and the text with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Each constant with its value, in the order of the text.
    pub(super) values: Vec<(String, i64)>,
    /// Has as many lines as the text that it is made of.
    pub(super) text: String,
    /// The contract, where that is a text of its own.
    pub(super) contract: Option<String>,
}

/// A line that gives a constant its values.
struct Sweep {
    line: usize,
    name: String,
    values: Vec<i64>,
}

/// The line of the first sweep, from 1.
pub(super) fn first(text: &str) -> Option<usize> {
    text.lines().position(|line| written(line).is_some()).map(|at| at + 1)
}

/// Every point, the last constant's values first; the text alone where it sweeps nothing.
///
/// # Errors
/// Sweeps that are not of the form, stand in or above the contract, or make too many points.
pub(super) fn points(text: &str, contract: Option<&str>) -> Result<Vec<Point>, Vec<Problem>> {
    let sweeps = sweeps(text)?;
    let count = sweeps.iter().try_fold(1_usize, |all, sweep| all.checked_mul(sweep.values.len()));
    if count.is_none_or(|count| count > POINTS_MAX) {
        let counts: Vec<String> = sweeps.iter().map(|sweep| sweep.values.len().to_string()).collect();
        let message = format!("{} points; a text has at most {POINTS_MAX}", counts.join(" x "));
        return Err(vec![Problem { line: sweeps.first().map(|sweep| sweep.line), message }]);
    }
    let mut choices = vec![Vec::new()];
    for sweep in &sweeps {
        let with = |choice: &Vec<i64>, value: &i64| [choice.as_slice(), &[*value]].concat();
        choices = choices.iter().flat_map(|c| sweep.values.iter().map(move |v| with(c, v))).collect();
    }
    Ok(choices.iter().map(|choice| point(&sweeps, choice, text, contract)).collect())
}

/// What stands behind `// sweep:`.
fn written(line: &str) -> Option<&str> {
    line.trim().strip_prefix("//")?.trim_start().strip_prefix("sweep:")
}

/// Lines down to the contract's last, which a sweep ends; none where no comment at the top holds a contract.
fn contract_lines(text: &str) -> usize {
    let Some(block) = header::split(text).0 else { return 0 };
    let is_contract = |line: &&str| !line.trim_start().starts_with("sweep:");
    block.line - 1 + block.toml.lines().take_while(is_contract).count()
}

fn sweeps(text: &str) -> Result<Vec<Sweep>, Vec<Problem>> {
    let contract = contract_lines(text);
    let (mut sweeps, mut problems) = (Vec::new(), Vec::new());
    for (line, written) in (1..).zip(text.lines()).filter_map(|(at, line)| Some((at, written(line)?))) {
        let read = if line <= contract {
            Err("a sweep stands below the contract: move this line there".to_owned())
        } else {
            sweep(&sweeps, line, written)
        };
        match read {
            Ok(sweep) => sweeps.push(sweep),
            Err(message) => problems.push(Problem { line: Some(line), message }),
        }
    }
    if problems.is_empty() { Ok(sweeps) } else { Err(problems) }
}

fn sweep(before: &[Sweep], line: usize, written: &str) -> Result<Sweep, String> {
    let (name, values) = written.split_once('=').ok_or(FORM)?;
    let (name, form) = (name.trim(), || FORM.to_owned());
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        return Err(form());
    }
    if name == "ENTRY" {
        return Err("`ENTRY` stands for the symbol: give the constant another name".to_owned());
    }
    if before.iter().any(|sweep| sweep.name == name) {
        return Err(format!("`{name}` is swept twice"));
    }
    let value = |text: &str| text.trim().parse().ok().filter(|value| (0..=VALUE_MAX).contains(value));
    let values: Vec<i64> = values.split('|').map(value).collect::<Option<_>>().ok_or_else(form)?;
    let is_twice = |at: usize| values[..at].contains(&values[at]);
    if let Some(at) = (0..values.len()).find(|at| is_twice(*at)) {
        return Err(format!("`{name}` has the value {} twice", values[at]));
    }
    Ok(Sweep { line, name: name.to_owned(), values })
}

fn point(sweeps: &[Sweep], choice: &[i64], text: &str, contract: Option<&str>) -> Point {
    let values: Vec<(String, i64)> =
        sweeps.iter().zip(choice).map(|(sweep, value)| (sweep.name.clone(), *value)).collect();
    let of_contract = contract_lines(text);
    let line = |(number, line): (usize, &str)| {
        if number <= of_contract {
            return put(line, &values);
        }
        match sweeps.iter().zip(choice).find(|(sweep, _)| sweep.line == number) {
            Some((sweep, value)) => {
                let end = if line.ends_with('\n') { "\n" } else { "" };
                format!("constexpr int {} = {value};{end}", sweep.name)
            }
            None => line.to_owned(),
        }
    };
    let contract = contract.map(|contract| put(contract, &values));
    Point { text: (1..).zip(text.split_inclusive('\n')).map(line).collect(), values, contract }
}

/// The text with a number for each constant that stands in it as a whole word.
fn put(text: &str, values: &[(String, i64)]) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut made, mut rest) = (String::new(), text);
    while let Some(begin) = rest.find(is_word) {
        let (before, from) = rest.split_at(begin);
        let (word, after) = from.split_at(from.find(|c| !is_word(c)).unwrap_or(from.len()));
        let value = values.iter().find(|(name, _)| name == word);
        made.push_str(before);
        made.push_str(&value.map_or_else(|| word.to_owned(), |(_, value)| value.to_string()));
        rest = after;
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::{Point, first, points};

    const TEXT: &str = "\
// contract:
// steps = [{ entry = '@ENTRY@', grid = ['ceil_div(m, TILE_M)'], block = [THREADS], args = ['ptr(x)'] }]
// tiles = { m = [TILE_M] }
// sweep: TILE_M = 64 | 128
  // sweep: THREADS = 128|256|512
int of_TILE_M = TILE_M;
";

    fn of(text: &str) -> Result<Vec<Point>, Vec<String>> {
        let told = |problems: Vec<super::Problem>| problems.iter().map(ToString::to_string).collect();
        points(text, None).map_err(told)
    }

    #[test]
    fn each_point_has_its_numbers_and_every_line_its_place() {
        let points = of(TEXT).expect("right");
        let values: Vec<[i64; 2]> =
            points.iter().map(|point| [point.values[0].1, point.values[1].1]).collect();
        assert_eq!(values, [[64, 128], [64, 256], [64, 512], [128, 128], [128, 256], [128, 512]]);
        let made = "\
// contract:
// steps = [{ entry = '@ENTRY@', grid = ['ceil_div(m, 128)'], block = [256], args = ['ptr(x)'] }]
// tiles = { m = [128] }
constexpr int TILE_M = 128;
constexpr int THREADS = 256;
int of_TILE_M = TILE_M;
";
        assert_eq!(points[4].text, made);
        assert_eq!(first(TEXT), Some(4));
    }

    #[test]
    fn a_text_that_sweeps_nothing_is_its_one_point() {
        let text = "// contract:\n// steps = []\nint a; // no sweep: TILE_M\n";
        let only = Point { values: Vec::new(), text: text.to_owned(), contract: None };
        assert_eq!((of(text), first(text)), (Ok(vec![only]), None));
    }

    #[test]
    fn a_contract_apart_has_the_numbers_too() {
        let text = "// sweep: T = 2 | 4\nint a;\n";
        let made = points(text, Some("block = [T] # T_ and T")).expect("right");
        let contracts: Vec<&str> = made.iter().filter_map(|point| point.contract.as_deref()).collect();
        assert_eq!(contracts, ["block = [2] # T_ and 2", "block = [4] # T_ and 4"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let told = |from: &str, to: &str| of(&TEXT.replacen(from, to, 1)).expect_err("wrong").join("; ");
        assert!(told("64 | 128", "64 | x").starts_with("line 4: a sweep is"));
        assert!(told("64 | 128", "64, 128").starts_with("line 4: a sweep is"));
        assert!(told("64 | 128", "64 | -1").starts_with("line 4: a sweep is"));
        assert!(told("64 | 128", "64 | 64").contains("`TILE_M` has the value 64 twice"));
        assert!(told("TILE_M = 64", "tile = 64").starts_with("line 4: a sweep is"));
        assert!(told("sweep: TILE_M", "sweep: ENTRY").contains("`ENTRY` stands for the symbol"));
        assert!(told("sweep: TILE_M", "sweep: THREADS").starts_with("line 5: `THREADS` is swept twice"));
        assert!(
            told("128|256|512", "1|2|3|4|5|6|7|8|9|10|11|12|13")
                .contains("2 x 13 points; a text has at most 24")
        );
        let above = format!("// sweep: A = 1 | 2\n{TEXT}");
        assert!(of(&above).expect_err("above").join("; ").starts_with("line 1: a sweep stands below"));
    }
}
