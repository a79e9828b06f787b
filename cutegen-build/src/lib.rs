//! cutegen-build
