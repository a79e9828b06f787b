//! What is checked beside the cases: tile schedulers, planes of f32, points that the space has not, and that each of these fails for a
//! template with a fault.

use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::plan::Plan;

use crate::{Check, build, judged, plan, products, proposed};

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("tiles", tiles),
    ("tiles of wgmma", wgmma_tiles),
    ("pieces of f32", pieces),
    ("altered: a step of k", |plans, folder, headers| altered(plans, folder, headers, &ALTERED[0])),
    ("altered: three steps of k", |plans, folder, headers| altered(plans, folder, headers, &ALTERED[1])),
    ("altered: passes of exchanged sides", |plans, folder, headers| {
        altered(plans, folder, headers, &ALTERED[2])
    }),
    ("pairs of one layout", pairs),
    ("fault: fragments exchanged", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[0])),
    ("fault: no wait", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[1])),
    ("fault: no barrier", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[2])),
    ("fault: no zeros", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[3])),
    ("fault: no barrier of a pass", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[4])),
    ("fault: a stage too far", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[5])),
    ("fault: weights that have not come", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[6])),
    ("fault: a slot filled before it is read", |plans, folder, headers| {
        fault(plans, folder, headers, &FAULTS[7])
    }),
    ("fault: halves of lanes exchanged", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[8])),
    ("fault: sums of one tile", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[9])),
    ("fault: columns behind the last", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[10])),
    ("fault: terms behind the last", |plans, folder, headers| fault(plans, folder, headers, &FAULTS[11])),
];

/// A candidate with other text: folder, kernel, candidate, extents, what is replaced.
struct Altered {
    folder: &'static str,
    kernel: &'static str,
    candidate: &'static str,
    shape: &'static [i64],
    texts: &'static [(&'static str, &'static str)],
}

/// Instructions of k that no point of the space has, and passes.
const ALTERED: [Altered; 3] = [
    Altered {
        folder: "one-step",
        kernel: "tn",
        candidate: "t64x64x64s3w2x2x1",
        shape: &[72, 72, 100],
        texts: &[("int BK = 64;", "int BK = 16;")],
    },
    Altered {
        folder: "three-steps",
        kernel: "nt",
        candidate: "x64x64x64s3w2x2x1e",
        shape: &[65, 67, 331],
        texts: &[("int BK = 64;", "int BK = 48;")],
    },
    Altered {
        folder: "passes",
        kernel: "nt",
        candidate: "x64x64x64s3w4x1x1",
        shape: &[65, 72, 104],
        texts: &[("int BK = 64;", "int BK = 16;"), ("int SMEM = 49152;", "int SMEM = 12288;")],
    },
];

const FAULTS: [Altered; 12] = [
    Altered {
        folder: "exchanged",
        kernel: "nt",
        candidate: "t64x64x64s3w2x2x1",
        shape: &[64, 64, 64],
        texts: &[("ldmatrix(to[0], to[1], to[2], to[3],", "ldmatrix(to[0], to[2], to[1], to[3],")],
    },
    Altered {
        folder: "no-wait",
        kernel: "nt",
        candidate: "t64x64x64s3w2x2x1",
        shape: &[64, 64, 320],
        texts: &[("cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();")],
    },
    Altered {
        folder: "no-barrier",
        kernel: "nt",
        candidate: "t64x64x64s3w2x2x1",
        shape: &[64, 64, 320],
        texts: &[("cp_async_wait<STAGES - 2>();\n        __syncthreads();", "cp_async_wait<STAGES - 2>();")],
    },
    Altered {
        folder: "no-zeros",
        kernel: "nt",
        candidate: "t64x64x64s3w2x2x1",
        shape: &[64, 64, 40],
        texts: &[("in ? BYTES : 0", "BYTES")],
    },
    Altered {
        folder: "no-pass",
        kernel: "nt",
        candidate: "t128x256x32s3w2x4x1",
        shape: &[128, 256, 32],
        texts: &[("if (pass > 0) __syncthreads();", "")],
    },
    Altered {
        folder: "too-far",
        kernel: "nt",
        candidate: "t64x64x64s3w2x2x1",
        shape: &[64, 64, 320],
        texts: &[("const Stage to = stage_at(ring, next);", "const Stage to = stage_at(ring, slot);")],
    },
    Altered {
        folder: "not-come",
        kernel: "nt",
        candidate: "v1x8s3w1x8u1",
        shape: &[1, 72, 2056],
        texts: &[("cp_async_wait<STAGES - 1>();", "cp_async_wait<STAGES>();")],
    },
    Altered {
        folder: "filled-early",
        kernel: "nt",
        candidate: "v1x8s3w1x8u1",
        shape: &[1, 72, 2056],
        texts: &[
            ("cp_async_wait<STAGES - 1>();", "cp_async_wait<STAGES - 1>();\n    fetch();"),
            ("at(i));\n    fetch();", "at(i));"),
        ],
    },
    Altered {
        folder: "halves",
        kernel: "nt",
        candidate: "v1x8s3w1x8u1",
        shape: &[1, 72, 2056],
        texts: &[("is_upper ? HALF : 0", "is_upper ? 0 : HALF")],
    },
    Altered {
        folder: "one-tile",
        kernel: "nt",
        candidate: "v1x8s3w1x8u1",
        shape: &[1, 72, 2056],
        texts: &[("sums += other;", ";")],
    },
    Altered {
        folder: "columns-behind",
        kernel: "by_8",
        candidate: "v4x8s6w4x1u1",
        shape: &[3],
        texts: &[("least(wanted, from.rows - 1)", "wanted")],
    },
    Altered {
        folder: "terms-behind",
        kernel: "by_8",
        candidate: "v4x8s6w4x1u1",
        shape: &[3],
        texts: &[("WHOLE_TERMS || k < from.k", "true")],
    },
];

fn altered(plans: &[Plan], folder: &Path, headers: &[PathBuf], what: &Altered) -> Result<(), String> {
    let (plan, mut candidate) = proposed(what.kernel, what.candidate, plans)?;
    for (from, to) in what.texts {
        assert!(candidate.source.contains(from), "{from}");
        candidate.source = candidate.source.replace(from, to);
    }
    judged(plan, &candidate, &folder.join(what.folder), headers, &[what.shape]).map(|_| ())
}

/// What would be right without the fault is not.
fn fault(plans: &[Plan], folder: &Path, headers: &[PathBuf], what: &Altered) -> Result<(), String> {
    match altered(plans, folder, headers, what) {
        Ok(()) => Err("went unseen".to_owned()),
        Err(reason) if reason.contains("does not compile") || reason.contains("eligible") => Err(reason),
        Err(_) => Ok(()),
    }
}

/// A pair whose factors lie differently has no candidate: one loader's type is for both.
fn pairs(plans: &[Plan], _: &Path, _: &[PathBuf]) -> Result<(), String> {
    let found = products(plan("crossed_pair", plans)).len();
    if found == 0 { Ok(()) } else { Err(format!("{found} candidates")) }
}

const TILES: &str = include_str!("../../src/generate/template/device/product_tiles.cuh.in");

/// Tiles of grids and parts of k, and that each of both is refused with a fault.
fn tiles(_: &[Plan], folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    walk("tiles", TILES, folder, headers)?;
    for (name, from, to) in [
        ("tiles-group", "tiles_m - first < GROUP ? tiles_m - first : GROUP", "GROUP"),
        ("tiles-split", "(split + 1) / splits", "split / splits + tiles_k / splits"),
    ] {
        assert_eq!(TILES.matches(from).count(), 1, "{from}");
        if walk(name, &TILES.replace(from, to), folder, headers).is_ok() {
            return Err(format!("{name} went unseen"));
        }
    }
    Ok(())
}

const WGMMA_TILES: &str = include_str!("../../src/generate/template/device/wgmma_tiles.cuh.in");

/// The same of the wgmma template, whose blocks stay for many tiles.
fn wgmma_tiles(_: &[Plan], folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    let walk = |name: &str, text: &str| {
        let program = format!("{text}\n{}", include_str!("tiles_wgmma.cpp"));
        runs(&program, &folder.join(name), headers)
    };
    walk("wgmma-tiles", WGMMA_TILES)?;
    for (name, from, to) in [
        (
            "wgmma-tiles-group",
            "unsigned(left) - begin < unsigned(group) ? unsigned(left) - begin : unsigned(group)",
            "unsigned(group)",
        ),
        (
            "wgmma-tiles-split",
            "unsigned(k_tiles) * (split + 1) / splits_",
            "unsigned(k_tiles) * split / splits_ + unsigned(k_tiles) / splits_",
        ),
        (
            "wgmma-tiles-owner",
            "((k_tile + 1) * unsigned(blocks) - 1) / of_k()",
            "k_tile * unsigned(blocks) / of_k()",
        ),
        ("wgmma-tiles-place", "2 * (block + split) + (split == 0 ? 1 : 0)", "2 * (block + split)"),
    ] {
        assert_eq!(WGMMA_TILES.matches(from).count(), 1, "{from}");
        if walk(name, &WGMMA_TILES.replace(from, to)).is_ok() {
            return Err(format!("{name} went unseen"));
        }
    }
    Ok(())
}

/// What f32 factors are cut into, and that each of these is refused with a fault.
fn pieces(_: &[Plan], folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    const PLANES: &str = include_str!("../../src/generate/template/device/wgmma_planes.cuh.in");
    let (_, text) = PLANES.split_once("constexpr int UNIT").expect("before the pieces");
    let (_, text) = text.split_once('\n').expect("a line");
    let (text, _) = text.split_once("CG_DEVICE void load_unit").expect("behind the pieces");
    let check = |name: &str, text: &str| {
        runs(&include_str!("pieces.cpp").replace("@PIECES@", text), &folder.join(name), headers)
    };
    check("pieces", text)?;
    for (name, from, to) in [
        ("pieces-overflow", "(rounded & 0x7f800000u) == 0x7f800000u ? bits : rounded", "rounded"),
        ("pieces-zero", "pieces[0] |= HALVED ? 2 : 1;", ";"),
        ("pieces-low", "p < 3", "p < 2"),
        ("pieces-nan", "? 0x40u : 0u", "? 0u : 0u"),
        ("pieces-half", "magnitude < 0x100u ?", "magnitude < 0x80u ?"),
        ("pieces-even", "pieces[0] &= ~1u;", ";"),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        if check(name, &text.replace(from, to)).is_ok() {
            return Err(format!("{name} went unseen"));
        }
    }
    Ok(())
}

fn walk(name: &str, text: &str, folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    const GROUPS: [u32; 5] = [1, 2, 3, 8, 16];
    let spaces = GROUPS
        .map(|group| format!("namespace group_{group} {{\nconstexpr int GROUP = {group};\n{text}\n}}\n"));
    let walks = GROUPS.map(|group| format!("  all_grids({group}, group_{group}::tile_coord);\n"));
    let program = format!(
        "#include \"values.hpp\"\n#define CG_TILES\n{}\n{}\nint main() {{\n{}  all_parts(group_1::split_range);\n}}\n",
        spaces.concat(),
        include_str!("tiles.cpp"),
        walks.concat()
    );
    runs(&program, &folder.join(name), headers)
}

/// Compiles a program in a folder of its own, and runs it.
fn runs(program: &str, folder: &Path, headers: &[PathBuf]) -> Result<(), String> {
    std::fs::create_dir(folder).expect("a folder of its own");
    build::compile(program, folder, headers)?;
    let ran = Command::new(folder.join("kernel")).output().expect("it starts");
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned()) }
}
