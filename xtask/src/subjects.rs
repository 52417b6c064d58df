//! The programs that measurements run: compressors and a video encoder on input that is made for them, and some of ours.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::run::{is_installed, root, step};

/// So many bytes of text for the compressors.
const TEXT_BYTES: usize = 24_000_000;

/// The pictures for the video encoder.
const FRAMES: usize = 200;
const WIDTH: usize = 640;
const HEIGHT: usize = 360;

/// Makes input for real programs in a directory, and returns the commands of those that are installed, by name; each with
/// so many threads.
pub fn real_programs(
    directory: &Path,
    threads: u32,
) -> Result<Vec<(&'static str, Vec<String>)>, String> {
    let text = directory.join("text");
    fs::write(&text, prose()).map_err(|error| error.to_string())?;
    let video = directory.join("video.yuv");
    fs::write(&video, pictures()).map_err(|error| error.to_string())?;
    let (text, video) = (text.display().to_string(), video.display().to_string());
    let size = format!("{WIDTH}x{HEIGHT}");
    let commands = [
        ("pigz", format!("-p{threads} -c {text}")),
        ("pbzip2", format!("-p{threads} -c -k {text}")),
        ("xz", format!("-T{threads} -1 -c -k {text}")),
        ("zstd", format!("-T{threads} -9 -q -c {text}")),
        (
            "x264",
            format!(
                "--threads {threads} --quiet --no-progress --input-res {size} -o /dev/null {video}"
            ),
        ),
    ];
    let mut installed = Vec::new();
    for (name, arguments) in commands {
        if is_installed(name) {
            let words = arguments.split(' ').map(str::to_owned);
            installed.push((
                name,
                std::iter::once(name.to_owned()).chain(words).collect(),
            ));
        } else {
            eprintln!("{name} is not installed and left out");
        }
    }
    Ok(installed)
}

/// Compiles a program of ours, with options besides those that all are compiled with.
pub fn compile(directory: &Path, name: &str, options: &[&str]) -> Result<PathBuf, String> {
    let program = directory.join(name);
    let source = root().join(format!("traces/programs/{name}.c"));
    step(
        &format!("Compile {name}.c"),
        Command::new("cc")
            .args(["-O2", "-pthread"])
            .args(options)
            .arg("-o")
            .arg(&program)
            .arg(source),
    )?;
    Ok(program)
}

/// Prose of random words.
fn prose() -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut text = String::with_capacity(TEXT_BYTES + 16);
    while text.len() < TEXT_BYTES {
        // Small numbers are frequent, as frequent words are in a language.
        let word = random(&mut state) % 20_000 * (random(&mut state) % 1_000) / 1_000;
        let end = if random(&mut state).is_multiple_of(16) {
            '\n'
        } else {
            ' '
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{word:x}{end}");
    }
    text
}

/// Pictures of a pattern that moves, with some noise.
fn pictures() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut bytes = Vec::with_capacity(FRAMES * WIDTH * HEIGHT * 3 / 2);
    for frame in 0..FRAMES {
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let noise = random(&mut state) as usize % 8;
                bytes.push(((x + 3 * frame) * (y + frame) / 64 % 200 + noise) as u8);
            }
        }
        bytes.resize(bytes.len() + WIDTH * HEIGHT / 2, 128);
    }
    bytes
}

/// Random numbers, the same on every machine.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
