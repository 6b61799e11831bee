//! Draws the table of `docs/lab/performance.md`: `docs/lab/performance.svg`.
//!
//! `cargo run --release --bin performance` measures nothing. It reads the rows at 2 P's that have a
//! value in Go's column, and draws each row's ratio as a bar: from 1 to the left where gosched
//! takes less, and to the right where it takes more.

use std::fmt::Write;
use std::fs;
use std::path::Path;

const WIDTH: f64 = 720.0;
/// The ends of the axis.
const LEFT: f64 = 160.0;
const RIGHT: f64 = 660.0;
/// The top of the first bar, and the distance between bars.
const TOP: f64 = 28.0;
const STEP: f64 = 18.0;
/// Colours of the bars to the left of 1 and to the right. They are visible on light and on dark
/// backgrounds.
const LESS: &str = "#3b82c4";
const MORE: &str = "#d9822b";

/// A row of the table: its name, and its ratio as the table has it.
type Row<'a> = (&'a str, &'a str);

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/lab");
    let text = fs::read_to_string(folder.join("performance.md")).unwrap();
    fs::write(folder.join("performance.svg"), plot(&rows(&text))).unwrap();
}

/// Returns the rows at 2 P's that have a value in Go's column, from the first table with ratios.
fn rows(text: &str) -> Vec<Row<'_>> {
    let mut lines = text.lines().map(cells);
    let heading = lines.find_map(|cells| cells.filter(|cells| cells.contains(&"ratio")));
    let heading = heading.expect("a table with ratios");
    let column = |name| heading.iter().position(|cell| *cell == name).expect(name);
    let (name, procs, go, ratio) = (column("row"), column("P's"), column("Go"), column("ratio"));
    let table = lines.map_while(|cells| cells);
    let compared = table.filter(|cells| cells[procs] == "2" && !cells[go].is_empty());
    compared.map(|cells| (cells[name], cells[ratio])).collect()
}

/// Returns the cells of a line of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    Some(line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect())
}

fn plot(rows: &[Row<'_>]) -> String {
    let ratios: Vec<f64> = rows.iter().map(|(_, ratio)| ratio.parse().expect("a number")).collect();
    let (least, most) = ratios.iter().fold((1.0, 1.0), |(l, m), &ratio| (ratio.min(l), ratio.max(m)));
    let ticks = ticks(least, most);
    let (first, last) = (ticks[0].ln(), ticks[ticks.len() - 1].ln());
    let x = |ratio: f64| LEFT + (RIGHT - LEFT) * (ratio.ln() - first) / (last - first);
    let bottom = TOP + STEP * rows.len() as f64;

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#808080\">\n\
         <title>Ours in units of Go's, at 2 P's</title>\n",
        bottom + 44.0
    );
    let mut put = |element: String| writeln!(svg, "{element}").unwrap();
    for tick in ticks {
        let (x, opacity) = (x(tick), if tick == 1.0 { 1.0 } else { 0.3 });
        put(format!("<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#808080\" stroke-opacity=\"{opacity}\"/>"));
        for y in [TOP - 8.0, bottom + 18.0] {
            put(format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{tick}</text>"));
        }
    }
    for (i, ((name, label), ratio)) in rows.iter().zip(ratios).enumerate() {
        let (y, one, end) = (TOP + STEP * i as f64, x(1.0), x(ratio));
        let (colour, text, anchor) =
            if ratio < 1.0 { (LESS, end - 5.0, "end") } else { (MORE, end + 5.0, "start") };
        let (from, width, baseline) = (one.min(end), (end - one).abs(), y + 13.0);
        put(format!(
            "<rect x=\"{from:.1}\" y=\"{}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            y + 3.0,
            STEP - 6.0
        ));
        put(format!("<text x=\"{text:.1}\" y=\"{baseline}\" text-anchor=\"{anchor}\">{label}</text>"));
        put(format!("<text x=\"{}\" y=\"{baseline}\" text-anchor=\"end\">{name}</text>", LEFT - 40.0));
    }
    let (middle, under) = ((LEFT + RIGHT) / 2.0, bottom + 38.0);
    let caption = "ours in units of Go's, at 2 P's: 1 is as much as Go, and less is better";
    put(format!("<text x=\"{middle}\" y=\"{under}\" text-anchor=\"middle\">{caption}</text>"));
    svg + "</svg>\n"
}

/// Returns 1, 2, 5, 10 ... times powers of ten: from the last that is at most `least` to the first
/// that is at least `most`.
fn ticks(least: f64, most: f64) -> Vec<f64> {
    let all: Vec<f64> = (-4..5)
        .flat_map(|power| ["1", "2", "5"].map(|digit| format!("{digit}e{power}").parse().unwrap()))
        .collect();
    let first = all.iter().rposition(|&tick| tick <= least).expect("a ratio of more than 0.0001");
    let last = all.iter().position(|&tick| tick >= most).expect("a ratio of less than 50000");
    all[first..=last].to_vec()
}
