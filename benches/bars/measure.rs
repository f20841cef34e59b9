//! Compares two ways of doing the same thing, measured in turn.

use serde::Serialize;
use std::time::{Duration, Instant};

/// One line of the table.
#[derive(Serialize)]
pub struct Row {
    what: String,
    ours: String,
    other: String,
    /// The ratio of ours to the other, with its spread: see [`Pairs::ratio`].
    ratio: String,
    bar: String,
    /// `None` if it was skipped.
    met: Option<bool>,
}

impl Row {
    /// Ours may take at most `bar` times as long as the other.
    pub fn at_most(what: &str, bar: f64, pairs: &Pairs, shown: impl Fn(f64) -> String) -> Self {
        Self::of(what, format!("≤ {bar:.2} ×"), pairs, shown, |ratio| ratio <= bar)
    }

    /// Ours must do at least `bar` times as much as the other.
    pub fn at_least(what: &str, bar: f64, pairs: &Pairs, shown: impl Fn(f64) -> String) -> Self {
        Self::of(what, format!("≥ {bar:.2} ×"), pairs, shown, |ratio| ratio >= bar)
    }

    fn of(what: &str, bar: String, pairs: &Pairs, shown: impl Fn(f64) -> String, meets: impl Fn(f64) -> bool) -> Self {
        let Ratio { middle, low, high } = pairs.ratio();
        Self {
            what: what.to_owned(),
            ours: shown(median(&pairs.ours)),
            other: shown(median(&pairs.other)),
            ratio: format!("{middle:.2} ({low:.2}–{high:.2})"),
            bar,
            met: Some(meets(middle)),
        }
    }

    /// The same with a remark on each side.
    pub fn with_remarks(mut self, ours: &str, other: &str) -> Self {
        self.ours = format!("{} ({ours})", self.ours);
        self.other = format!("{} ({other})", self.other);
        self
    }

    /// For information: there is no bar.
    pub fn informs(what: &str, pairs: &Pairs, shown: impl Fn(f64) -> String) -> Self {
        Self { met: None, ..Self::of(what, "none".to_owned(), pairs, shown, |_| true) }
    }

    /// Ours alone, which may take at most `limit`.
    pub fn within(what: &str, limit: Duration, took: &[f64]) -> Self {
        let (middle, least, most) = (median(took), quantile(took, 0.0), quantile(took, 1.0));
        Self {
            what: what.to_owned(),
            ours: format!("{} ({}–{})", milliseconds(middle), milliseconds(least), milliseconds(most)),
            other: String::new(),
            ratio: String::new(),
            bar: format!("≤ {} ms", limit.as_millis()),
            met: Some(middle <= limit.as_secs_f64()),
        }
    }

    /// A row that could not be measured, and why.
    pub fn skipped(what: &str, why: &str) -> Self {
        let empty = String::new;
        Self { what: what.to_owned(), ours: empty(), other: why.to_owned(), ratio: empty(), bar: empty(), met: None }
    }
}

/// The measurements of both, in order.
#[derive(Default)]
pub struct Pairs {
    pub ours: Vec<f64>,
    pub other: Vec<f64>,
}

struct Ratio {
    middle: f64,
    low: f64,
    high: f64,
}

impl Pairs {
    /// Measures both in turn, `count` times; each goes first every second time. The first twentieth is a warm-up. In
    /// seconds.
    pub async fn timed(count: usize, mut ours: impl AsyncFnMut(usize), mut other: impl AsyncFnMut(usize)) -> Self {
        let mut pairs = Self::default();
        let warm = count / 20;
        for turn in 0..warm + count {
            let (one, two);
            if turn % 2 == 0 {
                one = time(&mut ours, turn).await;
                two = time(&mut other, turn).await;
            } else {
                two = time(&mut other, turn).await;
                one = time(&mut ours, turn).await;
            }
            if turn >= warm {
                pairs.ours.push(one);
                pairs.other.push(two);
            }
        }
        pairs
    }

    /// The ratio of the medians, with the lowest and highest ratio over ten parts of the run.
    fn ratio(&self) -> Ratio {
        let block = self.ours.len().div_ceil(10).max(1);
        let blocks = self.ours.chunks(block).zip(self.other.chunks(block));
        let ratios: Vec<f64> = blocks.map(|(ours, other)| median(ours) / median(other)).collect();
        Ratio {
            middle: median(&self.ours) / median(&self.other),
            low: quantile(&ratios, 0.0),
            high: quantile(&ratios, 1.0),
        }
    }
}

async fn time(work: &mut impl AsyncFnMut(usize), turn: usize) -> f64 {
    let begun = Instant::now();
    work(turn).await;
    begun.elapsed().as_secs_f64()
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() - 1) as f64 * q;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

pub fn microseconds(seconds: f64) -> String {
    format!("{:.1} µs", seconds * 1e6)
}

pub fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

pub fn per_second(rate: f64) -> String {
    format!("{rate:.0}/s")
}
