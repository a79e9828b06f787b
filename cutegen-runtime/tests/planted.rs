//! Faults to be found: each is one that the rest of the tests must be free of. `.ci/asan` starts this with a name and fails
//! where the sanitizer doesn't report it. Not run with the tests: without a sanitizer nothing may show.

use cutegen_runtime::host::{Workspace, call};
use cutegen_runtime::{AsView, AsViewMut, params};
use std::ffi::c_void;

/// Writes a byte at an address.
unsafe extern "C" fn write(params: *mut *mut c_void) {
    // SAFETY: none; that is the point.
    unsafe { ***params.cast::<*mut *mut u8>() = 1 };
}

/// Enters a kernel as a wrapper does.
fn write_at(address: *mut u8) {
    // SAFETY: none; that is the point.
    unsafe { call(write, &mut params![address]) };
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    match name.as_str() {
        "output" => {
            let mut y = vec![0_u8; 24];
            let mut view = y.view_mut([24]);
            write_at(view.as_mut_ptr().wrapping_add(24));
        }
        "workspace" => {
            let mut workspace = Workspace::with_bytes(1);
            let start = workspace.ready("k", 1).expect("memory");
            write_at(start.wrapping_add(workspace.bytes()));
        }
        "freed" => {
            let x = vec![0_u8; 24];
            let kept = x.view([24]).as_ptr();
            drop(x);
            write_at(kept.cast_mut());
        }
        other => panic!("no fault `{other}`"),
    }
    println!("nothing was found");
}
