//! A run that is killed at many places of its log, while it asks, compiles and judges on `host`, and is gone on with each time.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use super::script::{Library, decided};
use super::{DECISIONS, all};

/// Entries of the log, each with the kill that follows it: while a program is asked, a kernel is compiled, screened, timed, or put
/// through the whole gate.
const PLACES: [usize; 10] = [1, 4, 8, 12, 17, 19, 24, 29, 36, 42];

/// How long a look at the log sleeps.
const LOOK: Duration = Duration::from_millis(1);

const SIGKILL: i32 = 9;

#[test]
fn ten_kills_change_no_decision_and_no_recorded_answer_is_asked_for_again() {
    let library = Library::new("refine-killed");
    let mut entries = Vec::new();
    for place in PLACES {
        let status = killed(&library, place);
        assert_eq!(status.signal(), Some(SIGKILL), "the run was at work at entry {place}: {status}");
        let decided = decided(&library.log());
        let recorded = decided.iter().filter(|entry| is_answer(entry)).count();
        library.forbid_below(recorded);
        entries.push(decided.len());
    }
    assert!(entries.is_sorted_by(|before, after| before < after), "ten places: {entries:?}");
    assert!(entries.iter().zip(PLACES).all(|(entries, place)| *entries >= place), "{entries:?}");
    let ran = library.refine();
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(decided(&library.log()), DECISIONS);
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));
}

/// Begins the run, or goes on with it, and kills it once its log has so many entries.
fn killed(library: &Library, place: usize) -> ExitStatus {
    let mut child = library.refining().stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    while lines(library) <= place && is_running(&mut child) {
        std::thread::sleep(LOOK);
    }
    // one that has ended by itself has no signal
    let _ended = child.kill();
    child.wait().expect("ends")
}

/// Whole lines of the log; the first is no entry.
fn lines(library: &Library) -> usize {
    library.log().matches('\n').count()
}

fn is_running(child: &mut Child) -> bool {
    child.try_wait().expect("waits").is_none()
}

fn is_answer(entry: &str) -> bool {
    ["unreadable", "kernel", "words", "repeat"].iter().any(|word| entry.starts_with(word))
}
