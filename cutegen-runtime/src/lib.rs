//! cutegen-runtime
