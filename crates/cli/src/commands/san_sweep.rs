//! `foretrace san solve`: one model, for one or many values of its parameters.

use std::path::Path;

use foretrace_san::{
    Options, SanError,
    language::{Parameters, Source},
    solve_watched,
};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::san::{options, read};
use crate::{
    args::{ParameterList, SolveArgs},
    failure::{Finish, Usage},
    output,
    report::san::{
        Point, SolutionJson, SweepJson, solution_text, sweep_csv, sweep_panels, sweep_text,
    },
};

/// As many combinations as one command solves.
const MOST_POINTS: usize = 1_000_000;

/// Runs the command.
pub fn run(args: &SolveArgs) -> anyhow::Result<Finish> {
    let source = read(&args.file)?;
    let combinations = combinations(&args.param)?;
    let options = Options {
        at_time: args.at_time,
        ..options(&args.solver)
    };
    let declared: Vec<&str> = source.results().collect();
    if !declared.is_empty() {
        check_names(&declared, &args.results)?;
    }
    let mut points = solve_all(&source, &combinations, &options)?;
    if !args.results.is_empty() {
        // Without declared results there is one for each local state.
        let first = points.first().map(|point| &point.solution.results);
        let found = first.into_iter().flatten().map(|(name, _)| name.as_str());
        check_names(&found.collect::<Vec<_>>(), &args.results)?;
        for point in &mut points {
            let results = &mut point.solution.results;
            results.retain(|(name, _)| args.results.contains(name));
        }
    }
    let varying: Vec<String> = args
        .param
        .iter()
        .filter(|list| list.values.len() > 1)
        .map(|list| list.name.clone())
        .collect();
    if let Some(path) = &args.svg {
        draw(args, path, &points, &varying)?;
    }
    match points.as_slice() {
        [only] if varying.is_empty() && args.json => {
            output::print_json(&SolutionJson::new(&only.solution))?;
        }
        [only] if varying.is_empty() && !args.csv => {
            output::print(solution_text(&only.solution))?;
        }
        _ if args.json => output::print_json(&SweepJson::new(&points))?,
        _ if args.csv => output::print(sweep_csv(&points, &varying))?,
        _ => output::print(sweep_text(&points, &varying))?,
    }
    Ok(Finish::Fine)
}

/// Refuses names of results that the model does not have.
fn check_names(known: &[&str], names: &[String]) -> anyhow::Result<()> {
    let unknown = names.iter().find(|name| !known.contains(&name.as_str()));
    match unknown {
        None => Ok(()),
        Some(unknown) => {
            let message = format!(
                "--results: the model has no result {unknown}; it has {}",
                known.join(", ")
            );
            Err(Usage(message).into())
        }
    }
}

fn draw(args: &SolveArgs, path: &Path, points: &[Point], varying: &[String]) -> anyhow::Result<()> {
    if varying.is_empty() {
        let message =
            "--svg draws results over a parameter: give one several values, as in --param N=1..8";
        return Err(Usage(message.to_owned()).into());
    }
    let panels = sweep_panels(points, varying, &args.results);
    let title = args.file.file_stem().unwrap_or_default().to_string_lossy();
    output::write_to(
        Some(path),
        foretrace_charts::render(&title, &panels).as_bytes(),
    )
}

/// Returns all combinations of values, the last parameter's varying fastest.
fn combinations(lists: &[ParameterList]) -> anyhow::Result<Vec<Parameters>> {
    let mut all = vec![Parameters::new()];
    for list in lists {
        if all[0].contains_key(&list.name) {
            return Err(Usage(format!("--param: {} has values already", list.name)).into());
        }
        if all.len().saturating_mul(list.values.len()) > MOST_POINTS {
            return Err(Usage(format!("--param: more than {MOST_POINTS} combinations")).into());
        }
        all = all
            .iter()
            .flat_map(|before| {
                list.values.iter().map(|value| {
                    let mut next = before.clone();
                    next.insert(list.name.clone(), *value);
                    next
                })
            })
            .collect();
    }
    Ok(all)
}

/// Solves a model for all of these values, several at a time, with a progress bar where somebody watches.
pub fn solve_all(
    source: &Source,
    combinations: &[Parameters],
    options: &Options,
) -> Result<Vec<Point>, SanError> {
    let many = combinations.len() > 1;
    let bar = if output::is_watched() {
        let template = if many {
            "solving {wide_bar} {pos}/{len}"
        } else {
            "solving {spinner} {msg}"
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(combinations.len() as u64).with_style(style)
    } else {
        ProgressBar::hidden()
    };
    let watch = |sweeps: u64, residual: f64| {
        if !many {
            bar.set_message(format!("{sweeps} sweeps, residual {residual:.1e}"));
            bar.tick();
        }
    };
    // Those that are solved at the same time share the memory.
    let at_once = rayon::current_num_threads().min(combinations.len()).max(1);
    let options = Options {
        memory: options.memory / at_once as f64,
        ..*options
    };
    let points: Vec<Result<Point, SanError>> = combinations
        .par_iter()
        .map(|parameters| {
            let solution = source
                .model(parameters)
                .and_then(|model| solve_watched(&model, &options, &watch))?;
            bar.inc(1);
            Ok(Point {
                parameters: parameters.clone(),
                solution,
            })
        })
        .collect();
    bar.finish_and_clear();
    // Of several errors that of the first combination is told, whichever was found first.
    points.into_iter().collect()
}
