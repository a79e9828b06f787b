//! Installing, reusing, packing.

use std::fs;
use std::path::Path;

use cutegen_build::toolchain::{Group, Places, Toolchain, folder_of, header_files, install, locate};
use flate2::{Compression, write::GzEncoder};

use crate::setup::{self, compiled, cuda, host, setup_with};

pub(crate) const TESTS: &[crate::Test] = &[
    ("install::second_install_reuses_the_folder", second_install_reuses_the_folder),
    ("install::two_installers_agree", two_installers_agree),
    ("install::packed_headers_suffice", packed_headers_suffice),
];

fn second_install_reuses_the_folder() {
    let places = setup::places();
    if places.explicit.is_some() {
        return;
    }
    let again =
        install(Group::Compile, &folder_of(Group::Compile, &places), &mut |_| {}).expect("it is there");
    assert!(again.reused);
    assert!(again.stamp.nvrtc.is_some() && again.stamp.header_roots.len() == 3, "{:?}", again.stamp);
}

/// With the small group, so that the race costs no gigabyte. Needs an index, so it is asked for by name.
fn two_installers_agree() {
    if std::env::var_os("CUTEGEN_TEST_INSTALL").is_none() {
        return;
    }
    let home = tempfile::tempdir().expect("a temp dir");
    let dest = home.path().join("toolchain/x");
    let run = || install(Group::Test, &dest, &mut |_| {}).expect("an index answers");
    let (a, b) = std::thread::scope(|scope| {
        let (a, b) = (scope.spawn(run), scope.spawn(run));
        (a.join().expect("no panic"), b.join().expect("no panic"))
    });
    assert!(a.reused != b.reused, "one installs, the other reuses");
    assert!(dest.join("numpy").is_dir() && dest.join("scipy").is_dir());
    assert_eq!(
        fs::read_dir(home.path().join("toolchain")).expect("readable").count(),
        1,
        "no temporary folder stays"
    );
}

/// The pruned set, unpacked elsewhere and with NVRTC borrowed from the machine, gives the same bytes.
fn packed_headers_suffice() {
    let installed = setup::toolchain();
    let dir = tempfile::tempdir().expect("a temp dir");
    let (count, gz) = pack(&installed, dir.path());
    installed.stamp.without_nvrtc().write(dir.path()).expect("writable");
    println!("  {count} headers, {gz} bytes as gzip");
    assert!(gz < 6 << 20, "{gz} bytes");
    let nvrtc = installed.nvrtc.clone().expect("main checked that there is one");
    let cuda_libs = nvrtc.library.parent().map(Path::to_owned).into_iter().collect();
    let places = Places { explicit: Some(dir.path().to_owned()), cuda_libs, ..setup::places() };
    let bundle = locate(&places).expect("a bundle");
    let borrowed = bundle.nvrtc.as_ref().expect("the machine's NVRTC is the pinned one");
    assert_eq!((&borrowed.version, &borrowed.sha256), (&nvrtc.version, &nvrtc.sha256));
    let limits = cutegen_build::compile::Limits::default();
    for job in [
        cuda(crate::cuda::SCALE, &["scale"]),
        cuda(crate::cuda::GEMM, &["gemm"]),
        host(crate::host::GEMM, "gemm"),
    ] {
        let (full, pruned) = (setup_with(installed.clone(), limits), setup_with(bundle.clone(), limits));
        assert!(compiled(&job, &full).bytes == compiled(&job, &pruned).bytes, "{:?}", job.compile_for);
    }
}

fn pack(toolchain: &Toolchain, dest: &Path) -> (usize, u64) {
    let files = header_files(toolchain).expect("readable");
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for file in &files {
        let target = dest.join(&file.relative);
        fs::create_dir_all(target.parent().expect("files lie in folders")).expect("writable");
        fs::copy(&file.source, &target).expect("writable");
        archive.append_path_with_name(&file.source, &file.relative).expect("readable");
    }
    let packed = archive.into_inner().and_then(GzEncoder::finish).expect("memory");
    (files.len(), packed.len() as u64)
}
