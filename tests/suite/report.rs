//! `report`: the page is whole HTML that asks nothing of a network, says what the records say, and takes hostile text for
//! text.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::Lock;
use cutegen_spec::record::{Record, Timing, incumbent};
use cutegen_tests::{cutegen, must, run, scratch, workspace, write};

const HOSTILE: &str = "<script>alert('1')</script>\"&<img src=x>";
const SEAL: &str = "# sha256 of the lines below: ";

/// An opening tag: its name and attributes.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// All tags of a page whose elements must close in order; what is escaped is text again.
fn parse(html: &str) -> Vec<Tag> {
    const VOID: [&str; 2] = ["meta", "br"];
    let body = html.strip_prefix("<!doctype html>\n").expect("a doctype");
    let (mut tags, mut open, mut rest) = (Vec::new(), Vec::new(), body);
    while let Some(at) = rest.find('<') {
        assert!(
            !rest[..at].contains('>') || open.last().is_some_and(|name| name == "style"),
            "{}",
            &rest[..at]
        );
        let end = at + tag_end(&rest[at..]);
        let inner = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = inner.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed out of order");
            continue;
        }
        let (inner, is_closed) = inner.strip_suffix('/').map_or((inner, false), |inner| (inner, true));
        let name: String = inner.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        assert!(!name.is_empty(), "a bare < before {inner}");
        let attributes = attributes(&inner[name.len()..]);
        if !is_closed && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("style ends")..];
        }
        tags.push(Tag { name, attributes });
    }
    assert_eq!(open, [] as [String; 0], "left open");
    tags
}

/// Where a tag ends, quotes apart.
fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    let end = text.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == '>' && !quoted
    });
    end.expect("a tag ends").0
}

fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some((name, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').expect("a value ends");
        found.push((name.trim().to_owned(), plain(value)));
        rest = after;
    }
    assert_eq!(rest.trim(), "", "an attribute without a quoted value");
    found
}

fn plain(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The page of a package, with more arguments.
fn report(manifest: &Path, out: &Path, more: &[&str]) -> String {
    page(out, &[&["--manifest-path", manifest.to_str().expect("text")], more].concat())
}

fn page(out: &Path, arguments: &[&str]) -> String {
    let mut command = cutegen(&workspace().join("target/suite/run-home"));
    must(command.current_dir(workspace()).args(["report", "--out"]).arg(out).args(arguments));
    fs::read_to_string(out).expect("a page")
}

/// Kernels and records of what this folder locks, in a store below it.
fn records(folder: &Path, store: &str) -> Vec<(String, PathBuf, Record)> {
    let lock =
        Lock::parse(&fs::read_to_string(folder.join("cutegen.lock")).expect("a lock")).expect("parses");
    let record = |locked: &cutegen_spec::lock::Locked| {
        let key = locked.key.to_string();
        let path = folder.join(store).join("v1").join(&key[..2]).join(&key).join("record.toml");
        let text = fs::read_to_string(&path).expect("a record");
        (locked.name.clone(), path, Record::parse(&text).expect("parses"))
    };
    lock.kernels.iter().map(record).collect()
}

/// The first variant's time at a workload.
fn time(record: &mut Record, workload: &[(&str, i64)]) {
    let workload: BTreeMap<String, i64> = workload.iter().map(|(axis, n)| ((*axis).to_owned(), *n)).collect();
    let (micros, incumbent_micros) = (2.0, Some(4.0));
    let timing = Timing {
        workload,
        micros,
        incumbent: incumbent::NAIVE.to_owned(),
        incumbent_micros,
        speedup: 2.0,
        low: 1.9,
        high: 2.1,
        samples: 30,
        ..Timing::default()
    };
    record.variants[0].evidence.as_mut().expect("judged").timings.push(timing);
}

fn reseal(path: &Path, record: &Record) {
    let body = record.to_toml().expect("prints");
    write(path, &format!("{SEAL}{}\n{body}", ArtifactDigest::of(body.as_bytes())));
}

#[test]
fn the_page_says_what_the_records_say() {
    let example = workspace().join("example-app");
    let page = report(&example.join("Cargo.toml"), &scratch("report").join("report.html"), &[]);
    let tags = parse(&page);
    let bars = |kernel: &str, incumbent: &str, low: f64, high: f64| {
        let interval = format!("{low} {high}");
        let is_it = |tag: &&Tag| {
            tag.get("data-kernel") == Some(kernel)
                && tag.get("data-incumbent") == Some(incumbent)
                && tag.get("data-interval") == Some(&interval)
        };
        tags.iter().filter(is_it).count()
    };
    let (mut timings, mut points) = (0, BTreeSet::new());
    for (kernel, path, record) in records(&example, "cutegen-store") {
        let is_judged = record.variants.iter().any(|variant| variant.evidence.is_some());
        let is_told = page.contains(&format!("<summary><b>{kernel}</b> on "));
        assert_eq!(is_told, is_judged, "{kernel}: what nobody judged has no evidence to show");
        for variant in &record.variants {
            let Some(evidence) = &variant.evidence else { continue };
            let seeds = format!("<dd>{}</dd>", evidence.seeds);
            assert!(page.contains(&seeds), "{kernel}: seeds {}", evidence.seeds);
            for timing in &evidence.timings {
                assert_eq!(
                    bars(&kernel, &timing.incumbent, timing.low, timing.high),
                    1,
                    "{kernel} {timing:?}"
                );
                timings += 1;
                points.insert((path.clone(), variant.name.clone(), timing.workload.clone()));
            }
        }
    }
    assert_eq!(
        tags.iter().filter(|tag| tag.get("data-interval").is_some()).count(),
        timings,
        "and no others"
    );
    // those of legends stand at 6
    let plotted = tags.iter().filter(|tag| tag.name == "circle" && tag.get("cx") != Some("6"));
    assert_eq!(plotted.count(), points.len(), "a point for each variant and workload");
}

#[test]
fn what_only_moves_bytes_stands_in_the_table() {
    let folder = scratch("report-moves");
    let out = folder.join("r.html");
    must(std::process::Command::new("cp").arg("-r").arg(workspace().join("cache")).arg(&folder));
    let cache = folder.join("cache");
    for (kernel, path, mut record) in records(&cache, ".") {
        record.variants.iter_mut().filter_map(|v| v.evidence.as_mut()).for_each(|e| e.timings.clear());
        let is_host = path.with_file_name("naive.o").exists();
        match kernel.as_str() {
            "embedding" if !is_host => [16, 2048].map(|t| time(&mut record, &[("t", t), ("v", 32_000)])),
            "relu" if !is_host => [65_536, 16_777_216].map(|n| time(&mut record, &[("n", n)])),
            _ => continue,
        };
        reseal(&path, &record);
    }
    let page = |kernels: &[&str]| {
        let library =
            ["--specs", "kernel-specs", "--cache", &cache.display().to_string(), "--target", "sm_90a"];
        page(&out, &[&library, kernels].concat())
    };
    let drawn = |page: &str| page.matches("<circle class=\"c").count();
    let row = |kernel: &str| format!("<th scope=\"row\">{kernel}</th>");
    let alone = page(&["embedding"]);
    assert_eq!((drawn(&alone), alone.matches(&row("embedding")).count()), (0, 2), "both workloads, no plot");
    let beside = page(&["embedding", "relu"]);
    let (moves, relu) = (beside.find(&row("embedding")), beside.rfind(&row("relu")));
    assert!(
        relu.is_some() && relu < moves,
        "what is drawn comes first, under the number that it is drawn with"
    );
    let workloads = beside.matches(&row("relu")).count();
    assert_eq!(drawn(&beside), workloads + 1, "and the legend's");
}

#[test]
fn the_page_asks_for_nothing() {
    let page =
        report(&workspace().join("example-app/Cargo.toml"), &scratch("report-alone").join("r.html"), &[]);
    for word in ["http:", "https:", "//", "@import", "url(", "<script", "<link", "<img", "<iframe"] {
        assert!(!page.contains(word), "{word}");
    }
    let names: BTreeSet<String> =
        parse(&page).into_iter().flat_map(|tag| tag.attributes).map(|(name, _)| name).collect();
    let asking =
        |name: &&String| name.starts_with("on") || ["src", "href", "srcset", "data"].contains(&name.as_str());
    assert_eq!(names.iter().filter(asking).collect::<Vec<_>>(), [] as [&String; 0]);
    assert!(page.contains("prefers-color-scheme: dark") && page.contains("max-width: 640px"));
}

#[test]
fn hostile_text_stays_text() {
    let folder = scratch("report-hostile");
    let example = workspace().join("example-app");
    must(std::process::Command::new("cp").arg("-r").arg(example.join("cutegen-store")).arg(&folder));
    for file in ["Cargo.toml", "cutegen.lock"] {
        fs::copy(example.join(file), folder.join(file)).expect("copied");
    }
    for (kernel, path, mut record) in records(&folder, "cutegen-store") {
        for variant in &mut record.variants {
            variant.origin = format!("{HOSTILE} origin");
            let Some(evidence) = &mut variant.evidence else { continue };
            evidence.device = format!("{HOSTILE} device");
            evidence.sanitizer = format!("{HOSTILE} sanitizer");
            evidence.not_enforced = vec![format!("{HOSTILE} wall")];
        }
        if kernel == "silu_mul" {
            time(&mut record, &[("n", 180_224)]);
        }
        for timing in
            record.variants.iter_mut().filter_map(|v| v.evidence.as_mut()).flat_map(|e| &mut e.timings)
        {
            timing.incumbent = format!("{HOSTILE} incumbent");
            timing.differs = Some(format!("{HOSTILE} differs"));
        }
        reseal(&path, &record);
    }
    let lines = [
        serde_json::json!({ "event": "search-started", "kernel": format!("{HOSTILE} kernel"), "key": "0", "candidates": 1 }),
        serde_json::json!({
            "event": "tried", "kernel": format!("{HOSTILE} kernel"), "candidate": format!("{HOSTILE} candidate"),
            "outcome": format!("{HOSTILE} outcome"), "number": 1, "of": 1
        }),
    ];
    let trials = folder.join("<b>trials.jsonl");
    fs::write(&trials, lines.map(|line| line.to_string()).join("\n")).expect("written");
    let more = ["--trials", trials.to_str().expect("text")];
    let page = report(&folder.join("Cargo.toml"), &folder.join("report.html"), &more);
    let tags = parse(&page);
    assert!(tags.iter().all(|tag| !["script", "img", "b>trials"].contains(&tag.name.as_str())));
    let shown = plain(&page);
    for what in
        ["origin", "device", "sanitizer", "wall", "incumbent", "differs", "kernel", "candidate", "outcome"]
    {
        assert!(shown.contains(&format!("{HOSTILE} {what}")), "{what} is not on the page");
    }
}

#[test]
fn files_that_are_none_are_told() {
    let folder = scratch("report-files");
    let example = workspace().join("example-app/Cargo.toml");
    let nothing = folder.join("nothing.json");
    fs::write(&nothing, "{}\n").expect("written");
    for (flag, ends) in
        [("--trials", "cargo cutegen tune --json > "), ("--results", "cargo cutegen bench --results ")]
    {
        let mut command = cutegen(&workspace().join("target/suite/run-home"));
        command.arg("report").arg("--out").arg(folder.join("r.html")).arg(flag).arg(&nothing);
        let ran = run(command.arg("--manifest-path").arg(&example));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(ends), "{}", ran.stderr);
        assert!(!folder.join("r.html").exists());
    }
}
