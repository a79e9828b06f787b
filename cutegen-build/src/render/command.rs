//! Commands in messages. Stages name a kernel and a verb; whoever prints knows which project that was, and puts it on the
//! command, so that the command works where it is read.

const COMMAND: &str = "cargo cutegen ";

/// Verbs that work on a project.
const VERBS: [&str; 16] = [
    "check",
    "lock",
    "tune",
    "propose",
    "refine",
    "step",
    "replay",
    "experience",
    "mcp",
    "accept",
    "verify",
    "run",
    "bench",
    "report",
    "pack",
    "explain",
];

/// What stands before a program that a command starts: arguments behind it are the program's.
const PROGRAM: &str = " -- ";

/// Arguments that name a project already.
const NAMED: [&str; 3] = [" -p ", " --manifest-path ", " --specs "];

/// `text` with `place`, such as ` -p engine`, on every command that it names: in backquotes, or to the end of a line.
#[must_use]
pub fn placed(text: &str, place: &str) -> String {
    if place.is_empty() {
        return text.to_owned();
    }
    text.split('\n').map(|line| placed_line(line, place)).collect::<Vec<_>>().join("\n")
}

fn placed_line(line: &str, place: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(COMMAND) {
        let (before, command) = rest.split_at(at);
        let end = [" && ", "`"].iter().filter_map(|end| command.find(end)).min().unwrap_or(command.len());
        let (command, behind) = command.split_at(end);
        let (own, program) = command.split_at(command.find(PROGRAM).unwrap_or(command.len()));
        let place = if begins(before) && takes_place(own) { place } else { "" };
        out.extend([before, own, place, program]);
        rest = behind;
    }
    out + rest
}

/// Whether a command begins behind this: prose goes on with one that has no clear end.
fn begins(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty() || [":", "`", "&&"].iter().any(|mark| before.ends_with(mark))
}

fn takes_place(command: &str) -> bool {
    let mut words = command.split_whitespace().skip(2);
    let verb = words.next().unwrap_or_default();
    let is_code = |word: &str| word.starts_with("CG") && word[2..].chars().all(|c| c.is_ascii_digit());
    let is_about_codes = verb == "explain" && words.next().is_none_or(is_code);
    VERBS.contains(&verb) && !is_about_codes && !NAMED.iter().any(|named| command.contains(named))
}

#[cfg(test)]
mod tests {
    use super::placed;

    #[test]
    fn commands_get_the_place_where_they_end() {
        let is = |text: &str, expected: &str| {
            let text = text.replace('$', "cargo cutegen ");
            let expected = expected.replace('$', "cargo cutegen ");
            assert_eq!(placed(&text, " -p b"), expected);
            assert_eq!(placed(&text, ""), text);
        };
        is("not locked\nrun: $lock x\n  at all", "not locked\nrun: $lock x -p b\n  at all");
        is("run: $tune x && $accept x", "run: $tune x -p b && $accept x -p b");
        is("as `$lock x` does, `$accept`", "as `$lock x -p b` does, `$accept -p b`");
        is("   $verify x --record", "   $verify x --record -p b");
        is("begin one: $refine x\nthen `$step`", "begin one: $refine x -p b\nthen `$step -p b`");
        is("run: $refine x -- ask --short", "run: $refine x -p b -- ask --short");
        is("run: $explain norm", "run: $explain norm -p b");
        is("run: git checkout -- a && $check", "run: git checkout -- a && $check -p b");
    }

    #[test]
    fn what_is_about_no_project_or_names_one_stays() {
        for text in [
            "run: $toolchain show",
            "run: $explain",
            "run: $explain CG012",
            "run: $lock x -p c",
            "run: $refine x -p c -- ask",
            "run: $lock x --manifest-path a/Cargo.toml",
            "run: $check --specs a --cache b",
            "what $tune finds",
        ] {
            let text = text.replace('$', "cargo cutegen ");
            assert_eq!(placed(&text, " -p b"), text);
        }
    }
}
