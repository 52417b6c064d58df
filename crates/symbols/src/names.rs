//! Names of functions and files.

use cpp_demangle::DemangleOptions;

/// Where compilers and distributions keep what is not the program's own.
const SYSTEM_DIRECTORIES: [&str; 6] = [
    "/lib/",
    "/lib64/",
    "/rustc/",
    "/usr/include/",
    "/usr/lib/",
    "/usr/local/include/",
];

/// Demangles a name of Rust or C++, without hash and parameters; other names stay as they are.
pub fn demangled(name: &str) -> String {
    // Rust's older names look like C++ names, too, so it goes first; it tells them by their hash.
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    // Without its prefix a short name of C reads as the code of a type: `w` is `wchar_t`.
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    cpp_demangle::Symbol::new(name)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| name.to_owned())
}

/// Returns whether `qualified` is `name` with its modules, namespaces or types before it.
pub fn qualifies(qualified: &str, name: &str) -> bool {
    let bare = name.split('<').next().unwrap_or(name);
    qualified
        .strip_suffix(bare)
        .is_some_and(|before| !bare.is_empty() && before.ends_with("::"))
}

/// Returns whether a source file is a system header or of a language's standard library.
pub fn is_of_the_system(file: &str) -> bool {
    SYSTEM_DIRECTORIES
        .iter()
        .any(|directory| file.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_of_c_are_left_alone() {
        for name in ["w", "i", "main", "f", "St", "_start"] {
            assert_eq!(demangled(name), name);
        }
    }

    #[test]
    fn names_are_demangled_by_their_languages() {
        for (mangled, name) in [
            ("worker", "worker"),
            ("_ZN4Pool4pushEi", "Pool::push"),
            ("_ZNSt5mutex4lockEv", "std::mutex::lock"),
            ("_RNvCs1234_7mycrate4work", "mycrate::work"),
            ("_ZN7mycrate4work17h0123456789abcdefE", "mycrate::work"),
            ("_Znot_a_name", "_Znot_a_name"),
        ] {
            assert_eq!(demangled(mangled), name);
        }
    }

    #[test]
    fn a_name_is_qualified_by_what_stands_before_it() {
        assert!(qualifies("mycrate::work", "work"));
        assert!(qualifies("mycrate::work", "work<u8>"));
        assert!(!qualifies("work", "work"));
        assert!(!qualifies("mycrate::homework", "work"));
        assert!(!qualifies("mycrate::", ""));
    }
}
