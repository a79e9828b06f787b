//! Where CuTeGen keeps what is the user's: a store and a compile cache below the cache folder, toolchains below the data folder, a config. The
//! environment is handed in as a lookup: only the build script's front door and the command read it.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// Moves all folders of this module; absolute.
const VARIABLE: &str = "CUTEGEN_HOME";

/// No folder could be named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HomeError {
    /// None of the variables is set.
    Unset {
        /// The one of the XDG base directories.
        xdg: &'static str,
    },
    /// `CUTEGEN_HOME` would mean another folder in every working directory.
    Relative(PathBuf),
}

/// The folder of the user's store: below `CUTEGEN_HOME`, else `XDG_CACHE_HOME/cutegen`, else `~/.cache/cutegen`.
pub fn store(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
    Ok(folder(variable, "XDG_CACHE_HOME", ".cache")?.join("store"))
}

/// The folder of the compile cache, beside that store.
pub fn compiled(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
    Ok(folder(variable, "XDG_CACHE_HOME", ".cache")?.join("compiled"))
}

/// The folder that toolchains are installed below: `CUTEGEN_HOME`, else `XDG_DATA_HOME/cutegen`, else
/// `~/.local/share/cutegen`.
pub fn data(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
    folder(variable, "XDG_DATA_HOME", ".local/share")
}

/// The user's config: `config.toml` in `CUTEGEN_HOME`, else in `XDG_CONFIG_HOME/cutegen`, else in `~/.config/cutegen`.
pub fn config(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, HomeError> {
    Ok(folder(variable, "XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

/// Empty variables count as unset; a relative base directory is passed over, as XDG's specification asks.
fn folder(
    variable: impl Fn(&str) -> Option<OsString>,
    xdg: &'static str,
    default: &str,
) -> Result<PathBuf, HomeError> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match path(VARIABLE) {
        Some(own) if own.is_absolute() => return Ok(own),
        Some(own) => return Err(HomeError::Relative(own)),
        None => {}
    }
    let base = path(xdg).filter(|base| base.is_absolute());
    let base = base.or_else(|| path("HOME").map(|home| home.join(default)));
    Ok(base.ok_or(HomeError::Unset { xdg })?.join("cutegen"))
}

impl fmt::Display for HomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HomeError::Unset { xdg } => {
                writeln!(f, "no folder for what CuTeGen keeps: CUTEGEN_HOME, {xdg} and HOME are not set")?;
            }
            HomeError::Relative(path) => {
                writeln!(f, "CUTEGEN_HOME is `{}`, which is no absolute path", path.display())?;
            }
        }
        f.write_str("run: export CUTEGEN_HOME=\"$PWD/.cutegen\"")
    }
}

impl std::error::Error for HomeError {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::PathBuf;

    use super::{HomeError, config, data, store};

    /// The folders of the store and of toolchains, and the config.
    fn with(variables: &[(&str, &str)]) -> [Result<PathBuf, HomeError>; 3] {
        let map: BTreeMap<&str, OsString> = variables.iter().map(|(k, v)| (*k, OsString::from(v))).collect();
        let variable = |name: &str| map.get(name).cloned();
        [store(variable), data(variable), config(variable)]
    }

    #[test]
    fn the_first_usable_variable_decides() {
        let xdg =
            [("XDG_CACHE_HOME", "/b"), ("XDG_DATA_HOME", "/d"), ("XDG_CONFIG_HOME", "/e"), ("HOME", "/c")];
        let own = |value| [("CUTEGEN_HOME", value)].into_iter().chain(xdg).collect::<Vec<_>>();
        let cases = [
            (own("/a"), ["/a/store", "/a", "/a/config.toml"]),
            (own(""), ["/b/cutegen/store", "/d/cutegen", "/e/cutegen/config.toml"]),
            (
                vec![("XDG_CACHE_HOME", "b"), ("XDG_DATA_HOME", "d"), ("HOME", "/c")],
                ["/c/.cache/cutegen/store", "/c/.local/share/cutegen", "/c/.config/cutegen/config.toml"],
            ),
            (
                vec![("HOME", "/c")],
                ["/c/.cache/cutegen/store", "/c/.local/share/cutegen", "/c/.config/cutegen/config.toml"],
            ),
        ];
        for (variables, expected) in cases {
            assert_eq!(with(&variables), expected.map(|path| Ok(PathBuf::from(path))), "{variables:?}");
        }
    }

    #[test]
    fn a_relative_folder_is_refused_for_store_and_toolchains() {
        for found in with(&[("CUTEGEN_HOME", "x"), ("HOME", "/c")]) {
            let said = found.expect_err("relative").to_string();
            assert!(said.starts_with("CUTEGEN_HOME is `x`, which is no absolute path\nrun: "), "{said}");
        }
    }

    #[test]
    fn errors_say_what_to_set() {
        let said = with(&[]).map(|found| found.expect_err("no variable").to_string());
        let expected = |xdg| {
            format!(
                "no folder for what CuTeGen keeps: CUTEGEN_HOME, {xdg} and HOME are not set\n\
                 run: export CUTEGEN_HOME=\"$PWD/.cutegen\""
            )
        };
        assert_eq!(said, ["XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"].map(expected));
    }
}
