//! Ideas in an answer: the items of a list, however it is written. An answer without a list is one idea, so that words are not lost.

use cutegen_spec::printable::printable;

use super::proposal::Problem;
use super::remarks::factor;
use crate::run_log::{Content, Idea, Sequence};

/// As many are kept of an answer.
const IDEAS_MAX: usize = 16;
/// The longest idea, in characters.
const TEXT_MAX: usize = 500;

/// Reads a list. Numbered items come before those with a bullet, which may stand below a number.
pub(super) fn read(text: &str) -> Result<Content, Vec<Problem>> {
    let lists = [items(text, numbered), items(text, bulleted), vec![paragraph(text)]];
    let ideas = lists.into_iter().map(|items| items.into_iter().filter_map(|item| idea(&item)).collect());
    let found: Option<Vec<Idea>> = ideas.into_iter().find(|ideas: &Vec<Idea>| !ideas.is_empty());
    let empty = || {
        let message = "no idea is in it: give a list with numbers, one sentence each";
        vec![Problem { line: Some(1), message: message.to_owned() }]
    };
    found.map(Content::Ideas).ok_or_else(empty)
}

/// The items of a list: a line that begins one, and the lines below it up to an empty one.
fn items(text: &str, begins: fn(&str) -> Option<&str>) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let (mut is_open, mut is_code) = (false, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            (is_code, is_open) = (!is_code, false);
        } else if let Some(item) = begins(line).filter(|_| !is_code) {
            items.push(item.to_owned());
            is_open = true;
        } else if is_open && !line.is_empty() {
            items.last_mut().into_iter().for_each(|item| *item += &format!(" {line}"));
        } else {
            is_open = false;
        }
    }
    items.truncate(IDEAS_MAX);
    items
}

/// What follows `1.`, `1)` or `Idea 1:`, in bold or not.
fn numbered(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['*', '#', ' ', '_']);
    let word = line.get(..5).filter(|word| word.eq_ignore_ascii_case("idea "));
    let line = word.map_or(line, |word| &line[word.len()..]);
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line[digits..].strip_prefix(['.', ')', ':'])?;
    let is_item = (1..=3).contains(&digits) && !rest.starts_with(|c: char| c.is_ascii_digit());
    is_item.then(|| rest.trim_start_matches(['*', '_', ' ']))
}

/// What follows a bullet.
fn bulleted(line: &str) -> Option<&str> {
    ["- ", "* ", "+ "].iter().find_map(|bullet| line.strip_prefix(bullet)).map(str::trim)
}

/// The first paragraph.
fn paragraph(text: &str) -> String {
    text.trim().lines().take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ")
}

fn idea(item: &str) -> Option<Idea> {
    let text: String = printable(&item.replace('\t', " ")).chars().take(TEXT_MAX).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_empty = !text.chars().any(char::is_alphabetic);
    (!is_empty).then(|| Idea { about: about(&text), predicted: predicted(&text), text })
}

/// The number behind the first `attempt`.
fn about(text: &str) -> Option<Sequence> {
    let number = behind(text, "attempt")?;
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    number[..end].parse().ok()
}

/// The number with an `x` behind the last `predicted`.
fn predicted(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let at = lower.rfind("predicted")?;
    let rest = behind(&text[at..], "predicted")?;
    let (number, _) = rest.split_once(['x', '×'])?;
    factor(&format!("{number}x"))
}

/// What follows a word, without the signs between.
fn behind<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let at = text.to_ascii_lowercase().find(word)?;
    let is_sign = |c: char| matches!(c, ' ' | ':' | '*' | '_' | '#' | '~' | '≈' | '=' | '(' | '`');
    Some(text[at + word.len()..].trim_start_matches(is_sign))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::run_log::{Content, Idea, Sequence};

    fn ideas(text: &str) -> Vec<(String, Option<Sequence>, Option<f64>)> {
        let Ok(Content::Ideas(ideas)) = read(text) else { return Vec::new() };
        ideas.into_iter().map(|Idea { text, about, predicted }| (text, about, predicted)).collect()
    }

    #[test]
    fn a_list_is_read_however_it_is_written() {
        let one = "attempt 4: keep a row in registers. Predicted: 1.3x".to_owned();
        let two = "stage loads in shared memory".to_owned();
        for text in [
            "Here they are.\n\n1. attempt 4: keep a row in registers. Predicted: 1.3x\n2. stage loads in shared memory\n",
            "1) attempt 4: keep a row\n   in registers. Predicted: 1.3x\n\n2) stage loads\nin shared memory\n\nThat is all.\n",
            "**Idea 1:** attempt 4: keep a row in registers. Predicted: 1.3x\n**Idea 2:** stage loads in shared memory",
            "- attempt 4: keep a row in registers. Predicted: 1.3x\n- stage loads in shared memory\n",
        ] {
            let expected = vec![(one.clone(), Some(4), Some(1.3)), (two.clone(), None, None)];
            assert_eq!(ideas(text), expected, "{text}");
        }
    }

    #[test]
    fn bullets_below_a_number_are_of_its_item_and_code_is_none() {
        let text = "1. use a ring\n- of four stages\n```\n2. not this\n```\n2. fuse both\n";
        let texts: Vec<String> = ideas(text).into_iter().map(|(text, ..)| text).collect();
        assert_eq!(texts, ["use a ring - of four stages", "fuse both"]);
        assert!(ideas("2.5x is what I hope for\n").len() == 1, "a number is no item");
    }

    #[test]
    fn words_without_a_list_are_one_idea_and_nothing_is_none() {
        assert_eq!(
            ideas("Split the sum\nin eight.\n\nMore."),
            [("Split the sum in eight.".to_owned(), None, None)]
        );
        for text in ["", " \n\n", "1.\n2.\n", "---"] {
            let problems = read(text).expect_err("nothing is in it");
            assert!(problems[0].message.contains("a list with numbers"), "{text:?}");
        }
    }

    #[test]
    fn a_prediction_and_an_attempt_are_numbers() {
        let of = |text: &str| {
            let (_, about, predicted) = ideas(&format!("1. {text}")).remove(0);
            (about, predicted)
        };
        assert_eq!(of("on attempt #12, tile (predicted ~1.50×)"), (Some(12), Some(1.5)));
        assert_eq!(of("attempt twelve, predicted much"), (None, None));
        assert_eq!(of("predicted 0x"), (None, None));
        assert_eq!(of("attempt 99999999999: a"), (None, None));
    }

    #[test]
    fn an_answer_without_end_is_cut() {
        let many: String = (0..100).map(|number| format!("{number}. {}\n", "a\u{1b}".repeat(900))).collect();
        let found = ideas(&many);
        assert_eq!(found.len(), 16);
        assert!(found.iter().all(|(text, ..)| text.chars().count() <= 500 && !text.contains('\u{1b}')));
    }
}
