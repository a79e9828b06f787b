//! Judging many candidates side by side: lanes, a line for each, totals, and the report as JSON.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// What became of one candidate.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Line {
    pub(crate) group: String,
    pub(crate) name: String,
    /// Whether it was judged as it should be.
    pub(crate) is_right: bool,
    pub(crate) told: String,
    pub(crate) seconds: f64,
}

/// Candidates of one session: judged one after another, in a lane of their own.
pub(crate) type Task<'a> = Box<dyn FnOnce() -> Vec<Line> + Send + 'a>;

/// Sessions at a time: each has a runner with a context on the device.
const LANES_MOST: usize = 8;

/// A line, with the time that `judge` takes; `Err` is told when it was not judged as it should be.
pub(crate) fn line(group: &str, name: &str, judge: impl FnOnce() -> Result<String, String>) -> Line {
    let start = Instant::now();
    let judged = judge();
    let is_right = judged.is_ok();
    let told = judged.unwrap_or_else(|why| why);
    let (group, name, seconds) = (group.to_owned(), name.to_owned(), start.elapsed().as_secs_f64());
    let line = Line { group, name, is_right, told, seconds };
    println!("    {}{}: {}: {}", if is_right { "" } else { "NOT " }, line.group, line.name, line.told);
    line
}

/// Runs all tasks, writes `corpus`.json where a report is asked for, and says how many were judged right.
pub(crate) fn judge(corpus: &str, tasks: Vec<Task<'_>>, at_least: usize) {
    let start = Instant::now();
    let lanes = std::thread::available_parallelism().map_or(1, |n| n.get().div_ceil(2)).min(LANES_MOST);
    let queue = Mutex::new(tasks.into_iter());
    let lines = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some(task) = { queue.lock().expect("not poisoned").next() } {
                    let judged = task();
                    lines.lock().expect("not poisoned").extend(judged);
                }
            });
        }
    });
    let mut lines = lines.into_inner().expect("not poisoned");
    lines.sort_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
    let wrong: Vec<&Line> = lines.iter().filter(|line| !line.is_right).collect();
    wrong.iter().for_each(|line| println!("    NOT {}: {}: {}", line.group, line.name, line.told));
    let right = lines.len() - wrong.len();
    println!("    {corpus}: {right} of {} as they should be, in {:.1?}", lines.len(), start.elapsed());
    keep(corpus, &lines);
    assert!(wrong.is_empty() && lines.len() >= at_least, "{corpus}: {right} of {}", lines.len());
}

fn keep(corpus: &str, lines: &[Line]) {
    if let Some(folder) = std::env::var_os("CUTEGEN_GPU_REPORT") {
        let path = Path::new(&folder).join(format!("{corpus}.json"));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(path, serde_json::to_string_pretty(lines).expect("JSON")).expect("written");
    }
}
