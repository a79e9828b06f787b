//! What errors say.

use super::Error;

fn check(error: Error, expected: &str) {
    assert_eq!(error.to_string(), expected);
}

#[test]
fn messages_name_kernel_and_remedy() {
    check(
        Error::ShapeMismatch { kernel: "k", argument: "x", dimension: 1, expected: 4096, found: 4095 },
        "k: dimension 1 of argument `x` is 4095 where the axes give 4096; \
         correct the view's shape or the axis",
    );
    check(
        Error::DriverTooOld { needed: 580, found: 570 },
        "needs driver >= 580, as all that NVRTC 13.0 compiles does, found 570; update the NVIDIA driver",
    );
    check(
        Error::Overlap { kernel: "k", argument: "y", other: "x" },
        "k: output `y` shares memory with `x`; use separate memory, or declare an `inout` in the spec",
    );
    assert!(Error::CaptureNeedsTrackingOff { kernel: "k" }.to_string().contains("disable_event_tracking"));
}

/// A search changes no lock, so a message that ended there would lead to the next failure.
#[test]
fn a_changed_spec_is_searched_and_accepted_or_locked() {
    let again =
        "`cargo cutegen tune k && cargo cutegen accept k`, or for an untuned kernel `cargo cutegen lock k`";
    for error in [
        Error::AxisOutOfRange { kernel: "k", axis: "m", found: 9, lo: 1, hi: 8 },
        Error::AxisNotMultiple { kernel: "k", axis: "m", found: 9, multiple_of: 8 },
        Error::Overflow { kernel: "k", what: "m" },
        Error::GridTooLarge { kernel: "k", blocks: [1, 65_536, 1] },
    ] {
        assert!(error.to_string().ends_with(again), "{error}");
    }
    let resident = Error::NotCoResident { kernel: "k", needed: 132, found: 114 }.to_string();
    assert!(resident.contains("`cargo cutegen tune k --again && cargo cutegen accept k`"), "{resident}");
}

#[test]
fn a_device_without_a_kernel_is_told_the_targets_that_there_are() {
    let told = |arch: &str| {
        let (device, arch, targets) = ("GPU".to_owned(), arch.to_owned(), "none".to_owned());
        Error::NoEntryForDevice { kernel: "k", device, arch, targets }.to_string()
    };
    assert_eq!(
        told("sm_90"),
        "k: no kernel for GPU (sm_90), this build has none; add `sm_90a` to `targets` and run `cargo cutegen \
         tune k && cargo cutegen accept k`, or for an untuned kernel `cargo cutegen lock k`"
    );
    for (arch, target) in [("sm_86", "sm_80"), ("sm_103", "sm_100f"), ("sm_121", "sm_120f")] {
        assert!(told(arch).contains(&format!("; add `{target}` to `targets` and run")), "{}", told(arch));
    }
    assert_eq!(
        told("sm_87"),
        "k: no kernel for GPU (sm_87), this build has none; no target is for it: there are targets for compute \
         capability 8.0 and newer, and none for Tegra; declare `host` and call `kernels::host`"
    );
}

#[test]
fn a_kernel_that_a_capture_would_load_is_named() {
    let told = Error::NotLoadedInCapture { kernel: "k", variant: "v8" }.to_string();
    let expected = "k: its variant `v8` is called for the first time during a capture, which loads no module; call \
                    `Kernels::warm()` before the capture";
    assert_eq!(told, expected);
}

#[test]
fn an_error_stays_cheap_to_return() {
    assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
}
