//! Which folder imports which: folders beside one another form no cycle, in any crate.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::{imports, module};
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
        for (_, target) in imports(&shipped(&file.text), &module) {
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
