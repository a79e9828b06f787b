//! Characters that no source has: those that show nothing, or show a line as another one. It names them.

use super::Problem;

/// Refuses the first such character.
pub(super) fn check(source: &str) -> Result<(), Problem> {
    for (number, line) in (1..).zip(source.split('\n')) {
        if let Some(c) = line.chars().find(|c| *c != '\t' && (is_hidden(*c) || *c == '\u{fffd}')) {
            let message = format!("{}: a source has none, so write it again without it", name(c));
            return Err(Problem { line: Some(number), message });
        }
    }
    Ok(())
}

/// Whether it shows nothing, or changes how others show.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control() || is_bidirectional(c) || is_invisible(c)
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn name(c: char) -> String {
    let kind = match c {
        '\0' => "the NUL character",
        '\u{fffd}' => "bytes that are no UTF-8, read as the replacement character",
        c if c.is_control() => "the control character",
        c if is_bidirectional(c) => "the bidirectional control",
        _ => "the invisible character",
    };
    format!("{kind} U+{:04X}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn the_first_is_refused_by_name_and_line() {
        let told = |text: &str| check(text).map_err(|problem| (problem.line, problem.message));
        assert_eq!(told("int a;\tint b; // é × → 中\n"), Ok(()));
        for (c, name) in [
            ('\0', "the NUL character U+0000"),
            ('\u{1b}', "the control character U+001B"),
            ('\r', "the control character U+000D"),
            ('\u{85}', "the control character U+0085"),
            ('\u{202e}', "the bidirectional control U+202E"),
            ('\u{2066}', "the bidirectional control U+2066"),
            ('\u{200b}', "the invisible character U+200B"),
            ('\u{e0041}', "the invisible character U+E0041"),
            ('\u{fffd}', "bytes that are no UTF-8, read as the replacement character U+FFFD"),
        ] {
            let message = format!("{name}: a source has none, so write it again without it");
            assert_eq!(told(&format!("int a;\n// {c}\nint b;\0\n")), Err((Some(2), message)));
        }
    }
}
