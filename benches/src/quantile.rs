//! What stands for many samples.

/// The `q`-th part of so many values in order, 0.99 for the 99th percentile: the smallest that is no
/// less than that part of them.
///
/// # Panics
/// If there are none.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * q).ceil() as usize;
    values[rank.max(1) - 1]
}
