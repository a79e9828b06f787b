//! Names of the locals that emitted bodies have for a kernel's axes, tensors and scalars. A field keeps the spec's name;
//! a local of that name may hide what the body itself uses, and is then called otherwise.

/// Locals and functions of generated bodies.
const BODY: &str = "all_aligned any_zero args bytes call check config device device_smem fits kept_zero \
                    launched max_active_clusters max_blocks_per_sm order params scratch sm_count stream variant workspace";
/// How other locals and linked functions of generated bodies begin.
const PREFIXES: [&str; 4] = ["bound_", "cutegen_", "param_", "part_"];

/// A local for each of a kernel's `names`, in order; `items` are the functions that its bodies call.
#[must_use]
pub fn locals(names: &[&str], items: &[String]) -> Vec<String> {
    let hides = |name: &str| {
        BODY.split_whitespace().any(|word| word == name)
            || items.iter().any(|item| item == name)
            || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let mut found: Vec<String> = Vec::new();
    for name in names {
        let mut local = (*name).to_owned();
        if hides(name) {
            local.insert_str(0, "its_");
            while hides(&local) || names.contains(&local.as_str()) || found.contains(&local) {
                local.push('_');
            }
        }
        found.push(local);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::locals;

    #[test]
    fn a_local_hides_nothing_and_is_no_other() {
        let names = ["x", "stream", "its_stream", "param_n", "norm_variant"];
        let found = locals(&names, &["norm_variant".to_owned()]);
        assert_eq!(found, ["x", "its_stream_", "its_stream", "its_param_n", "its_norm_variant"]);
    }
}
