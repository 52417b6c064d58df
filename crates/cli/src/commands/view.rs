//! `foretrace view`: the window on predicted runs.

use std::{env, path::PathBuf, sync::Arc};

use anyhow::anyhow;

use crate::{args::ViewArgs, failure::Finish, viewing::Files};

/// Runs the command.
pub fn run(args: &ViewArgs) -> anyhow::Result<Finish> {
    if !has_display() {
        return Err(without_window(
            args,
            "there is no display here: neither WAYLAND_DISPLAY nor DISPLAY is set",
        ));
    }
    let opener = Arc::new(Files::new(args));
    match foretrace_viewer::run(opener, &args.files, settings_file()) {
        Ok(()) => Ok(Finish::Fine),
        Err(error) => Err(without_window(args, &error.to_string())),
    }
}

/// Returns whether the environment names a display.
fn has_display() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    is_set("WAYLAND_DISPLAY") || is_set("WAYLAND_SOCKET") || is_set("DISPLAY")
}

/// Says why there is no window, and what does without one.
fn without_window(args: &ViewArgs, reason: &str) -> anyhow::Error {
    let file = args
        .files
        .first()
        .map_or("FILE".to_owned(), |file| file.display().to_string());
    let network = args.network.network.as_ref();
    let network = network.map_or(String::new(), |network| {
        format!(" --network {}", network.display())
    });
    anyhow!(
        "{reason}. Pictures of the same lanes are written without a display: foretrace export {file}{network} --format svg \
         -o picture.svg, or --format png"
    )
}

/// Returns where the window's state is kept between runs, where there is a place for it.
fn settings_file() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    // The base directory specification says where state goes that is not worth saving elsewhere.
    let base =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(base.join("foretrace/viewer.json"))
}
