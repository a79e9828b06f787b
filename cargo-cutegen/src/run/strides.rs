//! Declared strides through which two elements of a tensor share a place: a result cannot hold both, nor can what is given.
//! Pure.

use cutegen_build::evaluate::judge::element;
use cutegen_spec::tensor::{Role, Tensor};

/// Refuses a result with such strides, and an input of which two elements at one place differ.
pub(super) fn check(tensor: &Tensor, axes: &[i64], dense: Option<&[u8]>) -> Result<(), String> {
    let Some((first, second)) = shared(tensor, axes, dense) else { return Ok(()) };
    let (name, strides) = (&tensor.name, tensor.strides(axes).unwrap_or_default());
    let what = format!("elements {first} and {second} of `{name}` share a place by its strides {strides:?}");
    Err(match tensor.role {
        Role::Input => format!("{what} and differ\ngive them one value"),
        Role::Output | Role::Inout => {
            format!("{what}\ngive it strides in its spec that hold each element apart, or other --axes")
        }
    })
}

/// The first two elements, counted row by row, that share a place and must not.
fn shared(tensor: &Tensor, axes: &[i64], dense: Option<&[u8]>) -> Option<(usize, usize)> {
    tensor.strides.as_ref()?;
    let count = |n: i64| usize::try_from(n).ok();
    let extents: Vec<usize> =
        tensor.dims.iter().map(|dim| count(dim.eval_axes(axes)?)).collect::<Option<_>>()?;
    let strides: Vec<usize> = tensor.strides(axes)?.into_iter().map(count).collect::<Option<_>>()?;
    let mut holds: Vec<Option<usize>> = vec![None; count(tensor.span(axes)?)?];
    let bits = |at| dense.map(|bytes| element::bits(tensor.dtype, bytes, at));
    for at in 0..extents.iter().product() {
        let mut rest: usize = at;
        let mut place = 0;
        for (extent, stride) in extents.iter().zip(&strides).rev() {
            place += rest % extent * stride;
            rest /= extent;
        }
        match holds[place].replace(at) {
            Some(before) if tensor.role != Role::Input || bits(before) != bits(at) => {
                return Some((before, at));
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;
    use cutegen_spec::dtype::DType;
    use cutegen_spec::int_expr::IntExpr;
    use cutegen_spec::tensor::{Role, Tensor};

    fn told(role: Role, strides: Option<[i64; 2]>, dense: Option<&[u8]>) -> Result<(), String> {
        let tensor = Tensor {
            name: "y".to_owned(),
            role,
            dtype: DType::U8,
            dims: vec![IntExpr::Const(2), IntExpr::Const(3)],
            constant: false,
            strides: strides.map(|strides| strides.map(IntExpr::Const).to_vec()),
            range: None,
            unique: false,
        };
        check(&tensor, &[], dense)
    }

    #[test]
    fn what_shares_a_place_is_refused_unless_it_is_given_as_equal() {
        for apart in [None, Some([3, 1]), Some([1, 2]), Some([8, 1])] {
            assert_eq!(told(Role::Output, apart, None), Ok(()), "{apart:?}");
        }
        for role in [Role::Output, Role::Inout] {
            let refused = told(role, Some([1, 1]), Some(&[0; 6]));
            assert!(refused.is_err_and(|told| told.contains("elements 1 and 3 of `y` share a place")));
        }
        assert_eq!(told(Role::Input, Some([0, 1]), Some(&[1, 2, 3, 1, 2, 3])), Ok(()), "a broadcast");
        assert!(
            told(Role::Input, Some([0, 1]), Some(&[1, 2, 3, 1, 2, 4])).is_err_and(|t| t.contains("differ"))
        );
    }
}
