//! What a file imports: the module that it is, and the modules that its paths lead to.

use super::source::line_of;

/// The source folder of a file's crate, and the path of its module in it.
pub(super) fn module(path: &str) -> Option<(String, Vec<String>)> {
    let (package, inner) = path.split_once("/src/")?;
    let mut names: Vec<String> = inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    Some((format!("{package}/src"), names))
}

/// Where paths from `crate` and `super` lead, from the crate's root, each with its line. Macros lead nowhere.
pub(super) fn imports(code: &str, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for head in ["crate::", "super::"] {
        for (at, _) in code.match_indices(head) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            let paths = leaves(&code[at..]).into_iter().filter_map(|path| resolved(&path, module));
            found.extend(paths.map(|path| (line_of(code, at), path)));
        }
    }
    found
}

fn resolved(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let from = match path.first().map(String::as_str) {
        Some("crate") => return Some(path[1..].to_vec()),
        _ => module.get(..module.len().checked_sub(ups)?)?,
    };
    Some(from.iter().chain(&path[ups..]).cloned().collect())
}

/// `a::{b::c, d}` as `a::b::c` and `a::d`.
fn leaves(text: &str) -> Vec<Vec<String>> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = (text[..end].to_owned(), &text[end..]);
    let tails = match rest.strip_prefix("::") {
        Some(group) if group.starts_with('{') => elements(group).into_iter().flat_map(leaves).collect(),
        Some(tail) => leaves(tail),
        None if rest.starts_with('!') => return Vec::new(),
        None => return vec![vec![name]],
    };
    tails.into_iter().map(|tail| [vec![name.clone()], tail].concat()).collect()
}

/// Where each element of `{a, b}` starts.
fn elements(group: &str) -> Vec<&str> {
    let (mut found, mut depth) = (Vec::new(), 0);
    for (at, c) in group.char_indices() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(c, '{' | ',') {
            found.push(group[at + 1..].trim_start());
        }
    }
    found.retain(|element| !element.starts_with('}'));
    found
}
