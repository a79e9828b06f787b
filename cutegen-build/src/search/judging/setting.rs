//! What a judge and its runners are started with besides the plan: a seed, and the devices that they see.

use std::ffi::OsString;

use crate::env;
use crate::evaluate::Workers;

/// The driver's own variable.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// How a judge is started.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct Setting {
    /// Its seed; none: it draws one.
    pub(in crate::search) seed: Option<u64>,
    /// What it sees.
    pub(in crate::search) devices: Devices,
}

/// The devices that a judge and its runners see. They use the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Devices(Option<Vec<usize>>);

impl Devices {
    /// These alone, counted as this process sees them. Those that are not there are left out by the driver.
    #[must_use]
    pub fn only(ordinals: Vec<usize>) -> Self {
        Self(Some(ordinals))
    }

    /// The variable that a process gets which is to see these.
    pub(super) fn visible(&self) -> Option<(&'static str, OsString)> {
        let ordinals = self.0.as_ref()?;
        Some((VISIBLE, named(ordinals, env::variable(VISIBLE).as_deref()).into()))
    }

    /// Runners that see these.
    pub(super) fn narrow(&self, mut workers: Workers) -> Workers {
        if let Some((name, value)) = self.visible() {
            workers.env.retain(|(key, _)| key != name);
            workers.env.push((name.into(), value));
        }
        workers
    }
}

/// Devices by the names that the driver has for them, where a process sees only some.
fn named(ordinals: &[usize], seen: Option<&str>) -> String {
    let seen: Option<Vec<&str>> = seen.map(|list| list.split(',').map(str::trim).collect());
    let name = |ordinal: &usize| match &seen {
        Some(names) => names.get(*ordinal).map(|name| (*name).to_owned()),
        None => Some(ordinal.to_string()),
    };
    ordinals.iter().filter_map(name).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{Devices, named};

    #[test]
    fn ordinals_count_what_this_process_sees() {
        assert_eq!(named(&[1], None), "1");
        assert_eq!(named(&[2, 0], None), "2,0");
        assert_eq!(named(&[1, 0], Some("GPU-5ab, 7,3")), "7,GPU-5ab");
        assert_eq!(named(&[3], Some("4,5")), "");
    }

    #[test]
    fn by_default_nothing_is_narrowed() {
        assert_eq!(Devices::default().visible(), None);
        let (name, _) = Devices::only(vec![0]).visible().expect("narrowed");
        assert_eq!(name, "CUDA_VISIBLE_DEVICES");
    }
}
