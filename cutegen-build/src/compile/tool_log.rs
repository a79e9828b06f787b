//! Reads from a compiler's log which limit stopped it: drivers report a dead child as text, not as a status.

use super::job::FailureReason;

/// Why a compile failed, by its log.
pub(super) fn reason(log: &str) -> FailureReason {
    let known: [(&[&str], FailureReason); 6] = [
        (&["CPU time limit exceeded"], FailureReason::TimedOut),
        (
            &["File size limit exceeded", "File too large", "No space left on device"],
            FailureReason::OutputTooLarge,
        ),
        (
            &["out of memory", "virtual memory exhausted", "memory exhausted", "Cannot allocate memory"],
            FailureReason::OverMemory,
        ),
        (&["Segmentation fault signal terminated"], signal(libc::SIGSEGV)),
        (&["Aborted signal terminated"], signal(libc::SIGABRT)),
        (&["Killed signal terminated"], signal(libc::SIGKILL)),
    ];
    // NVRTC tells of it as of an error of the source, in words that no directive of a source gives
    if log.lines().any(|line| line.trim_end().ends_with("): catastrophic error: out of memory")) {
        return FailureReason::OverMemory;
    }
    let hit = |words: &&[&str]| words.iter().any(|word| tool_lines(log).any(|line| line.contains(word)));
    known.into_iter().find(|(words, _)| hit(words)).map_or(FailureReason::Diagnostics, |(_, reason)| reason)
}

/// What a signal that killed a compiler means.
pub(super) fn signal(signal: i32) -> FailureReason {
    match signal {
        libc::SIGXCPU => FailureReason::TimedOut,
        libc::SIGXFSZ => FailureReason::OutputTooLarge,
        other => FailureReason::Crashed(other),
    }
}

/// A compiler that cannot start is this machine's fault, not the candidate's.
pub(super) fn broken_compiler(log: &str) -> Option<String> {
    let words = ["cannot execute", "error while loading shared libraries"];
    tool_lines(log).find(|line| words.iter().any(|word| line.contains(word))).map(str::to_owned)
}

/// Lines the tools print about themselves; a candidate can put any words it likes into the others.
fn tool_lines(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| {
        !line.starts_with([' ', '\t']) && !line.starts_with("kernel.") && !line.starts_with('/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidate_cannot_speak_for_the_compiler() {
        assert_eq!(reason("kernel.cpp:1:2: error: #error out of memory"), FailureReason::Diagnostics);
        assert_eq!(broken_compiler("kernel.cpp:1:2: error: #error cannot execute"), None);
    }

    #[test]
    fn drivers_words_become_reasons() {
        let dead = |how: &str| {
            format!("g++: fatal error: {how} signal terminated program cc1plus\ncompilation terminated.")
        };
        assert_eq!(reason(&dead("CPU time limit exceeded")), FailureReason::TimedOut);
        assert_eq!(reason(&dead("Segmentation fault")), FailureReason::Crashed(11));
        assert_eq!(reason("cc1plus: out of memory allocating 65536 bytes"), FailureReason::OverMemory);
        assert_eq!(reason("kernel.cu(1): catastrophic error: out of memory\n"), FailureReason::OverMemory);
        assert_eq!(
            reason("kernel.cu(1): error: #error directive: catastrophic error: out of memory"),
            FailureReason::Diagnostics
        );
        assert!(
            broken_compiler("g++: fatal error: cannot execute 'cc1plus': execvp: No such file").is_some()
        );
    }
}
