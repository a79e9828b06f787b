//! agree
