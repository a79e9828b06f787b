//! `name=value` on the command line: axes and scalars. Pure.

use std::collections::BTreeMap;
use std::str::FromStr;

/// One `name=value`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Binding<T> {
    pub(crate) name: String,
    pub(crate) value: T,
}

impl<T: FromStr> FromStr for Binding<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no NAME=NUMBER");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        let value = value.trim().parse().map_err(|_| wrong())?;
        Ok(Self { name: name.trim().to_owned(), value })
    }
}

/// All of them by name; a name twice is an error.
pub(crate) fn by_name<T: Copy>(bindings: &[Binding<T>]) -> Result<BTreeMap<String, T>, String> {
    let mut all = BTreeMap::new();
    for Binding { name, value } in bindings {
        if all.insert(name.clone(), *value).is_some() {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Binding, by_name};

    #[test]
    fn names_and_numbers() {
        let axis: Binding<i64> = "m = 16".parse().expect("a binding");
        assert_eq!((axis.name.as_str(), axis.value), ("m", 16));
        let eps: Binding<f64> = "eps=1e-5".parse().expect("a binding");
        assert_eq!(eps.value, 1e-5);
        for text in ["m", "m=", "m=x", "m=1.5"] {
            assert!(text.parse::<Binding<i64>>().is_err(), "{text}");
        }
        assert!(by_name(&[axis.clone(), axis]).is_err());
    }
}
