//! [`Clocks`]: the state of the card while it is timed: clocks, power, temperature, and what holds the clocks down.
//! Reads through NVML, which knows any device on the machine and needs no context on it; changes no setting. Knows
//! nothing of candidates or times.
//!
//! A machine without NVML is no error: [`Clocks::open`] says so in words, and those go into the record. A value that
//! the card does not give is `None`. Power is the driver's average of a second or less: it tells of a burst only in
//! company.

mod nvml;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use nvml::{Clock, Handle, Nvml};

/// What names a card beyond one process: neither depends on `CUDA_VISIBLE_DEVICES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardId {
    /// As NVML prints it, `GPU-` and 32 digits in groups; [`CardId::from_uuid`] makes it of the driver's bytes.
    Uuid(String),
    /// `domain:bus:device.function`, as `cuDeviceGetPCIBusId` prints it.
    Pci(String),
}

/// A card and its limits: what does not change while it is timed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Card {
    /// As NVML prints it.
    pub uuid: String,
    /// The product's name.
    pub name: String,
    /// The driver's version.
    pub driver: String,
    /// The highest clock of the multiprocessors, MHz.
    pub sm_max_mhz: Option<u32>,
    /// The highest clock of the memory, MHz.
    pub memory_max_mhz: Option<u32>,
    /// The power that is enforced, milliwatts.
    pub power_limit_mw: Option<u32>,
}

/// The card at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sample {
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Option<u32>,
    /// Clock of the memory, MHz.
    pub memory_mhz: Option<u32>,
    /// Power drawn, milliwatts.
    pub power_mw: Option<u32>,
    /// Degrees Celsius.
    pub temperature_c: Option<u32>,
    /// What holds the clocks down.
    pub throttle: Option<BTreeSet<Throttle>>,
}

/// Many samples in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spread {
    /// How many there were.
    pub samples: u32,
    /// Lowest and highest clock of the multiprocessors, MHz.
    pub sm_mhz: Option<(u32, u32)>,
    /// Lowest and highest clock of the memory, MHz.
    pub memory_mhz: Option<(u32, u32)>,
    /// Lowest and highest power, milliwatts.
    pub power_mw: Option<(u32, u32)>,
    /// Lowest and highest temperature, degrees Celsius.
    pub temperature_c: Option<(u32, u32)>,
    /// All that held the clocks down at some moment; `None` when the card never said.
    pub throttle: Option<BTreeSet<Throttle>>,
}

/// A reason of the driver's for clocks below the highest, under NVML's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Throttle {
    /// Nothing runs.
    GpuIdle,
    /// Somebody set the clocks.
    ApplicationsClocksSetting,
    /// The power limit.
    SwPowerCap,
    /// The board halves the clocks: temperature, power or its supply.
    HwSlowdown,
    /// A group of cards keeps step.
    SyncBoost,
    /// The driver holds the temperature down.
    SwThermalSlowdown,
    /// The board does.
    HwThermalSlowdown,
    /// The power supply asked for it.
    HwPowerBrakeSlowdown,
    /// A display's setting.
    DisplayClockSetting,
    /// The voltage has reached the board's limit.
    BoardLimit,
    /// The voltage has reached the limit of reliability.
    Reliability,
    /// A bit that has no name yet, by its number.
    Unknown(u8),
}

/// NVML's bits.
const REASONS: [(u64, Throttle); 11] = [
    (0x1, Throttle::GpuIdle),
    (0x2, Throttle::ApplicationsClocksSetting),
    (0x4, Throttle::SwPowerCap),
    (0x8, Throttle::HwSlowdown),
    (0x10, Throttle::SyncBoost),
    (0x20, Throttle::SwThermalSlowdown),
    (0x40, Throttle::HwThermalSlowdown),
    (0x80, Throttle::HwPowerBrakeSlowdown),
    (0x100, Throttle::DisplayClockSetting),
    (0x200, Throttle::BoardLimit),
    (0x400, Throttle::Reliability),
];

/// A card under watch.
#[derive(Debug)]
pub struct Clocks {
    nvml: Nvml,
    handle: Handle,
    card: Card,
}

impl Clocks {
    /// Finds the card. The words say what is missing; they are a fact for the record.
    pub fn open(card: &CardId) -> Result<Self, String> {
        let nvml = Nvml::open().map_err(not_read)?;
        let handle = match card {
            CardId::Uuid(uuid) => nvml.by_uuid(uuid),
            CardId::Pci(bus) => nvml.by_pci(bus),
        };
        let handle = handle.map_err(not_read)?;
        let card = Card {
            uuid: nvml.uuid(handle).map_err(not_read)?,
            name: nvml.name(handle).map_err(not_read)?,
            driver: nvml.driver().map_err(not_read)?,
            sm_max_mhz: nvml.max_clock(handle, Clock::Sm),
            memory_max_mhz: nvml.max_clock(handle, Clock::Memory),
            power_limit_mw: nvml.power_limit(handle),
        };
        Ok(Self { nvml, handle, card })
    }

    /// What does not change.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// What does, now. Takes some tens of microseconds: call it between bursts, not inside one.
    #[must_use]
    pub fn sample(&self) -> Sample {
        Sample {
            sm_mhz: self.nvml.clock(self.handle, Clock::Sm),
            memory_mhz: self.nvml.clock(self.handle, Clock::Memory),
            power_mw: self.nvml.power(self.handle),
            temperature_c: self.nvml.temperature(self.handle),
            throttle: self.nvml.reasons(self.handle).map(Throttle::of),
        }
    }
}

fn not_read(reason: String) -> String {
    format!("clocks not read: {reason}")
}

impl CardId {
    /// Of the bytes that `cuDeviceGetUuid` gives.
    #[must_use]
    pub fn from_uuid(bytes: [u8; 16]) -> Self {
        let digits = |part: &[u8]| part.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
        CardId::Uuid(format!("GPU-{}", parts.map(digits).join("-")))
    }
}

impl CardId {
    /// Its name in words of one card or another.
    #[must_use]
    pub fn name(&self) -> &str {
        let (CardId::Uuid(name) | CardId::Pci(name)) = self;
        name
    }
}

impl Throttle {
    /// The names of a mask's bits.
    #[must_use]
    pub fn of(mask: u64) -> BTreeSet<Throttle> {
        let named = |bit: u64| REASONS.iter().find(|(known, _)| *known == bit).map(|(_, reason)| *reason);
        let set = (0..64_u8).filter(|bit| mask >> bit & 1 == 1);
        set.map(|bit| named(1 << bit).unwrap_or(Throttle::Unknown(bit))).collect()
    }

    /// Whether clocks are lower than the work would have them: an idle card, and clocks that somebody chose, are not.
    #[must_use]
    pub fn slows(self) -> bool {
        !matches!(
            self,
            Throttle::GpuIdle | Throttle::ApplicationsClocksSetting | Throttle::DisplayClockSetting
        )
    }
}

impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Throttle::GpuIdle => "idle",
            Throttle::ApplicationsClocksSetting => "clocks set by a user",
            Throttle::SwPowerCap => "power limit",
            Throttle::HwSlowdown => "slowdown by the board",
            Throttle::SyncBoost => "sync boost",
            Throttle::SwThermalSlowdown => "temperature, by the driver",
            Throttle::HwThermalSlowdown => "temperature, by the board",
            Throttle::HwPowerBrakeSlowdown => "power brake",
            Throttle::DisplayClockSetting => "clocks set by a display",
            Throttle::BoardLimit => "voltage limit of the board",
            Throttle::Reliability => "voltage limit of reliability",
            Throttle::Unknown(bit) => return write!(f, "reason {bit} of NVML"),
        })
    }
}

impl Spread {
    /// Of samples in any order.
    #[must_use]
    pub fn of(samples: &[Sample]) -> Self {
        let ends = |value: fn(&Sample) -> Option<u32>| {
            let values = samples.iter().filter_map(value);
            Some((values.clone().min()?, values.max()?))
        };
        let mut throttle: Option<BTreeSet<Throttle>> = None;
        for said in samples.iter().filter_map(|sample| sample.throttle.as_ref()) {
            throttle.get_or_insert_default().extend(said);
        }
        Self {
            samples: u32::try_from(samples.len()).unwrap_or(u32::MAX),
            sm_mhz: ends(|s| s.sm_mhz),
            memory_mhz: ends(|s| s.memory_mhz),
            power_mw: ends(|s| s.power_mw),
            temperature_c: ends(|s| s.temperature_c),
            throttle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Card, CardId, Clocks, REASONS, Sample, Spread, Throttle};
    use std::collections::BTreeSet;

    #[test]
    fn every_bit_has_exactly_its_name() {
        assert_eq!(Throttle::of(0), BTreeSet::new());
        for (mask, reason) in REASONS {
            assert_eq!(Throttle::of(mask), BTreeSet::from([reason]), "{mask:#x}");
        }
        let names: BTreeSet<String> = REASONS.iter().map(|(_, reason)| reason.to_string()).collect();
        assert_eq!(names.len(), REASONS.len());
        let two = BTreeSet::from([Throttle::SwPowerCap, Throttle::SwThermalSlowdown]);
        assert_eq!(Throttle::of(0x24), two);
        assert_eq!(
            Throttle::of(1 << 63 | 0x8),
            BTreeSet::from([Throttle::HwSlowdown, Throttle::Unknown(63)])
        );
        assert_eq!(Throttle::of(u64::MAX).len(), 64, "no bit is lost");
        assert!(Throttle::SwPowerCap.slows() && Throttle::Unknown(40).slows() && !Throttle::GpuIdle.slows());
    }

    #[test]
    fn uuids_are_printed_as_nvml_does() {
        let bytes = std::array::from_fn(|i| 0x10 * (i as u8 % 16) + i as u8 % 16);
        let text = "GPU-00112233-4455-6677-8899-aabbccddeeff".to_owned();
        assert_eq!(CardId::from_uuid(bytes), CardId::Uuid(text));
    }

    #[test]
    fn a_card_that_is_not_there_is_reported_in_words() {
        let missing = CardId::from_uuid([0; 16]);
        let said = Clocks::open(&missing).map(|clocks| clocks.card().clone()).expect_err("no such card");
        assert!(said.starts_with("clocks not read: ") && said.len() > 25, "{said}");
        let said = Clocks::open(&CardId::Pci("a\0b".to_owned())).map(|_| ()).expect_err("no such card");
        assert!(said.starts_with("clocks not read: "), "{said}");
    }

    #[test]
    fn samples_are_told_by_their_ends() {
        let sample = |mhz, reasons: Option<u64>| Sample {
            sm_mhz: mhz,
            throttle: reasons.map(Throttle::of),
            ..Sample::default()
        };
        let spread =
            Spread::of(&[sample(Some(1980), Some(0)), sample(None, None), sample(Some(1755), Some(4))]);
        assert_eq!((spread.samples, spread.sm_mhz, spread.power_mw), (3, Some((1755, 1980)), None));
        assert_eq!(spread.throttle, Some(BTreeSet::from([Throttle::SwPowerCap])));
        assert_eq!(Spread::of(&[sample(None, None)]).throttle, None, "not said is not none");
        assert_eq!(Spread::of(&[]), Spread::default());
    }

    #[test]
    fn what_is_recorded_reads_back() {
        let card = Card { uuid: "GPU-1".to_owned(), sm_max_mhz: Some(1980), ..Card::default() };
        let sample = Sample {
            power_mw: Some(512_345),
            throttle: Some(Throttle::of(1 << 40 | 4)),
            ..Sample::default()
        };
        let text = serde_json::to_string(&(&card, &sample)).expect("prints");
        assert!(text.contains(r#"["sw-power-cap",{"unknown":40}]"#), "{text}");
        assert_eq!(serde_json::from_str::<(Card, Sample)>(&text).expect("reads"), (card, sample));
    }
}
