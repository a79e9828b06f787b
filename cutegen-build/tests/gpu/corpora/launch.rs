//! [`Launch`]: how a text is launched, written short, and the contract that it stands for.

use std::fmt::Write as _;

use cutegen_spec::contract::Contract;

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) entry: &'static str,
    /// Blocks in x and y.
    pub(crate) grid: [&'static str; 2],
    /// Threads in x and y.
    pub(crate) block: [&'static str; 2],
    /// `t0` is a tensor, `a0` an axis, `s0` a scalar, `w0` a part of the workspace; all else is as contracts have it, without
    /// spaces.
    pub(crate) args: &'static str,
    /// More lines of the step.
    pub(crate) more: &'static str,
}

impl Launch {
    /// A thread for each of `threads`, in blocks of 256.
    pub(crate) const fn flat(grid: &'static str, args: &'static str) -> Self {
        Self::of("candidate", [grid, "1"], ["256", "1"], args)
    }

    pub(crate) const fn of(
        entry: &'static str,
        grid: [&'static str; 2],
        block: [&'static str; 2],
        args: &'static str,
    ) -> Self {
        Self { entry, grid, block, args, more: "" }
    }

    pub(crate) const fn with(self, more: &'static str) -> Self {
        Self { more, ..self }
    }
}

/// The contract of `steps`, whose entries are renamed; a part of workspace is its bytes and what it holds at first.
pub(crate) fn contract(
    workspace: &[(&str, &str)],
    steps: &[Launch],
    rename: impl Fn(&str) -> String,
) -> Contract {
    let parts =
        workspace.iter().map(|(bytes, held)| format!("{{ bytes = \"{bytes}\", initial = \"{held}\" }}"));
    let mut text = if workspace.is_empty() {
        String::new()
    } else {
        format!("workspace = [{}]\n", parts.collect::<Vec<_>>().join(", "))
    };
    for Launch { entry, grid: [gx, gy], block: [bx, by], args, more } in steps {
        let args: Vec<String> = args.split_whitespace().map(argument).collect();
        let entry = rename(entry);
        writeln!(
            text,
            "[[steps]]\nentry = \"{entry}\"\ngrid = [\"{gx}\", \"{gy}\", \"1\"]\nblock = [\"{bx}\", \"{by}\", \"1\"]\n\
             args = [{}]\n{more}",
            args.join(", ")
        )
        .expect("a string grows");
    }
    toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn argument(short: &str) -> String {
    if short.contains('(') {
        return format!("\"{short}\"");
    }
    let kind = match &short[..1] {
        "t" => "ptr",
        "a" => "axis",
        "s" => "scalar",
        "w" => "workspace",
        _ => panic!("`{short}` is no argument"),
    };
    format!("\"{kind}({short})\"")
}
