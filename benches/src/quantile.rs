//! Quantiles of many samples.

/// Returns the `q`-quantile of the values, for instance the 99th percentile for 0.99: the smallest
/// value that isn't less than the part `q` of all values.
///
/// # Panics
/// If there are none.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() as f64 * q).ceil() as usize;
    values[rank.max(1) - 1]
}
