# The steps of .ci/run by name; `just` alone runs them all.

ci:
    .ci/run

# Formatting, as rustfmt.toml says.
fmt:
    .ci/run fmt

# Installs the pinned headers and compilers into the user's CuTeGen folder.
toolchain:
    .ci/run toolchain

clippy:
    .ci/run clippy

doc:
    .ci/run doc

# The README's test command.
test:
    .ci/run test

# The README's first command.
run:
    .ci/run run

# Whether the last whole run of each part still stands for this commit.
full:
    .ci/run full

# The runtime's host tests under AddressSanitizer, and under Miri where a toolchain has it.
asan:
    .ci/run asan

# Specs, lock and store of every package with kernels agree.
check:
    .ci/run check

# Dependencies: bans, licences, sources.
deny:
    .ci/run deny

# Dependencies: published vulnerabilities; needs the network.
advisories:
    .ci/run advisories
