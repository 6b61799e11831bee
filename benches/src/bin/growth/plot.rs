//! A plot of the table, in colours that can be seen on a light and on a dark background.

use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::readable;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// The edges of the plot: left, top, right, bottom.
const FRAME: [f64; 4] = [64.0, 24.0, 690.0, 330.0];
const COLOURS: [&str; 2] = ["#d9822b", "#3b82c4"];

/// Draws a line for each named row of values, one for each of `sizes`, which are powers of two.
pub fn plot(sizes: RangeInclusive<u32>, lines: &[(&str, &[f64])]) -> String {
    let [left, top, right, bottom] = FRAME;
    let (first, last) = (*sizes.start(), *sizes.end());
    let most = lines.iter().flat_map(|(_, values)| *values).fold(0.0, |most: f64, value| most.max(*value));
    let step = nice_step(most / 5.0);
    let steps = (most / step).ceil();
    let x = |size: u32| left + (right - left) * f64::from(size - first) / f64::from(last - first);
    let y = |value: f64| bottom - (bottom - top) * value / (steps * step);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#808080\">\n\
         <title>What a stack costs to grow</title>\n"
    );
    let mut put = |element: String| writeln!(svg, "{element}").unwrap();
    for i in 0..=steps as u32 {
        let value = f64::from(i) * step;
        let y = y(value);
        put(format!("<path d=\"M{left} {y:.1}H{right}\" stroke=\"#808080\" stroke-opacity=\".3\"/>"));
        put(format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value:.2}</text>", left - 8.0, y + 4.0));
    }
    for size in sizes.clone().step_by(2) {
        let (x, y) = (x(size), bottom + 18.0);
        put(format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", readable(size)));
    }
    let (middle, under) = ((left + right) / 2.0, bottom + 40.0);
    put(format!("<text x=\"{middle}\" y=\"{under}\" text-anchor=\"middle\">size of the stack</text>"));
    let middle = (top + bottom) / 2.0;
    put(format!(
        "<text transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\">ns per byte</text>"
    ));
    for (i, ((name, values), colour)) in lines.iter().zip(COLOURS).enumerate() {
        let point = |(size, value): (u32, &f64)| format!("{:.1},{:.1}", x(size), y(*value));
        let points: Vec<String> = sizes.clone().zip(*values).map(point).collect();
        put(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        ));
        let (x, y) = (left + 16.0 + 160.0 * i as f64, HEIGHT - 10.0);
        put(format!("<path d=\"M{x} {}h24\" stroke=\"{colour}\" stroke-width=\"2\"/>", y - 4.0));
        put(format!("<text x=\"{}\" y=\"{y}\">{name}</text>", x + 32.0));
    }
    svg + "</svg>\n"
}

/// Returns the least of 1, 2, 5, 10 ... times a power of ten that is at least `x`.
fn nice_step(x: f64) -> f64 {
    let power = 10_f64.powf(x.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|&step| step >= x).unwrap_or(10.0 * power)
}
