//! Where a user's own store lies. The environment is handed in as a lookup: only the build script's front door and
//! the command read it.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// Overrides the folder that holds the user's store; absolute.
pub const HOME_VARIABLE: &str = "CUTEGEN_HOME";

/// No folder could be named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UserError {
    /// None of the variables is set.
    NoHome,
    /// `CUTEGEN_HOME` would mean another folder in every working directory.
    Relative(PathBuf),
}

/// CuTeGen's own folder: `CUTEGEN_HOME`, else `XDG_CACHE_HOME/cutegen`, else `~/.cache/cutegen`. Empty variables
/// count as unset; a relative `XDG_CACHE_HOME` is passed over, as its specification asks.
pub fn home(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, UserError> {
    let path = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match path(HOME_VARIABLE) {
        Some(own) if own.is_absolute() => return Ok(own),
        Some(own) => return Err(UserError::Relative(own)),
        None => {}
    }
    let cache = path("XDG_CACHE_HOME").filter(|cache| cache.is_absolute());
    let cache = cache.or_else(|| path("HOME").map(|home| home.join(".cache"))).ok_or(UserError::NoHome)?;
    Ok(cache.join("cutegen"))
}

/// Root of the user's store, inside [`home`].
#[must_use]
pub fn store_root(home: &Path) -> PathBuf {
    home.join("store")
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserError::NoHome => {
                writeln!(
                    f,
                    "no folder for the user store: CUTEGEN_HOME, XDG_CACHE_HOME and HOME are not set"
                )?;
            }
            UserError::Relative(path) => {
                writeln!(f, "CUTEGEN_HOME is `{}`, which is no absolute path", path.display())?;
            }
        }
        f.write_str("run: export CUTEGEN_HOME=\"$PWD/.cutegen\"")
    }
}

impl std::error::Error for UserError {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use super::{UserError, home, store_root};

    fn with(variables: &[(&str, &str)]) -> Result<PathBuf, UserError> {
        let map: BTreeMap<&str, OsString> = variables.iter().map(|(k, v)| (*k, OsString::from(v))).collect();
        home(|name| map.get(name).cloned())
    }

    #[test]
    fn the_first_usable_variable_decides() {
        let cases = [
            (vec![("CUTEGEN_HOME", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")], "/a"),
            (vec![("CUTEGEN_HOME", ""), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")], "/b/cutegen"),
            (vec![("XDG_CACHE_HOME", "b"), ("HOME", "/c")], "/c/.cache/cutegen"),
            (vec![("HOME", "/c")], "/c/.cache/cutegen"),
        ];
        for (variables, expected) in cases {
            assert_eq!(with(&variables), Ok(PathBuf::from(expected)), "{variables:?}");
        }
        assert_eq!(store_root(Path::new("/a")), Path::new("/a/store"));
    }

    #[test]
    fn errors_say_what_to_set() {
        let none = with(&[]).expect_err("no variable").to_string();
        assert_eq!(
            none,
            "no folder for the user store: CUTEGEN_HOME, XDG_CACHE_HOME and HOME are not set\n\
             run: export CUTEGEN_HOME=\"$PWD/.cutegen\""
        );
        let relative = with(&[("CUTEGEN_HOME", "x")]).expect_err("relative").to_string();
        assert!(relative.starts_with("CUTEGEN_HOME is `x`, which is no absolute path\nrun: "), "{relative}");
    }
}
