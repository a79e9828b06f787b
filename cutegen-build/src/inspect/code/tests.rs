//! Code that no compiler writes, and some that compilers do.

use std::collections::BTreeMap;

use super::super::object::{Image, Target};
use super::problems;

fn image(code: &[u8], fixes: &[(u32, Target)]) -> Image {
    Image {
        code: code.to_vec(),
        entry: 0,
        entry_bytes: 0,
        constants: vec![0; 64],
        fixes: BTreeMap::from_iter(fixes.iter().cloned()),
    }
}

fn said(code: &[u8]) -> Vec<String> {
    problems(&image(code, &[]))
}

#[test]
fn what_leads_elsewhere_is_refused() {
    for (code, words) in [
        (
            &[0xff, 0xd0, 0xc3][..],
            "its code has a `call` through a register or memory, which may lead anywhere, at 0x0",
        ),
        (
            &[0x90, 0xff, 0xe0],
            "its code has a `jmp` through a register or memory, which may lead anywhere, at 0x1",
        ),
        (
            &[0xff, 0x25, 0, 0, 0, 0],
            "its code has a `jmp` through a register or memory, which may lead anywhere, at 0x0",
        ),
        (
            &[0xff, 0x18],
            "its code has a `call` through a register or memory, which may lead anywhere, at 0x0",
        ),
        (&[0x0f, 0x05, 0xc3], "its code has a `syscall` at 0x0"),
        (&[0x0f, 0x34, 0xc3], "its code has a `sysenter` at 0x0"),
        (&[0xcd, 0x80, 0xc3], "its code has a `int` at 0x0"),
        (&[0xcc, 0xc3], "its code has a `int3` at 0x0"),
        (&[0xf4, 0xc3], "its code has a `hlt` at 0x0"),
        (&[0xe4, 0x10, 0xc3], "its code has a `in` at 0x0"),
        (&[0xcb], "its code has a `retf` at 0x0"),
        (&[0x48, 0xcf], "its code has a `iretq` at 0x0"),
        (&[0xc2, 8, 0], "its code has a `ret` at 0x0"),
        (&[0x0f, 0xc7, 0xf0, 0xc3], "its code has a `rdrand` at 0x0"),
        (&[0xc7, 0xf8, 0, 0, 0, 0, 0xc3], "its code has a `xbegin` at 0x0"),
        (&[0x8e, 0xe0, 0xc3], "its code has a `mov` at 0x0"),
        (
            &[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0, 0xc3],
            "its code reads what belongs to a thread at 0x0",
        ),
        (&[0x06, 0xc3], "its code has bytes that are no instruction at 0x0"),
        (&[0x90, 0x90], "its code runs past its end at 0x2"),
        (&[0xe9, 0, 0x10, 0, 0], "its code jumps out of itself at 0x0"),
        (&[0xe8, 0, 0, 0, 0x80, 0xc3], "its code jumps out of itself at 0x0"),
        // `mov eax, imm32` with a system call in the constant, and a jump there
        (&[0xb8, 0x0f, 0x05, 0xc3, 0x90, 0xeb, 0xfa], "its code jumps into an instruction at 0x1"),
    ] {
        assert_eq!(said(code), [words], "{code:x?}");
    }
}

#[test]
fn stacks_are_counted() {
    for (code, words) in [
        (
            &[0x48, 0x81, 0xec, 0x08, 0, 1, 0, 0xc3][..],
            "its code takes 65544 bytes of stack, at most 65536 in a frame, at 0x0",
        ),
        (
            &[0x48, 0x81, 0xc4, 0xf8, 0xff, 0xfe, 0xff, 0xc3],
            "its code takes 65544 bytes of stack, at most 65536 in a frame, at 0x0",
        ),
        (
            &[0x48, 0x8d, 0xa4, 0x24, 0, 0, 0xfe, 0xff, 0xc3],
            "its code takes 131072 bytes of stack, at most 65536 in a frame, at 0x0",
        ),
        (
            &[0x4c, 0x8d, 0x9c, 0x24, 0, 0, 0xfe, 0xff, 0xc3],
            "its code takes 131072 bytes of stack, at most 65536 in a frame, at 0x0",
        ),
        (&[0x48, 0x29, 0xc4, 0xc3], "its code moves its stack by what it computes (`sub`) at 0x0"),
        (&[0x48, 0x8d, 0x24, 0x04, 0xc3], "its code moves its stack by what it computes (`lea`) at 0x0"),
        (&[0x48, 0x21, 0xc4, 0xc3], "its code moves its stack by what it computes (`and`) at 0x0"),
        (&[0x48, 0x8b, 0x20, 0xc3], "its code moves its stack by what it computes (`mov`) at 0x0"),
        (&[0x48, 0x94, 0xc3], "its code moves its stack by what it computes (`xchg`) at 0x0"),
        (&[0x5c, 0xc3], "its code moves its stack by what it computes (`pop`) at 0x0"),
        (&[0x31, 0xe4, 0xc3], "its code moves its stack by what it computes (`xor`) at 0x0"),
        (&[0xc8, 0x10, 0, 0, 0xc3], "its code moves its stack by what it computes (`enter`) at 0x0"),
    ] {
        assert_eq!(said(code), [words], "{code:x?}");
    }
    // push rbp, mov rbp rsp, and rsp -32, sub rsp 65536, leave, ret
    let honest = [0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0, 0x48, 0x81, 0xec, 0, 0, 1, 0, 0xc9, 0xc3];
    assert_eq!(said(&honest), [""; 0]);
}

/// A function takes 60,000 bytes and calls the next: the third goes too far.
#[test]
fn chains_of_calls_are_as_deep_as_a_stack_allows() {
    let chain = |functions: usize| {
        let one = |last: bool| {
            let mut code = vec![0x48, 0x81, 0xec, 0x60, 0xea, 0, 0];
            code.extend(if last { [0x90; 5] } else { [0xe8, 8, 0, 0, 0] });
            code.extend([0x48, 0x81, 0xc4, 0x60, 0xea, 0, 0, 0xc3]);
            code
        };
        (1..=functions).flat_map(|number| one(number == functions)).collect::<Vec<u8>>()
    };
    assert_eq!(said(&chain(2)), [""; 0]);
    assert_eq!(said(&chain(3)), ["its calls may take 180032 bytes of stack one in another: at most 131072"]);
}

#[test]
fn circles_of_calls_are_found() {
    let recursion = |at: &str| {
        [format!("the function at {at} of its code calls itself, or others that do: no recursion")]
    };
    assert_eq!(said(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3]), recursion("0x0"));
    // the entry calls a function, which calls one that calls it back; both call a fourth
    let two = [
        0xe8, 1, 0, 0, 0, 0xc3, // 0: call 6
        0xe8, 6, 0, 0, 0, 0xe8, 12, 0, 0, 0, 0xc3, // 6: call 17, call 28
        0xe8, 0xf0, 0xff, 0xff, 0xff, 0xe8, 1, 0, 0, 0, 0xc3, // 17: call 6, call 28
        0xc3,
    ];
    let found = said(&two);
    assert!(found == recursion("0x6") || found == recursion("0x11"), "{found:?}");
    // a jump back to the beginning is a loop
    assert_eq!(said(&[0xeb, 0xfe]), [""; 0]);
    // one function called from two places is none
    assert_eq!(said(&[0xe8, 6, 0, 0, 0, 0xe8, 1, 0, 0, 0, 0xc3, 0xc3]), [""; 0]);
}

#[test]
fn linkers_fill_in_what_is_called_and_what_is_addressed() {
    let (function, constant) = (Target::Function("expf".to_owned()), Target::Constant(8));
    let call = [0xe8, 0, 0, 0, 0, 0xc3];
    let load = [0xc5, 0xfa, 0x10, 0x05, 0, 0, 0, 0, 0xc3];
    let number = [0xb8, 0, 0, 0, 0, 0xc3];
    assert_eq!(problems(&image(&call, &[(1, function.clone())])), [""; 0]);
    assert_eq!(problems(&image(&load, &[(4, constant.clone())])), [""; 0]);
    for (code, at, target) in [
        (&call[..], 1, &constant),
        (&call[..], 2, &function),
        (&load[..], 4, &function),
        (&load[..], 3, &constant),
        (&number[..], 1, &constant),
        (&number[..], 1, &function),
    ] {
        let found = problems(&image(code, &[(at, target.clone())]));
        assert!(found[0].contains("that compilers don't write at 0x0"), "{code:x?}: {found:?}");
    }
}

/// Whatever it is, it is read to an end.
#[test]
fn noise_is_read_without_a_panic() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    for _ in 0..20_000 {
        let code: Vec<u8> = (0..next() % 48 + 1).map(|_| next() as u8).collect();
        let fix = (next() % 48, Target::Constant(next() as i32));
        let mut image = image(&code, &[fix]);
        image.entry = next() % code.len() as u32;
        problems(&image);
    }
}
