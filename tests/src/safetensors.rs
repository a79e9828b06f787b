//! Safetensors files as their format is documented, written and read by hand: eight bytes of length, a JSON header, the
//! tensors. So that `run` is not tested by the library that it uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// One tensor: its type's word, its shape, its bytes.
pub type Tensor = (&'static str, Vec<usize>, Vec<u8>);

/// What a file holds.
#[derive(Debug)]
pub struct Contents {
    /// `__metadata__`.
    pub metadata: BTreeMap<String, String>,
    /// By name: the type's word, the shape, the bytes.
    pub tensors: BTreeMap<String, (String, Vec<usize>, Vec<u8>)>,
}

/// Writes tensors one after another.
///
/// # Panics
/// When the file cannot be written.
pub fn write(path: &Path, tensors: &[(&str, Tensor)]) {
    let (mut header, mut data) = (Map::new(), Vec::new());
    for (name, (dtype, shape, bytes)) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert((*name).to_owned(), json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets }));
        data.extend_from_slice(bytes);
    }
    let header = Value::Object(header).to_string().into_bytes();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    fs::write(path, file).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Reads a file.
///
/// # Panics
/// When it is none.
#[must_use]
pub fn read(path: &Path) -> Contents {
    let file = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (length, rest) = file.split_first_chunk::<8>().expect("a length");
    let (header, data) = rest.split_at(usize::try_from(u64::from_le_bytes(*length)).expect("a length"));
    let header: Map<String, Value> = serde_json::from_slice(header).expect("a header");
    let mut contents = Contents { metadata: BTreeMap::new(), tensors: BTreeMap::new() };
    for (name, value) in header {
        if name == "__metadata__" {
            contents.metadata = serde_json::from_value(value).expect("metadata");
            continue;
        }
        let part = |key: &str| value.get(key).unwrap_or_else(|| panic!("{name} has no {key}")).clone();
        let [from, to]: [usize; 2] = serde_json::from_value(part("data_offsets")).expect("offsets");
        let dtype = part("dtype").as_str().expect("a type").to_owned();
        let shape = serde_json::from_value(part("shape")).expect("a shape");
        contents.tensors.insert(name, (dtype, shape, data[from..to].to_vec()));
    }
    contents
}

/// `values` as bytes.
#[must_use]
pub fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Bytes as f32.
#[must_use]
pub fn as_f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

/// Bytes as f64.
#[must_use]
pub fn as_f64s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word)).collect()
}
