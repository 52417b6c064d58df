//! Colours that tell the states apart, for colour-blind eyes too.
//!
//! The fills were searched for by machine: the hues follow custom (green runs, yellow could, red and violet wait), and
//! within them the least distance between any two was made as large as possible, in `OKLab`, as seen by normal eyes and
//! through simulated protanopia, deuteranopia and tritanopia. The tests hold them to it.

use std::fmt;

use foretrace_schedule::{Activity, WaitKind};

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on white.
    #[default]
    Light,
    /// Light ink on near-black.
    Dark,
}

/// A colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Makes a colour of its usual notation, `0xRRGGBB`.
    const fn hex(code: u32) -> Self {
        Self((code >> 16) as u8, (code >> 8) as u8, code as u8)
    }

    /// Returns the share of light, from 0 for black to 1 for white.
    ///
    /// # Source
    ///
    /// WCAG 2.1, "relative luminance".
    pub fn luminance(self) -> f64 {
        let [r, g, b] = [self.0, self.1, self.2].map(linear);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Returns the contrast with another colour, from 1 (none) to 21 (black on white).
    ///
    /// # Source
    ///
    /// WCAG 2.1, "contrast ratio".
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        a.max(b) / a.min(b)
    }

    /// Returns black or white ink, whichever reads better on this colour.
    #[must_use]
    pub fn ink(self) -> Self {
        let (dark, light) = (Self::hex(0x10_1418), Self::hex(0xff_ffff));
        if self.contrast(dark) >= self.contrast(light) {
            dark
        } else {
            light
        }
    }
}

/// Undoes the gamma of a component of a colour.
fn linear(component: u8) -> f64 {
    let c = f64::from(component) / 255.0;
    if c <= 0.04045 {
        c / 12.92
    } else {
        ((c + 0.055) / 1.055).powf(2.4)
    }
}

/// Writes the colour as CSS and SVG read it: `#rrggbb`.
impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// All colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Behind everything.
    pub background: Rgb,
    /// Behind every other row.
    pub stripe: Rgb,
    /// Names, titles.
    pub text: Rgb,
    /// What matters less: subtitles, labels of axes.
    pub muted: Rgb,
    /// Grid lines.
    pub grid: Rgb,
    /// Axes.
    pub axis: Rgb,
    /// Arrows from who released to who woke.
    pub arrow: Rgb,
    /// A deadlock.
    pub alarm: Rgb,
    /// Threads blocked on whatever, where kinds are not told apart.
    pub blocked: Rgb,
    fills: [Rgb; Activity::ALL.len()],
}

impl Palette {
    /// Returns the colours of a theme.
    pub fn of(theme: Theme) -> &'static Self {
        match theme {
            Theme::Light => &LIGHT,
            Theme::Dark => &DARK,
        }
    }

    /// Returns the colour of segments.
    pub fn fill(&self, activity: Activity) -> Rgb {
        self.fills[activity.index()]
    }

    /// Returns the colour of segments of a kind of wait.
    pub fn wait(&self, kind: WaitKind) -> Rgb {
        self.fill(Activity::Blocked(kind))
    }
}

/// For paper and bright rooms.
const LIGHT: Palette = Palette {
    background: Rgb::hex(0xff_ffff),
    stripe: Rgb::hex(0xf6_f7f9),
    text: Rgb::hex(0x1d_2530),
    muted: Rgb::hex(0x5c_6875),
    grid: Rgb::hex(0xdf_e3e8),
    axis: Rgb::hex(0x9a_a4af),
    arrow: Rgb::hex(0x1d_2530),
    alarm: Rgb::hex(0xb4_1414),
    blocked: Rgb::hex(0xdc_e1e8),
    fills: [
        Rgb::hex(0x19_9c84), // running
        Rgb::hex(0xed_d968), // ready
        Rgb::hex(0xd0_5e21), // lock
        Rgb::hex(0x4c_a3f8), // condition
        Rgb::hex(0x61_319f), // semaphore
        Rgb::hex(0xdc_9d36), // rwlock
        Rgb::hex(0x74_68d2), // barrier
        Rgb::hex(0x3e_6a7a), // join
        Rgb::hex(0xa3_2a2b), // once
        Rgb::hex(0x69_1648), // send
        Rgb::hex(0x98_f0f0), // wait
        Rgb::hex(0xb7_b4bf), // timeout
        Rgb::hex(0x08_0b1c), // I/O
    ],
};

/// For screens in the evening.
const DARK: Palette = Palette {
    background: Rgb::hex(0x14_181d),
    stripe: Rgb::hex(0x19_1e24),
    text: Rgb::hex(0xe6_eaef),
    muted: Rgb::hex(0x9a_a6b2),
    grid: Rgb::hex(0x2b_323a),
    axis: Rgb::hex(0x5a_6570),
    arrow: Rgb::hex(0xf2_f4f7),
    alarm: Rgb::hex(0xff_6b6b),
    blocked: Rgb::hex(0x36_3f4a),
    fills: [
        Rgb::hex(0x4c_9c70), // running
        Rgb::hex(0xe8_df7d), // ready
        Rgb::hex(0xea_5e0a), // lock
        Rgb::hex(0x69_97fe), // condition
        Rgb::hex(0x9c_6eb3), // semaphore
        Rgb::hex(0xed_a51f), // rwlock
        Rgb::hex(0x41_54be), // barrier
        Rgb::hex(0x80_b8c4), // join
        Rgb::hex(0x7f_1946), // once
        Rgb::hex(0xa9_430f), // send
        Rgb::hex(0xc6_def2), // wait
        Rgb::hex(0x69_696c), // timeout
        Rgb::hex(0x2b_0e91), // I/O
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// How kinds of colour blindness see linear RGB, at full severity.
    ///
    /// # Source
    ///
    /// Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009.
    const EYES: [(&str, [[f64; 3]; 3]); 4] = [
        (
            "normal",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
        ),
    ];

    fn product(matrix: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(v).map(|(m, x)| m * x).sum())
    }

    /// Coordinates in which equal distances look about equally far apart; 0.02 is just noticeable.
    ///
    /// # Source
    ///
    /// Ottosson: A perceptual color space for image processing, 2020.
    fn oklab(colour: Rgb, eyes: &[[f64; 3]; 3]) -> [f64; 3] {
        let seen = product(eyes, [colour.0, colour.1, colour.2].map(linear));
        let cones = product(
            &[
                [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
                [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
                [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
            ],
            seen.map(|c| c.clamp(0.0, 1.0)),
        );
        product(
            &[
                [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
                [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
                [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
            ],
            cones.map(f64::cbrt),
        )
    }

    fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
        a.iter()
            .zip(b)
            .map(|(x, y)| (x - y).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    #[test]
    fn any_two_states_are_told_apart_by_any_eyes() {
        for palette in [&LIGHT, &DARK] {
            for (name, eyes) in &EYES {
                let least = if *name == "tritanopia" { 0.065 } else { 0.1 };
                for a in Activity::ALL {
                    for b in Activity::ALL.into_iter().filter(|b| a < *b) {
                        let apart =
                            distance(oklab(palette.fill(a), eyes), oklab(palette.fill(b), eyes));
                        assert!(
                            apart > least,
                            "{} and {}: {apart:.3} in {name}",
                            a.name(),
                            b.name()
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn blocked_threads_of_any_kind_look_like_no_kind() {
        for palette in [&LIGHT, &DARK] {
            for activity in Activity::ALL {
                let (_, normal) = &EYES[0];
                let apart = distance(
                    oklab(palette.fill(activity), normal),
                    oklab(palette.blocked, normal),
                );
                assert!(apart > 0.07, "{}: {apart:.3}", activity.name());
            }
        }
    }

    #[test]
    fn every_state_stands_out_from_the_background() {
        for palette in [&LIGHT, &DARK] {
            for activity in Activity::ALL {
                for behind in [palette.background, palette.stripe] {
                    let contrast = palette.fill(activity).contrast(behind);
                    assert!(contrast > 1.2, "{}: {contrast:.2}", activity.name());
                }
            }
            let running = palette.fill(Activity::Running);
            assert!(running.contrast(palette.background) > 3.0);
        }
    }

    #[test]
    fn text_is_legible_on_everything_that_carries_it() {
        for palette in [&LIGHT, &DARK] {
            for ink in [palette.text, palette.muted, palette.alarm] {
                for behind in [palette.background, palette.stripe] {
                    assert!(ink.contrast(behind) > 4.5, "{ink} on {behind}");
                }
            }
            for activity in Activity::ALL {
                let fill = palette.fill(activity);
                assert!(
                    fill.ink().contrast(fill) > 4.5,
                    "{} {:.2}",
                    activity.name(),
                    fill.ink().contrast(fill)
                );
            }
        }
    }

    #[test]
    fn a_colour_is_written_with_six_digits() {
        assert_eq!(Rgb::hex(0x01_0aff).to_string(), "#010aff");
        let most = Rgb(255, 255, 255).contrast(Rgb(0, 0, 0));
        assert!((most - 21.0).abs() < 1e-9);
    }
}
