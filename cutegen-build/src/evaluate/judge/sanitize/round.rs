//! [`Round`]: one process of a tool, from its start to what it said. Knows no session: what it launches has been laid out.

use std::path::Path;
use std::time::Duration;

use super::{Sanitized, Tool, not_run};
use crate::evaluate::error::Error;
use crate::evaluate::judge::instrumented::{self, Instrumented, Watched, beside};
use crate::evaluate::wire::worker::Workers;

/// How the sanitizer ends when it found something.
const FOUND: i32 = 86;
/// One job, or the exit, each slowed a hundredfold.
pub(super) const DEADLINE: Duration = Duration::from_secs(240);

/// A tool and the runner that it watches.
pub(super) struct Round {
    pub(super) tool: Tool,
    pub(super) run: Instrumented,
}

impl Round {
    fn seen(self) -> Result<Sanitized, Error> {
        Ok(match self.run.watched()? {
            Watched::NotStarted { reason, .. } => not_run(&reason),
            Watched::Ended { answer, status, report } => {
                verdict(self.tool, status, answer.as_deref(), &report)
            }
        })
    }
}

/// All at once, for most of a round is the start of its tool; in their order.
pub(super) fn all(rounds: Vec<Round>) -> Result<Vec<Sanitized>, Error> {
    std::thread::scope(|scope| {
        let rounds: Vec<_> = rounds.into_iter().map(|round| scope.spawn(|| round.seen())).collect();
        let panicked = |_| Err(Error::Worker("the sanitizer's thread panicked".to_owned()));
        rounds.into_iter().map(|round| round.join().unwrap_or_else(panicked)).collect()
    })
}

/// Starts runners under the sanitizer, which writes to `log` and leaves the pipes to the runner.
pub(super) fn under(workers: &Workers, sanitizer: &Path, tool: Tool, log: &Path) -> Workers {
    let mut args: Vec<String> = ["--tool", tool.name(), "--error-exitcode", "86", "--launch-timeout", "120"]
        .map(str::to_owned)
        .to_vec();
    args.extend(["--print-limit", "10", "--log-file"].map(str::to_owned));
    args.push(log.display().to_string());
    // its parts meet through a socket there
    instrumented::under(workers, sanitizer, args, vec![("TMPDIR".into(), beside(log))])
}

/// Clean only with a summary of zero, the status of success and the expected answer.
fn verdict(tool: Tool, status: Option<i32>, answer: Option<&str>, report: &str) -> Sanitized {
    let found = errors(report);
    match (status, found, answer) {
        (Some(FOUND), ..) | (_, Some(1..), _) => Sanitized::Errors { tool, summary: shortened(report) },
        (Some(0), Some(0), None) => Sanitized::Clean { tools: vec![tool] },
        _ => {
            let told = answer.map(|answer| format!(", answered {answer}")).unwrap_or_default();
            let reason = format!("{} ended with {status:?}{told}: {}", tool.name(), shortened(report));
            Sanitized::NotRun { reason }
        }
    }
}

/// The count on the last summary line: `ERROR SUMMARY: 2 errors`, `RACECHECK SUMMARY: 0 hazards displayed (..)`.
fn errors(report: &str) -> Option<u64> {
    let (_, rest) = report.lines().rev().find_map(|line| line.split_once(" SUMMARY: "))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The lines that tell: without frames, without the banner's fence, at most a dozen.
fn shortened(report: &str) -> String {
    let lines = report.lines().map(|line| line.trim_start_matches('=').trim());
    let telling = lines.filter(|line| {
        !line.is_empty()
            && !["COMPUTE-SANITIZER", "Host Frame", "Saved host", "in "].iter().any(|s| line.starts_with(s))
    });
    telling.take(12).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Sanitized, Tool, verdict};

    const FAULT: &str = "========= COMPUTE-SANITIZER\n\
        ========= Invalid __global__ write of size 2 bytes\n\
        =========     at candidate+0x100\n\
        =========     Saved host backtrace up to driver entry point\n\
        =========     Host Frame: main [0x1]\n\
        ========= ERROR SUMMARY: 1 error\n";

    #[test]
    fn reports_are_read_strictly() {
        let memcheck = |status, answer, report: &str| verdict(Tool::Memcheck, status, answer, report);
        let Sanitized::Errors { tool: Tool::Memcheck, summary } = memcheck(Some(86), Some("faulted"), FAULT)
        else {
            panic!("an error");
        };
        assert_eq!(
            summary,
            "Invalid __global__ write of size 2 bytes\nat candidate+0x100\nERROR SUMMARY: 1 error"
        );
        assert!(matches!(memcheck(Some(0), None, FAULT), Sanitized::Errors { .. }));
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(memcheck(Some(0), None, clean), Sanitized::Clean { tools: vec![Tool::Memcheck] });
        let raced = "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert!(matches!(verdict(Tool::Racecheck, Some(0), None, raced), Sanitized::Clean { .. }));
        for (status, answer, report) in
            [(Some(0), None, ""), (None, None, clean), (Some(1), None, clean), (Some(0), Some("late"), clean)]
        {
            assert!(
                matches!(memcheck(status, answer, report), Sanitized::NotRun { .. }),
                "{status:?} {answer:?}"
            );
        }
    }
}
