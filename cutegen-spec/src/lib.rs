//! cutegen-spec
