//! tmp
use cutegen_build::{plan::Plan, print};
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let name = std::env::args().nth(2).unwrap();
    let what = std::env::args().nth(3).unwrap();
    let doc = if text.contains("[package]") {
        cutegen_spec::edition::manifest(&text)
    } else {
        cutegen_spec::edition::spec_file(&text, &Default::default())
    };
    for e in &doc.errors {
        eprintln!("{e:?}");
    }
    let spec = doc.kernels.iter().find(|k| k.name.as_str() == name).unwrap();
    let t = if what == "cuda" {
        cutegen_spec::target::Target::parse("sm_90a").unwrap()
    } else {
        cutegen_spec::target::Target::host()
    };
    let plan = Plan::new(spec, &t);
    eprintln!("{} {:?}", plan.title(), plan.family);
    match what.as_str() {
        "ref" => println!("{}", print::reference::print(&plan)),
        "rust" => println!("{}", print::fallback::print(&plan)),
        _ => println!("{}", print::naive::print(&plan).source.replace("@ENTRY@", "entry")),
    }
}
