//! What can be done, and the keys that do it. The help is made from the same table.

use eframe::egui::{self, Key, ModifierNames, Modifiers};

/// Something to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Choose a file and open it.
    OpenDialog,
    /// Open a file.
    Open(String),
    /// Close the file in front.
    Close,
    /// Show the whole run.
    Fit,
    /// Show what is selected; again, the whole run.
    Focus,
    /// Zoom by a factor of the span, around the middle.
    Zoom(f64),
    /// Move by so many spans.
    Pan(f64),
    /// Scroll by so many rows.
    Scroll(f32),
    /// Zoom to the selected range.
    ZoomToRange,
    /// Go back to the view before.
    Undo,
    /// And forward again.
    Redo,
    /// Next event of the thread.
    NextOnThread,
    /// Previous event of the thread.
    PreviousOnThread,
    /// Next event of the same object.
    NextOnObject,
    /// Previous event of the same object.
    PreviousOnObject,
    /// Next event of the same kind.
    NextOfKind,
    /// Previous event of the same kind.
    PreviousOfKind,
    /// Who let it go on.
    Cause,
    /// Next step of the critical path.
    NextOnPath,
    /// Previous step of the critical path.
    PreviousOnPath,
    /// Mark the time under the pointer.
    Mark,
    /// Search.
    Find,
    /// Show the keys.
    Help,
    /// Leave, cancel, unselect.
    Escape,
    /// So many CPUs more, or fewer.
    MoreCpus(i32),
    /// Keep this prediction to compare others with it.
    Pin,
    /// Light or dark.
    SwitchTheme,
    /// Show CPUs, too, or not.
    SwitchCpus,
    /// Draw arrows or not.
    SwitchArrows,
    /// Draw the critical path or not.
    SwitchPath,
    /// Write what is seen as a picture.
    Export(Picture),
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// SVG.
    Svg,
    /// PNG.
    Png,
}

/// Keys and what they do.
pub struct Binding {
    /// Any of these.
    pub keys: &'static [(Modifiers, Key)],
    /// What they do.
    pub command: fn() -> Command,
    /// The same in words.
    pub about: &'static str,
}

const NONE: Modifiers = Modifiers::NONE;
const CTRL: Modifiers = Modifiers::COMMAND;
const SHIFT: Modifiers = Modifiers::SHIFT;
const CTRL_SHIFT: Modifiers = Modifiers::COMMAND.plus(Modifiers::SHIFT);

/// All keys, in the order of the help. Keys with more modifiers stand before the same with fewer.
pub const BINDINGS: &[Binding] = &[
    Binding {
        keys: &[(CTRL, Key::O)],
        command: || Command::OpenDialog,
        about: "open a trace or a schedule",
    },
    Binding {
        keys: &[(CTRL, Key::W)],
        command: || Command::Close,
        about: "close it",
    },
    Binding {
        keys: &[(NONE, Key::W), (NONE, Key::Plus), (NONE, Key::Equals)],
        command: || Command::Zoom(0.6),
        about: "zoom in",
    },
    Binding {
        keys: &[(NONE, Key::S), (NONE, Key::Minus)],
        command: || Command::Zoom(1.0 / 0.6),
        about: "zoom out",
    },
    Binding {
        keys: &[(NONE, Key::A), (NONE, Key::ArrowLeft)],
        command: || Command::Pan(-0.2),
        about: "earlier",
    },
    Binding {
        keys: &[(NONE, Key::D), (NONE, Key::ArrowRight)],
        command: || Command::Pan(0.2),
        about: "later",
    },
    Binding {
        keys: &[(NONE, Key::ArrowUp)],
        command: || Command::Scroll(-3.0),
        about: "scroll up",
    },
    Binding {
        keys: &[(NONE, Key::ArrowDown)],
        command: || Command::Scroll(3.0),
        about: "scroll down",
    },
    Binding {
        keys: &[(NONE, Key::PageUp)],
        command: || Command::Scroll(-20.0),
        about: "scroll up a page",
    },
    Binding {
        keys: &[(NONE, Key::PageDown)],
        command: || Command::Scroll(20.0),
        about: "scroll down a page",
    },
    Binding {
        keys: &[(NONE, Key::F)],
        command: || Command::Focus,
        about: "show what is selected; again: the whole run",
    },
    Binding {
        keys: &[(NONE, Key::Home)],
        command: || Command::Fit,
        about: "show the whole run",
    },
    Binding {
        keys: &[(NONE, Key::Z), (NONE, Key::Enter)],
        command: || Command::ZoomToRange,
        about: "zoom to the selected range",
    },
    Binding {
        keys: &[(CTRL_SHIFT, Key::Z), (CTRL, Key::Y)],
        command: || Command::Redo,
        about: "redo the view",
    },
    Binding {
        keys: &[(CTRL, Key::Z)],
        command: || Command::Undo,
        about: "undo the view",
    },
    Binding {
        keys: &[(NONE, Key::Period)],
        command: || Command::NextOnThread,
        about: "next event of the thread",
    },
    Binding {
        keys: &[(NONE, Key::Comma)],
        command: || Command::PreviousOnThread,
        about: "previous event of the thread",
    },
    Binding {
        keys: &[
            (SHIFT, Key::CloseBracket),
            (SHIFT, Key::CloseCurlyBracket),
            (NONE, Key::CloseCurlyBracket),
            (NONE, Key::C),
        ],
        command: || Command::Cause,
        about: "jump to who let it go on",
    },
    Binding {
        keys: &[(NONE, Key::CloseBracket)],
        command: || Command::NextOnObject,
        about: "next event of the same object",
    },
    Binding {
        keys: &[(NONE, Key::OpenBracket)],
        command: || Command::PreviousOnObject,
        about: "previous event of the same object",
    },
    Binding {
        keys: &[(SHIFT, Key::K)],
        command: || Command::PreviousOfKind,
        about: "previous event of the same kind",
    },
    Binding {
        keys: &[(NONE, Key::K)],
        command: || Command::NextOfKind,
        about: "next event of the same kind",
    },
    Binding {
        keys: &[(SHIFT, Key::N)],
        command: || Command::PreviousOnPath,
        about: "previous step of the critical path",
    },
    Binding {
        keys: &[(NONE, Key::N)],
        command: || Command::NextOnPath,
        about: "next step of the critical path",
    },
    Binding {
        keys: &[(NONE, Key::M)],
        command: || Command::Mark,
        about: "mark the time under the pointer",
    },
    Binding {
        keys: &[(CTRL, Key::ArrowUp)],
        command: || Command::MoreCpus(1),
        about: "one CPU more",
    },
    Binding {
        keys: &[(CTRL, Key::ArrowDown)],
        command: || Command::MoreCpus(-1),
        about: "one CPU fewer",
    },
    Binding {
        keys: &[(NONE, Key::B)],
        command: || Command::Pin,
        about: "keep this prediction to compare others with it; again: let it go",
    },
    Binding {
        keys: &[(NONE, Key::P)],
        command: || Command::SwitchPath,
        about: "draw the critical path",
    },
    Binding {
        keys: &[(NONE, Key::R)],
        command: || Command::SwitchArrows,
        about: "draw arrows",
    },
    Binding {
        keys: &[(NONE, Key::U)],
        command: || Command::SwitchCpus,
        about: "show CPUs",
    },
    Binding {
        keys: &[(NONE, Key::T)],
        command: || Command::SwitchTheme,
        about: "light or dark",
    },
    Binding {
        keys: &[(CTRL, Key::F), (NONE, Key::Slash)],
        command: || Command::Find,
        about: "find threads, objects, functions, files",
    },
    Binding {
        keys: &[
            (SHIFT, Key::Questionmark),
            (NONE, Key::Questionmark),
            (SHIFT, Key::Slash),
            (NONE, Key::F1),
        ],
        command: || Command::Help,
        about: "this help",
    },
    Binding {
        keys: &[(NONE, Key::Escape)],
        command: || Command::Escape,
        about: "cancel, unselect",
    },
    Binding {
        keys: &[(CTRL, Key::E)],
        command: || Command::Export(Picture::Svg),
        about: "write what is seen as SVG",
    },
    Binding {
        keys: &[(CTRL_SHIFT, Key::E)],
        command: || Command::Export(Picture::Png),
        about: "write what is seen as PNG",
    },
];

/// What the mouse does, for the help.
pub const MOUSE: &[(&str, &str)] = &[
    ("Ctrl+wheel, pinch", "zoom at the pointer"),
    ("wheel", "scroll the rows (the menu View swaps the two)"),
    (
        "Shift+wheel, middle or right drag, Space+drag",
        "move in time",
    ),
    (
        "drag",
        "select a range: its statistics at once; Z zooms to it",
    ),
    ("Shift+drag", "measure, from event to event"),
    ("click", "select a segment or an event"),
    ("double click", "zoom to it"),
    ("click on a heading", "fold or unfold its threads"),
    ("drag in the overview", "choose what is seen"),
];

/// Returns what the keys that were pressed say. Keys alone are left to a text that has the focus.
pub fn pressed(ctx: &egui::Context) -> Vec<Command> {
    let typing = ctx.egui_wants_keyboard_input();
    let mut commands = Vec::new();
    ctx.input_mut(|input| {
        input.events.retain(|event| {
            let egui::Event::Key {
                key,
                pressed: true,
                modifiers,
                ..
            } = event
            else {
                return true;
            };
            // Exactly these modifiers, as they were when the key was pressed: Ctrl+Z is not Z.
            let is_it = |binding: &&Binding| {
                binding
                    .keys
                    .iter()
                    .any(|(with, of)| of == key && modifiers.matches_exact(*with))
            };
            let alone = !modifiers.command && !matches!(key, Key::Escape | Key::F1);
            match BINDINGS.iter().find(is_it).filter(|_| !(alone && typing)) {
                Some(binding) => {
                    commands.push((binding.command)());
                    false
                }
                None => true,
            }
        });
    });
    commands
}

/// Returns the keys of a binding as they are written on keyboards.
pub fn keys_text(binding: &Binding) -> String {
    // Where another key is pressed with Shift for a sign, systems tell of either key.
    let is_told = |(_, key): &&(Modifiers, Key)| *key != Key::CloseCurlyBracket;
    let text = |(modifiers, key): &(Modifiers, Key)| {
        let with = ModifierNames::NAMES.format(modifiers, false);
        match (with.is_empty(), written(*key)) {
            (true, key) => key.to_owned(),
            (false, key) => format!("{with}+{key}"),
        }
    };
    let mut texts: Vec<String> = binding.keys.iter().filter(is_told).map(text).collect();
    texts.retain(|text| !matches!(text.as_str(), "Shift+?" | "Shift+/"));
    texts.join("  ")
}

/// Returns what is written on a key.
fn written(key: Key) -> &'static str {
    match key {
        Key::Period => ".",
        Key::Comma => ",",
        Key::Plus => "+",
        Key::Minus => "-",
        Key::Equals => "=",
        Key::Slash => "/",
        Key::Questionmark => "?",
        Key::OpenBracket => "[",
        Key::CloseBracket => "]",
        Key::ArrowUp => "Up",
        Key::ArrowDown => "Down",
        Key::ArrowLeft => "Left",
        Key::ArrowRight => "Right",
        Key::PageUp => "Page Up",
        Key::PageDown => "Page Down",
        Key::Escape => "Esc",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let mut keys: Vec<_> = BINDINGS.iter().flat_map(|binding| binding.keys).collect();
        let count = keys.len();
        keys.sort_by_key(|(modifiers, key)| format!("{modifiers:?} {key:?}"));
        keys.dedup();
        assert_eq!(keys.len(), count);
        assert!(BINDINGS.iter().all(|binding| !binding.about.is_empty()));
    }

    #[test]
    fn keys_are_named_by_what_is_written_on_them() {
        let named = |about: &str| {
            let mut bindings = BINDINGS.iter();
            let found = bindings.find(|binding| binding.about == about);
            found.map(keys_text).unwrap()
        };
        assert_eq!(named("zoom in"), "W  +  =");
        assert_eq!(named("zoom out"), "S  -");
        assert_eq!(named("next event of the thread"), ".");
        assert_eq!(named("jump to who let it go on"), "Shift+]  C");
        assert_eq!(named("redo the view"), "Ctrl+Shift+Z  Ctrl+Y");
        assert_eq!(named("this help"), "?  F1");
    }
}
