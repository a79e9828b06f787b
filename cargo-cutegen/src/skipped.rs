//! Kernels that this machine cannot judge: each reason is said once, with how many it is for.

use cutegen_build::store::unlocked::abbreviated;

/// Them so far, by reason.
#[derive(Default)]
pub(crate) struct Skipped(Vec<(String, Vec<String>)>);

impl Skipped {
    /// Keeps the kernel of this title.
    pub(crate) fn add(&mut self, title: String, reason: String) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, titles)) => titles.push(title),
            None => self.0.push((reason, vec![title])),
        }
    }

    /// Whether none was skipped.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|(_, titles)| titles.len()).sum()
    }

    /// A line for each reason.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |(reason, titles): &(String, Vec<String>)| {
            let names: Vec<&str> = titles.iter().map(String::as_str).collect();
            match names[..] {
                [one] => format!("{one}: {reason}"),
                _ => format!("{} kernels ({}): {reason}", names.len(), abbreviated(&names)),
            }
        };
        self.0.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Skipped;

    #[test]
    fn a_reason_is_said_once() {
        let mut skipped = Skipped::default();
        assert!(skipped.is_empty());
        for at in 0..13 {
            skipped.add(format!("k{at} on sm_90a"), "skipped: no driver".to_owned());
        }
        skipped.add("last on sm_80".to_owned(), "skipped: no such card".to_owned());
        let titles = "k0 on sm_90a, k1 on sm_90a, k2 on sm_90a, k3 on sm_90a and 9 more";
        let first = format!("13 kernels ({titles}): skipped: no driver");
        assert_eq!(skipped.lines(), [first, "last on sm_80: skipped: no such card".to_owned()]);
    }
}
