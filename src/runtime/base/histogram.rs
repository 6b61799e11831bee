//! Distributions of durations: Go's `histogram.go`.
//!
//! The durations from each power of two nanoseconds to the next, from 2^8 to 2^47, have four
//! buckets of the same width. The durations from 0 to 2^8 have four more.

use std::sync::atomic::Ordering;

use crate::runtime::data::runtime2::TimeHistogram;

/// Go's `timeHistMinBucketBits`, `timeHistMaxBucketBits`, `timeHistSubBucketBits`,
/// `timeHistNumSubBuckets` and `timeHistNumBuckets`.
const MIN_BUCKET_BITS: usize = 9;
const MAX_BUCKET_BITS: usize = 48;
const SUB_BUCKET_BITS: usize = 2;
const NUM_SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;
const NUM_BUCKETS: usize = MAX_BUCKET_BITS - MIN_BUCKET_BITS + 1;

impl TimeHistogram {
    /// Counts a duration, in nanoseconds. Go's `timeHistogram.record`.
    pub(in crate::runtime) fn record(&self, duration: i64) {
        if duration < 0 {
            self.underflow.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let bits = (i64::BITS - duration.leading_zeros()) as usize;
        let bucket = (bits + 1).saturating_sub(MIN_BUCKET_BITS);
        if bucket >= NUM_BUCKETS {
            self.overflow.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let bit = bits.max(MIN_BUCKET_BITS);
        let sub_bucket = (duration >> (bit - 1 - SUB_BUCKET_BITS)) as usize % NUM_SUB_BUCKETS;
        self.counts[bucket * NUM_SUB_BUCKETS + sub_bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the count of each bucket. The first bucket is for durations below 0, the last for
    /// durations beyond all others. Go's `timeHistogram.write`.
    pub(in crate::runtime) fn counts(&self) -> Vec<u64> {
        let all = [&self.underflow].into_iter().chain(&self.counts).chain([&self.overflow]);
        all.map(|count| count.load(Ordering::Relaxed)).collect()
    }
}

/// Returns the bounds of the buckets, in seconds: one bound more than there are buckets. Go's
/// `timeHistogramMetricsBuckets`.
pub(in crate::runtime) fn time_histogram_metrics_buckets() -> Vec<f64> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let sub = |bit: usize, i: usize| (i as u64) << (bit - 1 - SUB_BUCKET_BITS);
    let smallest = (0..NUM_SUB_BUCKETS).map(|i| sub(MIN_BUCKET_BITS, i));
    let others = (MIN_BUCKET_BITS..MAX_BUCKET_BITS)
        .flat_map(|bit| (0..NUM_SUB_BUCKETS).map(move |i| 1 << (bit - 1) | sub(bit, i)));
    let bounds = smallest.chain(others).chain([1 << (MAX_BUCKET_BITS - 1)]).map(seconds);
    [f64::NEG_INFINITY].into_iter().chain(bounds).chain([f64::INFINITY]).collect()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::runtime::base::testing::zeroed;

    #[test]
    fn each_duration_is_between_the_bounds_of_its_bucket() {
        let bounds = time_histogram_metrics_buckets();
        assert!(bounds.is_sorted());
        let powers = (0..63).map(|bit| 1_i64 << bit);
        let durations = powers.flat_map(|ns| [ns - 1, ns, ns + ns / 3]).chain([i64::MIN, -1, i64::MAX]);
        for duration in durations {
            let histogram: &TimeHistogram = zeroed();
            histogram.record(duration);
            let counts = histogram.counts();
            assert_eq!((counts.len() + 1, counts.iter().sum::<u64>()), (bounds.len(), 1));
            let bucket = counts.iter().position(|&count| count == 1).unwrap();
            let seconds = duration as f64 / 1e9;
            let within = bounds[bucket] <= seconds && (seconds < bounds[bucket + 1] || duration == i64::MAX);
            assert!(within, "{duration} ns is in {:?}", &bounds[bucket..=bucket + 1]);
        }
    }
}
