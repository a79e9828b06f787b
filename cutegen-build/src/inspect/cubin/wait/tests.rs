//! Synthetic streams: instructions as NVRTC 13.0 makes them for sm_90, by what `nvdisasm` 13.5 prints of them.

use super::{Access, Wait, wait};

type Word = (u64, u64);

const LDG: Word = (0x0000_0004_0202_7981, 0x000e_a200_0c1e_1900);
const STG: Word = (0x0000_0007_0400_7986, 0x000f_e200_0c10_1904);
const LDC: Word = (0x0000_8400_ff02_7b82, 0x000e_2200_0000_0a00);
const LDS: Word = (0x0000_0000_ff04_7984, 0x000f_e200_0000_0800);
const SYNCS: Word = (0x0000_0004_0600_75b2, 0x0000_6200_0800_0100);
const ACQBULK: Word = (0x0000_0000_0000_782e, 0x000f_cc00_0000_0000);
/// The same under `@P0`.
const SOME_ACQBULK: Word = (0x0000_0000_0000_082e, 0x000f_cc00_0000_0000);
const PREEXIT: Word = (0x0000_0000_0000_782d, 0x000f_cc00_0000_0000);
const EXIT: Word = (0x0000_0000_0000_794d, 0x000f_ea00_0380_0000);
const SOME_EXIT: Word = (0x0000_0000_0000_094d, 0x000f_ea00_0380_0000);
const RET: Word = (0x0000_0000_0200_7950, 0x000f_ea00_03c0_0000);
const UBLKCP_LOAD: Word = (0x0000_0006_0800_73ba, 0x0001_f400_0800_0204);
const UBLKCP_STORE: Word = (0x0000_0006_0500_73ba, 0x0001_e400_0800_0404);
const UBLKCP_WITHIN: Word = (0x0000_0006_0600_73ba, 0x0001_f400_0800_0604);
const PREFETCH: Word = (0x0000_0000_0200_798f, 0x001f_e200_0080_0100);
const DISCARD: Word = (0x0000_0000_0200_798f, 0x001f_e200_0580_0100);
const INVALIDATE: Word = (0x0000_0000_ff00_798f, 0x004f_e200_0200_0000);
const BRX: Word = (0x0000_0000_0400_7949, 0x000f_ea00_0383_ffff);
/// No operation of any architecture that was looked at.
const STRANGE: Word = (0x0000_0000_0000_71fe, 0x000f_ea00_0380_0000);
const BSYNC: Word = (0x0000_0000_0000_7941, 0x000f_ea00_0380_0000);

/// Bits of a distance of so many instructions, from the one behind a branch: lowest 8 at bit 16, others from bit 34 on.
fn branch((low, high): Word, by: i64) -> Word {
    let fours = (by * 4).cast_unsigned();
    let far = fours >> 8;
    let low = low & !0xff_0000 & 0x3_ffff_ffff | (fours & 0xff) << 16 | far << 34;
    (low, high & !0x3_ffff | far >> 30 & 0x3_ffff)
}

fn bra(by: i64) -> Word {
    branch((0x7947, 0x000f_c000_0380_0000), by)
}

/// Under `@P0`.
fn some_bra(by: i64) -> Word {
    branch((0x0947, 0x000f_ea00_0380_0000), by)
}

/// `BRA.DIV`: where threads are apart.
fn div_bra(by: i64) -> Word {
    branch((0x0000_0002_0400_7947, 0x000f_ea00_0b80_0000), by)
}

fn call(by: i64) -> Word {
    branch((0x7944, 0x000f_ea00_03c0_0000), by)
}

/// `RET`s distance is to the kernel's beginning.
fn ret(at: i64) -> Word {
    branch(RET, -at - 1)
}

/// `BSSY.RECONVERGENT B0`, whose distance is in bytes.
fn bssy(by: i64) -> Word {
    (0x7945 | (by * 16).cast_unsigned() << 32, 0x000f_e800_0380_0200)
}

/// `MOV R2` of the address of an instruction.
fn mov(place: u64) -> Word {
    ((place * 16) << 32 | 0x0002_7802, 0x000f_e200_0000_0f00)
}

fn of(words: &[Word]) -> Wait {
    let bytes = |(low, high): &Word| [low.to_le_bytes(), high.to_le_bytes()].concat();
    wait(&words.iter().flat_map(bytes).collect::<Vec<u8>>(), 0)
}

fn late(what: &'static str, place: usize) -> Wait {
    Wait::Late(Access { what, at: place * 16 })
}

fn ahead(what: &'static str, place: usize) -> Wait {
    Wait::Ahead(Access { what, at: place * 16 })
}

#[test]
fn distances_are_read_as_they_are_printed() {
    // of one cubin: `BRA` to itself, `BSSY B0` at 0x50 to 0x1b0, `BSSY B1` at 0xb0 to 0x140
    assert_eq!(bra(-1), (0xffff_fffc_00fc_7947, 0x000f_c000_0383_ffff));
    assert_eq!(bssy(0x15).0, 0x0000_0150_0000_7945);
    assert_eq!(bssy(8).0 | 1 << 16, 0x0000_0080_0001_7945);
}

#[test]
fn what_comes_first_counts() {
    assert_eq!(of(&[LDC, PREEXIT, LDS, SYNCS, ACQBULK, LDG, STG, EXIT]), Wait::First);
    assert_eq!(of(&[LDC, PREEXIT, LDG, ACQBULK, LDG, STG, EXIT]), ahead("a load (`LDG`)", 2));
    assert_eq!(of(&[LDG, STG, ACQBULK, EXIT]), late("a store (`STG`)", 1));
    assert_eq!(of(&[LDG, STG, EXIT]), Wait::Never);
    assert_eq!(of(&[LDC, ACQBULK, EXIT]), Wait::First);
    assert_eq!(of(&[]), Wait::Never);
}

#[test]
fn copies_and_cache_hints_go_by_what_they_do() {
    let first = |word: Word| of(&[word, ACQBULK, EXIT]);
    assert_eq!(first(UBLKCP_LOAD), ahead("a bulk copy (`UBLKCP`)", 0));
    assert_eq!(first(UBLKCP_STORE), late("a bulk copy to global memory (`UBLKCP`)", 0));
    assert_eq!(first(UBLKCP_WITHIN), Wait::First);
    assert_eq!(first(PREFETCH), ahead("a prefetch (`CCTL`)", 0));
    assert_eq!(first(DISCARD), late("a discard (`CCTL`)", 0));
    assert_eq!(first(INVALIDATE), Wait::First);
}

#[test]
fn every_path_counts() {
    assert_eq!(of(&[some_bra(2), ACQBULK, EXIT, STG, EXIT]), late("a store (`STG`)", 3), "waits on one side");
    assert_eq!(
        of(&[some_bra(3), ACQBULK, STG, EXIT, ACQBULK, STG, EXIT]),
        Wait::First,
        "a wait in each role"
    );
    assert_eq!(of(&[SOME_EXIT, ACQBULK, STG, EXIT]), Wait::First, "leaves before");
    assert_eq!(of(&[SOME_ACQBULK, STG, EXIT]), late("a store (`STG`)", 1), "skipped by some");
    assert_eq!(of(&[LDC, some_bra(-2), ACQBULK, STG, EXIT]), Wait::First, "a loop before");
    assert_eq!(of(&[some_bra(2), ACQBULK, bra(-3), STG, EXIT]), late("a store (`STG`)", 3), "in a loop");
    assert_eq!(of(&[bra(2), STG, EXIT, ACQBULK, bra(-4)]), Wait::First, "by address the store comes first");
    assert_eq!(
        of(&[div_bra(2), ACQBULK, EXIT, LDG, bra(-4)]),
        ahead("a load (`LDG`)", 3),
        "where threads part"
    );
}

#[test]
fn threads_that_part_meet_where_they_were_told() {
    assert_eq!(of(&[bssy(2), some_bra(0), BSYNC, ACQBULK, STG, EXIT]), Wait::First);
    let elsewhere = of(&[bssy(3), some_bra(0), BSYNC, ACQBULK, STG, EXIT]);
    assert_eq!(elsewhere, late("a branch that cannot be followed", 2));
}

#[test]
fn functions_are_followed() {
    let calling = |function: &[Word]| of(&[&[mov(2), call(3), ACQBULK, STG, EXIT], function].concat());
    assert_eq!(calling(&[LDS, ret(6)]), Wait::First);
    assert_eq!(calling(&[LDG, ret(6)]), ahead("a load (`LDG`)", 5));
    assert_eq!(of(&[mov(2), call(2), STG, EXIT, LDS, ret(5)]), Wait::Never);
    assert_eq!(of(&[mov(2), call(2), STG, EXIT, ACQBULK, ret(5)]), Wait::First, "it waits there");
    let twice = [mov(2), call(4), mov(4), call(2), STG, EXIT, ACQBULK, SOME_EXIT, ret(8)];
    assert_eq!(of(&twice), Wait::First);
    let some = [mov(2), call(4), STG, EXIT, EXIT, EXIT, SOME_ACQBULK, ret(7), ACQBULK];
    assert_eq!(of(&some), late("a store (`STG`)", 2), "it waits there in some threads");
    let unknown = of(&[LDC, call(2), ACQBULK, EXIT, ret(4)]);
    assert_eq!(unknown, late("a call that cannot be followed", 1), "no address to return to");
}

#[test]
fn what_cannot_be_followed_counts_as_a_store() {
    assert_eq!(of(&[BRX, ACQBULK, EXIT]), late("an instruction that cannot be followed", 0));
    assert_eq!(of(&[STRANGE, ACQBULK, EXIT]), late("an instruction that cannot be followed", 0));
    assert_eq!(of(&[ACQBULK, BRX, STRANGE]), Wait::First, "behind the wait anything may come");
    assert_eq!(of(&[bra(8), ACQBULK]), late("a jump out of its code", 9));
    assert_eq!(of(&[LDC, ret(1), ACQBULK]), Wait::First, "nothing called it");
}
