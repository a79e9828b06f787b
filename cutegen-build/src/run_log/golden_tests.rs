//! The format as text, entry by entry. A test that fails here means a new version of the format.

use super::sample::*;
use super::*;

/// SHA-256 of `kit`, `prompt` and `identity`, by another program.
const KIT: &str = "cbc8a597a67c465497550c4a4a7eebdb138442c06be06a78cc1ee8715658ff44";
const PROMPT: &str = "cf07194ee232eb531e15f690000d19846dea69cf05504782658afcfacb9228a2";
const IDENTITY: &str = "689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4";

fn holds(value: &Entry, text: &str) {
    assert_eq!(serde_json::to_string(value).expect("JSON"), text);
    assert_eq!(&serde_json::from_str::<Entry>(text).expect("an entry"), value);
}

#[test]
fn a_start() {
    let key = "ab".repeat(32);
    let text = format!(
        r#"{{"version":1,"run":"a-1","kernel":"softmax","target":"sm_90a","key":"{key}","strategy":"refine","prompts":2,"#
    ) + &format!(r#""kit":"{KIT}","gate":7,"settings":{{"gain":1.01,"rounds":3.0}}}}"#);
    assert_eq!(serde_json::to_string(&start("a-1")).expect("JSON"), text);
    let bare = text.replace(r#","settings":{"gain":1.01,"rounds":3.0}"#, "");
    let read: Start = serde_json::from_str(&bare).expect("a start");
    assert_eq!((read.setting("gain", 1.5), start("a-1").setting("gain", 1.5)), (1.5, 1.01));
    assert_eq!(serde_json::to_string(&read).expect("JSON"), bare);
}

#[test]
fn a_request() {
    let text = format!(
        r#"{{"request":{{"ask":"optimise","about":4,"version":"window-2","prompt":"{PROMPT}","bytes":9000}}}}"#
    );
    holds(&request(), &text);
}

#[test]
fn a_request_for_a_variant_has_its_idea() {
    let Entry::Request(mut asked) = request() else { panic!("a request") };
    (asked.ask, asked.idea) = (Ask::Variant, Some(2));
    let text = format!(
        r#"{{"request":{{"ask":"variant","about":4,"idea":2,"version":"window-2","prompt":"{PROMPT}","bytes":9000}}}}"#
    );
    holds(&Entry::Request(asked), &text);
}

#[test]
fn a_start_has_its_bank() {
    let kernel = Banked {
        kernel: "norm".to_owned(),
        family: "rowwise".to_owned(),
        math: "y = x".to_owned(),
        digest: digest("kit"),
        source: "int a;\n".to_owned(),
        idea: Some("fewer loads".to_owned()),
        over_naive: Some(2.5),
    };
    let banked = Start { bank: vec![kernel], ..start("a-1") };
    let text = serde_json::to_string(&banked).expect("JSON");
    let tail = format!(
        r#","bank":[{{"kernel":"norm","family":"rowwise","math":"y = x","digest":"{KIT}","source":"int a;\n","#
    ) + r#""idea":"fewer loads","over-naive":2.5}]}"#;
    assert!(text.ends_with(&tail), "{text}");
    assert_eq!(serde_json::from_str::<Start>(&text).expect("a start"), banked);
}

#[test]
fn what_is_asked_for() {
    let asks = [Ask::First, Ask::Diagnose, Ask::Patch, Ask::Optimise, Ask::Whole, Ask::Ideas, Ask::Variant];
    let text = serde_json::to_string(&asks).expect("JSON");
    assert_eq!(text, r#"["first","diagnose","patch","optimise","whole","ideas","variant"]"#);
}

#[test]
fn a_candidate_by_content() {
    let head = r#"{"candidate":{"request":1,"by":"exchange, some-model","text":"line one\nτ = \"two\"\r\n","content":"#;
    let kernel_text = format!(
        r#"{{"kernel":{{"name":"m-0123abcd","identity":"{IDENTITY}","source":"void @ENTRY@() {{}}\n","first-line":3,"#
    ) + r#""hypothesis":"fewer loads","predicted":1.25,"hints":["h07"]}}"#;
    let contents = [
        (kernel(), kernel_text.as_str()),
        (Content::Words, r#""words""#),
        (Content::Repeat { of: 3 }, r#"{"repeat":{"of":3}}"#),
        (
            Content::Ideas(vec![
                Idea { text: "fewer loads".to_owned(), about: Some(2), predicted: Some(1.25) },
                Idea { text: "a ring".to_owned(), about: None, predicted: None },
            ]),
            r#"{"ideas":[{"text":"fewer loads","about":2,"predicted":1.25},{"text":"a ring"}]}"#,
        ),
        (
            Content::Unreadable(vec![
                Diagnostic { line: Some(2), message: "no contract".to_owned() },
                Diagnostic { line: None, message: "no code".to_owned() },
            ]),
            r#"{"unreadable":[{"line":2,"message":"no contract"},{"message":"no code"}]}"#,
        ),
    ];
    for (content, text) in contents {
        holds(
            &candidate(content),
            &format!(r#"{head}{text},"took-ms":1500,"usage":{{"input":5544,"output":1210}}}}}}"#),
        );
    }
}

#[test]
fn an_answer_that_sweeps_and_its_points() {
    let head = r#"{"candidate":{"request":1,"by":"exchange, some-model","text":"line one\nτ = \"two\"\r\n","content":"#;
    let sweep = r#"{"sweep":{"source":"// sweep: T = 2 | 4\n","points":2,"first-line":3,"hypothesis":"fewer loads","predicted":1.25,"hints":["h07"]}}"#;
    holds(
        &candidate(swept()),
        &format!(r#"{head}{sweep},"took-ms":1500,"usage":{{"input":5544,"output":1210}}}}}}"#),
    );
    let kernel_text = format!(
        r#"{{"kernel":{{"name":"m-0123abcd","identity":"{IDENTITY}","source":"void @ENTRY@() {{}}\n","first-line":3,"#
    ) + r#""hypothesis":"fewer loads","predicted":1.25,"hints":["h07"]}}"#;
    let text = format!(r#"{{"point":{{"of":2,"values":{{"T":2,"U":64}},"content":{kernel_text}}}}}"#);
    holds(&point(2, &[("U", 64), ("T", 2)], kernel()), &text);
    let text = r#"{"point":{"of":2,"values":{"T":4},"content":{"repeat":{"of":3}}}}"#;
    holds(&point(2, &[("T", 4)], Content::Repeat { of: 3 }), text);
}

#[test]
fn an_answer_to_a_shortened_prompt() {
    let Entry::Candidate(mut shortened) = candidate(Content::Words) else { panic!("a candidate") };
    (shortened.sent_bytes, shortened.usage, shortened.text) = (Some(6000), None, "a".to_owned());
    let text = r#"{"candidate":{"request":1,"by":"exchange, some-model","text":"a","content":"words","took-ms":1500,"sent-bytes":6000}}"#;
    holds(&Entry::Candidate(shortened), text);
}

#[test]
fn a_submitted_kernel_has_no_request() {
    let Entry::Candidate(mut submitted) = candidate(Content::Words) else { panic!("a candidate") };
    (submitted.request, submitted.took_ms, submitted.usage) = (None, None, None);
    submitted.text = "a".to_owned();
    let text = r#"{"candidate":{"by":"exchange, some-model","text":"a","content":"words"}}"#;
    holds(&Entry::Candidate(submitted), text);
}

#[test]
fn a_verdict() {
    holds(&verdict(2, Outcome::Compiled), r#"{"verdict":{"candidate":2,"outcome":"compiled"}}"#);
    let parts = [
        r#"{"verdict":{"candidate":2,"outcome":"wrong-in-full","facts":{"reason":"element y[3, 64] is wrong","#,
        r#""diagnostics":[{"line":7,"message":"unused `x`"}],"#,
        r#""mismatch":{"tensor":"y","index":[3,64],"axes":{"k":512,"m":64},"inputs":"uniform","found":1.5,"#,
        r#""expected":0.5,"bound":1e-6,"ratio":3.0,"tile":[{"axis":"k","extent":64,"tile":1,"within":0}],"#,
        r#""check":"values","region":"every element from index 64 of axis k"},"#,
        r#""sanitizer":["race on shared memory"],"#,
        r#""kernels":[{"entry":"@ENTRY@_main","registers":168,"local-bytes":0,"shared-bytes":49152,"blocks-per-sm":2}],"#,
        r#""speed":[{"workload":{"k":512,"m":64},"micros":12.5,"over-naive":4.0,"over":{"2":1.5,"10":0.75},"#,
        r#""roofline":0.875,"tb-per-s":2.5,"tops-per-s":0.1}],"#,
        r#""profile":{"dram__throughput":61.5}},"#,
        r#""judge":{"card":"NVIDIA H100","batch":"b-1","gate":7,"held-ms":2500}}}"#,
    ];
    holds(&full_verdict(), &parts.concat());
}

#[test]
fn an_outcome_is_a_word() {
    use Outcome::{Accepted, Compiled, Crashed, Refused, Right, TooSlow, Wrong, WrongInFull};
    let all = [Refused, Compiled, Wrong, Crashed, Right, WrongInFull, TooSlow, Accepted];
    let text = serde_json::to_string(&all).expect("JSON");
    let words = r#"["refused","compiled","wrong","crashed","right","wrong-in-full","too-slow","accepted"]"#;
    assert_eq!(text, words);
    let right: Vec<Outcome> = all.into_iter().filter(|outcome| outcome.is_right()).collect();
    assert_eq!(right, [Right, TooSlow, Accepted]);
}

#[test]
fn what_is_not_known_is_refused() {
    for text in [
        r#"{"guess":{}}"#,
        r#"{"verdict":{"candidate":2,"outcome":"compiled","weight":1}}"#,
        r#"{"verdict":{"candidate":2,"outcome":"perhaps"}}"#,
        r#"{"verdict":{"candidate":2,"outcome":"compiled","facts":{"luck":1}}}"#,
        r#"{"verdict":{"candidate":-2,"outcome":"compiled"}}"#,
        r#"{"request":{"ask":"first","version":"window-2","prompt":"12","bytes":1}}"#,
    ] {
        assert!(serde_json::from_str::<Entry>(text).is_err(), "{text}");
    }
}
