//! `foretrace san paper`: figures 11 to 14 of the paper on the Propagation program, with our numbers.

use foretrace_charts::{Panel, Series, render};
use foretrace_san::{
    Options,
    language::{Parameters, Source},
};
use serde::Serialize;

use super::{san::free_memory, san_sweep::solve_all};
use crate::{
    args::PaperArgs,
    failure::Finish,
    output,
    table::{self, Align},
};

const ASYNC: &str = include_str!("../../../../assets/models/san/propagation-async.san");
const SYNC: &str = include_str!("../../../../assets/models/san/propagation-sync.san");

/// The numbers of slaves.
const SLAVES: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// The sizes of the buffer of figure 13.
const BUFFERS: [f64; 13] = [
    1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];

/// The numbers of slaves that figure 13 has curves for.
const CURVES: [f64; 6] = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// The size of the buffer where nothing is said about it (section 6.2).
const BUFFER: f64 = 40.0;

/// How many slices each slave gets (section 6.3).
const GRAINS: [(&str, f64); 2] = [("coarse grain", 2.0), ("fine grain", 3.0)];

/// A figure as JSON.
#[derive(Debug, Serialize)]
struct FigureJson {
    figure: u32,
    title: String,
    panels: Vec<PanelJson>,
}

#[derive(Debug, Serialize)]
struct PanelJson {
    title: String,
    x: String,
    y: String,
    curves: Vec<CurveJson>,
}

#[derive(Debug, Serialize)]
struct CurveJson {
    name: String,
    points: Vec<(f64, f64)>,
}

/// Runs the command.
pub fn run(args: &PaperArgs) -> anyhow::Result<Finish> {
    let figures = figures()?;
    let files: Vec<_> = figures
        .iter()
        .map(|(number, ..)| args.output.join(format!("figure-{number}.svg")))
        .collect();
    for file in &files {
        output::check_new_file(file, args.force)?;
    }
    for ((_, title, panels), file) in figures.iter().zip(&files) {
        output::write_to(Some(file), render(title, panels).as_bytes())?;
    }
    if args.json {
        let documents: Vec<FigureJson> = figures.into_iter().map(json).collect();
        output::print_json(&serde_json::json!({ "figures": documents }))?;
    } else {
        output::print(text(&figures))?;
        let names: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        output::note(format_args!("wrote {}", names.join(", ")));
    }
    Ok(Finish::Fine)
}

type Figure = (u32, String, Vec<Panel>);

fn json((figure, title, panels): Figure) -> FigureJson {
    let panel = |panel: Panel| PanelJson {
        title: panel.title,
        x: panel.x,
        y: panel.y,
        curves: panel
            .series
            .into_iter()
            .map(|series| CurveJson {
                name: series.name,
                points: series.points,
            })
            .collect(),
    };
    FigureJson {
        figure,
        title,
        panels: panels.into_iter().map(panel).collect(),
    }
}

/// What the models gave over the numbers of slaves: for each grain and number its results.
struct Curves {
    by_grain: Vec<Vec<Vec<(String, f64)>>>,
}

impl Curves {
    fn solved(
        text: &str,
        name: &str,
        options: &Options,
        more: &Parameters,
    ) -> anyhow::Result<Self> {
        let source = Source::read(text, name)?;
        let mut by_grain = Vec::new();
        for (_, slices) in GRAINS {
            let points: Vec<Parameters> = SLAVES.iter().map(|n| with(more, *n, slices)).collect();
            let solved = solve_all(&source, &points, options)?;
            by_grain.push(
                solved
                    .into_iter()
                    .map(|point| point.solution.results)
                    .collect(),
            );
        }
        Ok(Self { by_grain })
    }

    /// Makes a panel of a result over the numbers of slaves.
    fn panel(&self, title: &str, y: &str, result: &str) -> Panel {
        let series = GRAINS
            .iter()
            .zip(&self.by_grain)
            .map(|((name, _), points)| Series {
                name: (*name).to_owned(),
                points: SLAVES
                    .iter()
                    .zip(points)
                    .map(|(n, results)| (*n, value(results, result)))
                    .collect(),
            });
        Panel {
            title: title.to_owned(),
            x: "number of slaves".to_owned(),
            y: y.to_owned(),
            series: series.collect(),
        }
    }
}

fn with(more: &Parameters, slaves: f64, slices: f64) -> Parameters {
    let mut parameters = more.clone();
    parameters.insert("N".to_owned(), slaves);
    parameters.insert("NS".to_owned(), slices * slaves);
    parameters
}

fn value(results: &[(String, f64)], name: &str) -> f64 {
    let found = results.iter().find(|(result, _)| result == name);
    found.map_or(f64::NAN, |(_, value)| *value)
}

/// Solves what the figures show.
fn figures() -> anyhow::Result<Vec<Figure>> {
    let options = Options {
        memory: free_memory(),
        ..Options::default()
    };
    let buffer = Parameters::from([("K".to_owned(), BUFFER)]);
    let synchronous = Curves::solved(SYNC, "propagation-sync.san", &options, &Parameters::new())?;
    let asynchronous = Curves::solved(ASYNC, "propagation-async.san", &options, &buffer)?;
    let state = |figure, state: &str, result: &str| -> Figure {
        let y = format!("P(slave in {state})");
        (
            figure,
            format!("Figure {figure}: probability of slaves to be in {state}"),
            vec![
                synchronous.panel("(a) synchronous", &y, result),
                asynchronous.panel("(b) asynchronous", &y, result),
            ],
        )
    };
    Ok(vec![
        state(11, "Tx", "S_Tx"),
        state(12, "Pr", "S_Pr"),
        (
            13,
            "Figure 13: size of the buffer, asynchronous model".to_owned(),
            buffers(&options)?,
        ),
        (
            14,
            "Figure 14: granularity, asynchronous model".to_owned(),
            vec![
                asynchronous.panel("(a) master in Rx", "P(master in Rx)", "M_Rx"),
                asynchronous.panel("(b) master in Tx", "P(master in Tx)", "M_Tx"),
            ],
        ),
    ])
}

/// Makes the panels of figure 13.
fn buffers(options: &Options) -> anyhow::Result<Vec<Panel>> {
    let source = Source::read(ASYNC, "propagation-async.san")?;
    let mut panels = Vec::new();
    for ((grain, slices), letter) in GRAINS.iter().zip(["a", "b"]) {
        let mut series = Vec::new();
        for slaves in CURVES {
            let points: Vec<Parameters> = BUFFERS
                .iter()
                .map(|size| {
                    with(
                        &Parameters::from([("K".to_owned(), *size)]),
                        slaves,
                        *slices,
                    )
                })
                .collect();
            let solved = solve_all(&source, &points, options)?;
            let values = solved
                .iter()
                .map(|point| value(&point.solution.results, "S_Tx"));
            series.push(Series {
                name: format!("{slaves} slaves"),
                points: BUFFERS.iter().copied().zip(values).collect(),
            });
        }
        panels.push(Panel {
            title: format!("({letter}) {grain}"),
            x: "size of the buffer".to_owned(),
            y: "P(slave in Tx)".to_owned(),
            series,
        });
    }
    Ok(panels)
}

/// Shows the numbers behind the figures.
fn text(figures: &[Figure]) -> String {
    let mut text = String::new();
    for (_, title, panels) in figures {
        text += title;
        text.push('\n');
        for panel in panels {
            let rows = panel.series.iter().map(|series| {
                let values = series.points.iter().map(|(_, y)| format!("{y:.5}"));
                [series.name.clone(), values.collect::<Vec<_>>().join("  ")]
            });
            let head = panel.series.first().map_or_else(String::new, |series| {
                let values = series.points.iter().map(|(x, _)| format!("{x:>7}"));
                values.collect::<Vec<_>>().join("  ")
            });
            text += &table::render([(&panel.title, Align::Left), (&head, Align::Left)], rows);
        }
        text.push('\n');
    }
    text
}
