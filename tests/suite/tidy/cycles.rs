//! Which folder imports which: folders beside one another form no cycle, in any crate.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{is_test, shipped};
use super::tree::File;

/// A folder of modules by its path, and the folders beside it that its files import, each with one of those files.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

/// Folders beside one another do not import each other in a circle.
pub(super) fn folders(files: &[File]) -> Vec<String> {
    let edges = edges(files);
    let mut found = BTreeSet::new();
    for from in edges.keys() {
        if let Some(circle) = circle(&edges, from) {
            found.insert(told(&edges, &circle));
        }
    }
    found.into_iter().collect()
}

fn edges(files: &[File]) -> Edges {
    let known: BTreeSet<&str> = files.iter().flat_map(|file| ancestors(&file.path)).collect();
    let mut edges = Edges::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs") && !is_test(&file.path)) {
        let Some((root, module)) = module(&file.path) else { continue };
        for target in imports(&shipped(&file.text), &module) {
            let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            let folder = |path: &[String]| {
                let path = path.get(..=shared)?;
                let folder = format!("{root}/{}", path.join("/"));
                known.contains(folder.as_str()).then_some(folder)
            };
            if let (Some(from), Some(to)) = (folder(&module), folder(&target)) {
                edges.entry(from).or_default().entry(to).or_insert_with(|| file.path.clone());
            }
        }
    }
    edges
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The source folder of a file's crate, and the path of its module in it.
fn module(path: &str) -> Option<(String, Vec<String>)> {
    let (package, inner) = path.split_once("/src/")?;
    let mut names: Vec<String> = inner.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        names.pop();
    }
    Some((format!("{package}/src"), names))
}

/// The modules that paths from `crate` and `super` lead to, as paths from the crate's root.
fn imports(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for head in ["crate::", "super::"] {
        for (at, _) in code.match_indices(head) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$:".contains(c)) {
                continue;
            }
            found.extend(leaves(&code[at..]).into_iter().filter_map(|path| resolved(&path, module)));
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
        None => Vec::new(),
    };
    if tails.is_empty() {
        vec![vec![name]]
    } else {
        tails.into_iter().map(|tail| [vec![name.clone()], tail].concat()).collect()
    }
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

/// A way from a folder back to it, beginning with its least folder.
fn circle(edges: &Edges, start: &str) -> Option<Vec<String>> {
    let (mut open, mut seen) = (vec![vec![start.to_owned()]], BTreeSet::new());
    while let Some(way) = open.pop() {
        let last = way.last()?;
        for next in edges.get(last).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                let least = way.iter().enumerate().min_by_key(|(_, folder)| *folder)?.0;
                return Some([&way[least..], &way[..least]].concat());
            }
            if seen.insert(next.clone()) {
                open.push([way.clone(), vec![next.clone()]].concat());
            }
        }
    }
    None
}

fn told(edges: &Edges, circle: &[String]) -> String {
    let steps = circle.iter().zip(circle.iter().cycle().skip(1));
    let steps = steps.map(|(from, to)| format!("{from} imports {to} in {}", edges[from][to]));
    format!("folders in a circle: {}", steps.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_of_folders_is_found() {
        let with = |text| {
            let one = File::planted("x/src/a/mod.rs", "use crate::{b::c::D, e};\n");
            folders(&[one, File::planted("x/src/b/c.rs", text)])
        };
        for text in ["use super::super::a::F;\n", "use crate::a::F;\n", "fn f() -> crate::a::g::H {}\n"] {
            let told = "x/src/a imports x/src/b in x/src/a/mod.rs; x/src/b imports x/src/a in x/src/b/c.rs";
            assert_eq!(with(text), [format!("folders in a circle: {told}")], "{text}");
        }
        for text in ["use super::d;\n", "#[cfg(test)]\nmod tests { use crate::a::F; }\n"] {
            assert_eq!(with(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_longer_circle_below_a_folder_is_found_once() {
        let files = [("a", "b"), ("b", "c"), ("c", "a")].map(|(from, to)| {
            File::planted(&format!("x/src/top/{from}/mod.rs"), &format!("use super::{to}::T;\n"))
        });
        assert_eq!(folders(&files).len(), 1, "{:?}", folders(&files));
    }

    #[test]
    fn files_beside_one_another_are_no_folders() {
        let files = [("a", "b"), ("b", "a")]
            .map(|(from, to)| File::planted(&format!("x/src/{from}.rs"), &format!("use crate::{to}::T;\n")));
        assert_eq!(folders(&files), [""; 0]);
    }
}
