//! NVML, opened at run time: the ten queries that [`super::Clocks`] needs, by the C interface that the driver has kept
//! since its first 64-bit branch. None of them changes a setting.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};
use std::fmt;

use libloading::{Library, Symbol};

/// Comes with the driver.
const LIBRARY: &str = "libnvidia-ml.so.1";
/// Longest text that NVML gives, the end included.
const TEXT_MAX: usize = 96;
const SUCCESS: Return = 0;
/// `NVML_TEMPERATURE_GPU`.
const SENSOR_GPU: c_uint = 0;

type Return = c_int;
type Device = *mut c_void;
type Plain = unsafe extern "C" fn() -> Return;
type Find = unsafe extern "C" fn(*const c_char, *mut Device) -> Return;
type Text = unsafe extern "C" fn(Device, *mut c_char, c_uint) -> Return;
type Number = unsafe extern "C" fn(Device, *mut c_uint) -> Return;
type NumberOf = unsafe extern "C" fn(Device, c_uint, *mut c_uint) -> Return;

/// A clock, by its `nvmlClockType_t`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Clock {
    /// Multiprocessors.
    Sm = 1,
    /// Memory.
    Memory = 2,
}

/// A card, for as long as the library is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(Device);

// SAFETY: an opaque number to NVML, which may be used from any thread.
unsafe impl Send for Handle {}

/// The library, initialised.
pub(super) struct Nvml {
    library: Library,
}

impl Nvml {
    pub(super) fn open() -> Result<Self, String> {
        // SAFETY: the driver's own library, whose constructors are the system's business.
        let library = unsafe { Library::new(LIBRARY) }.map_err(|_| format!("no {LIBRARY}"))?;
        let nvml = Self { library };
        // SAFETY: takes nothing; may be called any number of times.
        let code = unsafe { nvml.symbol::<Plain>(b"nvmlInit_v2\0")?() };
        nvml.check("nvmlInit", code).map(|()| nvml)
    }

    pub(super) fn by_uuid(&self, uuid: &str) -> Result<Handle, String> {
        self.find(b"nvmlDeviceGetHandleByUUID\0", uuid)
    }

    pub(super) fn by_pci(&self, bus: &str) -> Result<Handle, String> {
        self.find(b"nvmlDeviceGetHandleByPciBusId_v2\0", bus)
    }

    pub(super) fn uuid(&self, device: Handle) -> Result<String, String> {
        self.text(b"nvmlDeviceGetUUID\0", device)
    }

    pub(super) fn name(&self, device: Handle) -> Result<String, String> {
        self.text(b"nvmlDeviceGetName\0", device)
    }

    pub(super) fn driver(&self) -> Result<String, String> {
        let version = self
            .symbol::<unsafe extern "C" fn(*mut c_char, c_uint) -> Return>(b"nvmlSystemGetDriverVersion\0")?;
        // SAFETY: writes at most the given length, its end included.
        self.written("driver version", |text, length| unsafe { version(text, length) })
    }

    pub(super) fn clock(&self, device: Handle, clock: Clock) -> Option<u32> {
        self.number_of(b"nvmlDeviceGetClockInfo\0", device, clock as c_uint)
    }

    pub(super) fn max_clock(&self, device: Handle, clock: Clock) -> Option<u32> {
        self.number_of(b"nvmlDeviceGetMaxClockInfo\0", device, clock as c_uint)
    }

    pub(super) fn temperature(&self, device: Handle) -> Option<u32> {
        self.number_of(b"nvmlDeviceGetTemperature\0", device, SENSOR_GPU)
    }

    pub(super) fn power(&self, device: Handle) -> Option<u32> {
        self.number(b"nvmlDeviceGetPowerUsage\0", device)
    }

    pub(super) fn power_limit(&self, device: Handle) -> Option<u32> {
        self.number(b"nvmlDeviceGetEnforcedPowerLimit\0", device)
    }

    /// Bits of why clocks are low; the older name is that of drivers before branch 535.
    pub(super) fn reasons(&self, device: Handle) -> Option<u64> {
        type Reasons = unsafe extern "C" fn(Device, *mut c_ulonglong) -> Return;
        let ask = self
            .symbol::<Reasons>(b"nvmlDeviceGetCurrentClocksEventReasons\0")
            .or_else(|_| self.symbol::<Reasons>(b"nvmlDeviceGetCurrentClocksThrottleReasons\0"));
        let mut mask = 0;
        // SAFETY: a handle of this library, and a place for its answer.
        (unsafe { ask.ok()?(device.0, &raw mut mask) } == SUCCESS).then_some(mask)
    }

    fn find(&self, name: &[u8], id: &str) -> Result<Handle, String> {
        let text = CString::new(id).map_err(|_| format!("{id:?} names no card"))?;
        let mut device: Device = std::ptr::null_mut();
        // SAFETY: a text with its end, and a place for the handle.
        let code = unsafe { self.symbol::<Find>(name)?(text.as_ptr(), &raw mut device) };
        self.check(id, code).map(|()| Handle(device))
    }

    fn text(&self, name: &[u8], device: Handle) -> Result<String, String> {
        let ask = self.symbol::<Text>(name)?;
        // SAFETY: a handle of this library; writes at most the given length, its end included.
        self.written("name of a card", |text, length| unsafe { ask(device.0, text, length) })
    }

    fn written(&self, what: &str, write: impl Fn(*mut c_char, c_uint) -> Return) -> Result<String, String> {
        let mut text = [0_u8; TEXT_MAX];
        self.check(what, write(text.as_mut_ptr().cast(), TEXT_MAX as c_uint))?;
        let text = CStr::from_bytes_until_nul(&text).map_err(|_| format!("{what}: no end"))?;
        Ok(text.to_string_lossy().into_owned())
    }

    fn number(&self, name: &[u8], device: Handle) -> Option<u32> {
        let mut value = 0;
        // SAFETY: a handle of this library, and a place for its answer.
        (unsafe { self.symbol::<Number>(name).ok()?(device.0, &raw mut value) } == SUCCESS).then_some(value)
    }

    fn number_of(&self, name: &[u8], device: Handle, of: c_uint) -> Option<u32> {
        let mut value = 0;
        // SAFETY: as in `number`.
        let code = unsafe { self.symbol::<NumberOf>(name).ok()?(device.0, of, &raw mut value) };
        (code == SUCCESS).then_some(value)
    }

    /// The function of this name.
    fn symbol<T>(&self, name: &[u8]) -> Result<Symbol<'_, T>, String> {
        // SAFETY: every caller gives the type that NVML's interface has for the name.
        unsafe { self.library.get::<T>(name) }
            .map_err(|_| format!("{LIBRARY} has no {}", String::from_utf8_lossy(name).trim_end_matches('\0')))
    }

    /// NVML's own words for a failure.
    fn check(&self, what: &str, code: Return) -> Result<(), String> {
        if code == SUCCESS {
            return Ok(());
        }
        let words = self.symbol::<unsafe extern "C" fn(Return) -> *const c_char>(b"nvmlErrorString\0")?;
        // SAFETY: any code has a constant text.
        let words = unsafe { CStr::from_ptr(words(code)) };
        Err(format!("{what}: {} ({code})", words.to_string_lossy()))
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        if let Ok(shutdown) = self.symbol::<Plain>(b"nvmlShutdown\0") {
            // SAFETY: ends what `open` began; NVML counts.
            let _ = unsafe { shutdown() };
        }
    }
}

impl fmt::Debug for Nvml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nvml")
    }
}
