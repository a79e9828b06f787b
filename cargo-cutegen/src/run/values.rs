//! What a spec promises of an integer input's values: a kernel may read out of bounds where that does not hold. Pure.

use std::collections::BTreeSet;

use cutegen_build::evaluate::judge::element;
use cutegen_spec::dtype::DType;
use cutegen_spec::tensor::Tensor;

/// Holds dense bytes to the declared range, and to having no value twice.
pub(super) fn check(tensor: &Tensor, axes: &[i64], bytes: Option<&[u8]>) -> Result<(), String> {
    let Some(bytes) = bytes else { return Ok(()) };
    let ends = tensor.range.as_ref().and_then(|r| Some((r.from.eval_axes(axes)?, r.to.eval_axes(axes)?)));
    let elements = tensor.elements(axes).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let name = &tensor.name;
    let mut seen = BTreeSet::new();
    for at in 0..if ends.is_some() || tensor.unique { elements } else { 0 } {
        let value = integer(tensor.dtype, bytes, at);
        if let Some((from, to)) = ends.filter(|(from, to)| !(*from..*to).contains(&value)) {
            return Err(format!(
                "element {at} of `{name}` is {value}; its spec declares {from}..{to}\ngive values in that range"
            ));
        }
        if tensor.unique && !seen.insert(value) {
            return Err(format!(
                "element {at} of `{name}` is {value}, as one before it is; its spec says that no two are equal\ngive \
                 each value once"
            ));
        }
    }
    Ok(())
}

/// An element of an integer tensor.
pub(super) fn integer(dtype: DType, bytes: &[u8], at: usize) -> i64 {
    match dtype {
        DType::I64 => element::bits(dtype, bytes, at).cast_signed(),
        _ => element::read(dtype, bytes, at) as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use cutegen_spec::dtype::DType;
    use cutegen_spec::int_expr::IntExpr;
    use cutegen_spec::tensor::{Role, Tensor, ValueRange};

    fn ids(unique: bool) -> Tensor {
        let range = ValueRange { from: IntExpr::Const(0), to: IntExpr::Axis(0) };
        Tensor {
            name: "ids".to_owned(),
            role: Role::Input,
            dtype: DType::I32,
            dims: vec![IntExpr::Const(3)],
            constant: false,
            strides: None,
            range: Some(range),
            unique,
        }
    }

    fn told(unique: bool, values: [i32; 3]) -> Result<(), String> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        check(&ids(unique), &[7], Some(&bytes))
    }

    #[test]
    fn values_are_held_to_what_is_declared() {
        assert_eq!(told(true, [6, 0, 3]), Ok(()));
        assert_eq!(told(false, [6, 0, 6]), Ok(()));
        assert!(
            told(true, [6, 0, 6]).is_err_and(|text| text.contains("element 2 of `ids` is 6, as one before"))
        );
        assert!(
            told(false, [6, 7, 0])
                .is_err_and(|text| text.contains("element 1 of `ids` is 7; its spec declares 0..7"))
        );
        assert!(told(false, [6, 0, -1]).is_err());
    }
}
