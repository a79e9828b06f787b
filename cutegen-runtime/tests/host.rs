//! The host side as an emitted wrapper goes through it, over allocations of exactly the size that is needed: checks, views,
//! workspace, entry. `.ci/asan` runs this under AddressSanitizer, which sees each byte outside of them.

use cutegen_runtime::check::Check;
use cutegen_runtime::host::{Workspace, call};
use cutegen_runtime::{AsView, AsViewMut, Error, Int, View, ViewMut, params};
use std::ffi::c_void;

/// `y[i * stride] = table[ids[i]] + sum of the ids before i`, that sum kept in the workspace; `table` has `v` elements.
unsafe extern "C" fn gather(params: *mut *mut c_void) {
    // SAFETY: the wrapper passes these six, checked.
    unsafe {
        let (n, stride) = (**params.cast::<*mut i64>(), **params.add(1).cast::<*mut i64>());
        let ids = **params.add(2).cast::<*mut *const i32>();
        let table = **params.add(3).cast::<*mut *const f32>();
        let y = **params.add(4).cast::<*mut *mut f32>();
        let sums = **params.add(5).cast::<*mut *mut i64>();
        for i in 0..n as usize {
            let id = *ids.add(i);
            *y.add(i * stride as usize) = *table.add(id as usize) + *sums.add(i) as f32;
            *sums.add(i + 1) = *sums.add(i) + i64::from(id);
        }
    }
}

fn wrapper(
    workspace: &mut Workspace,
    n: usize,
    ids: View<'_, i32, 1>,
    table: View<'_, f32, 1>,
    mut y: ViewMut<'_, f32, 1>,
) -> Result<(), Error> {
    let check = Check::new("gather");
    let v = table.layout().shape()[0];
    check.shape("ids", ids.layout(), [n])?;
    check.row_major("ids", ids.layout())?;
    check.shape("table", table.layout(), [v])?;
    check.row_major("table", table.layout())?;
    check.shape("y", y.layout(), [n])?;
    check.injective("y", y.layout())?;
    if y.layout().is_empty() {
        return Ok(());
    }
    check.within("ids", ids.integers([n]), Int::new(0), Int::from(v))?;
    let bytes = check.count("workspace", Int::padded((Int::from(n) + 1) * 8))?;
    let sums = workspace.ready("gather", bytes)?;
    let (stride, ids, table, y) = (y.layout().strides()[0], ids.as_ptr(), table.as_ptr(), y.as_mut_ptr());
    let (n, stride) = (n as i64, stride as i64);
    // SAFETY: the part lies in the workspace, and the parameters are those of `gather`, checked above.
    unsafe {
        sums.write_bytes(0, bytes);
        call(gather, &mut params![n, stride, ids, table, y, sums]);
    }
    Ok(())
}

#[test]
fn a_call_touches_its_memory_and_no_more() {
    let mut workspace = Workspace::new();
    for n in [0, 1, 2, 31, 32, 33, 257] {
        for (stride, v) in [(1, 1), (3, 5), (8, 64)] {
            let ids: Vec<i32> = (0..n).map(|i| (i * 7 % v) as i32).collect();
            let table: Vec<f32> = (0..v).map(|i| i as f32 / 2.0).collect();
            let reach = if n == 0 { 0 } else { (n - 1) * stride + 1 };
            let mut y = vec![-1.0_f32; reach];
            let view = y.view_mut([n]).with_strides([stride]);
            wrapper(&mut workspace, n, ids.view([n]), table.view([v]), view).expect("a right call");
            let mut sum = 0;
            for (i, id) in ids.iter().enumerate() {
                assert_eq!(y[i * stride], table[*id as usize] + sum as f32, "{n} {stride} {v} {i}");
                sum += *id;
            }
            assert!(y.iter().enumerate().all(|(i, y)| i % stride == 0 || *y == -1.0), "a gap was written");
        }
    }
}

/// Wherever it stands, and nothing has been written then.
#[test]
fn one_value_outside_refuses_the_call() {
    let (table, n) = (vec![0.5_f32; 4], 100);
    for at in 0..n {
        for wrong in [-1, 4, i32::MIN, i32::MAX] {
            let (mut ids, mut y) = (vec![3; n], vec![-1.0_f32; n]);
            ids[at] = wrong;
            let said = wrapper(&mut Workspace::new(), n, ids.view([n]), table.view([4]), y.view_mut([n]));
            let is_named = |error: &Error| matches!(error, Error::ValueOutOfRange { element, value, .. } if (*element, *value) == (at, i64::from(wrong)));
            assert!(said.as_ref().is_err_and(is_named), "{said:?}");
            assert!(y.iter().all(|y| *y == -1.0));
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (table, ids) = (vec![0.5_f32; 4], vec![0; 4]);
    let say = |n: usize, ids: View<'_, i32, 1>, stride: usize| {
        let mut y = vec![0.0_f32; 4];
        let y = y.view_mut([4]).with_strides([stride]);
        wrapper(&mut Workspace::new(), n, ids, table.view([4]), y).map_err(|error| error.to_string())
    };
    let repeated = ids.view([1 << 63]).with_strides([0]);
    for (said, expected) in [
        (say(4, ids.view([4]), 1), ""),
        (say(5, ids.view([5]), 1), "argument `ids` has 4 elements where its view needs 5"),
        (say(4, ids.view([4]), 2), "argument `y` has 4 elements where its view needs 7"),
        (say(4, ids.view([4]), 0), "two indices of output `y` share an element"),
        (say(1 << 63, repeated, 1), "the extents of argument `ids` overflow"),
    ] {
        let text = said.err().unwrap_or_default();
        assert!(text.contains(expected) && text.is_empty() == expected.is_empty(), "{text}, not {expected}");
    }
}
