//! [`Sizes`]: a distribution of numbers, such as bytes of a value or records of a scan.
//!
//! Its text is `SIZE`, `LEAST-MOST` (uniform) or `LEAST-MOST/SHAPE` (Pareto, cut at `MOST`).
//! Parsing checks the text. A value built in code is not checked: it needs `LEAST <= MOST` and a
//! finite shape above 0.

use std::fmt;
use std::str::FromStr;

use rand_distr::{Distribution, Pareto};
use terrace_env::random::{Random, Rng};

/// A distribution of sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// One size for all.
    Constant(u32),
    /// Sizes from the first to the second, each as often as any other.
    Uniform(u32, u32),
    /// Pareto's, from the first on, with the third as its shape, cut at the second: many small and
    /// few large ones, as in most stores (Cao and others, "Characterizing, modeling, and
    /// benchmarking RocksDB key-value workloads", FAST 2020, section 5).
    Pareto(u32, u32, f64),
}

impl Sizes {
    /// Draws a size.
    pub fn draw(&self, random: &mut Random) -> u32 {
        match *self {
            Self::Constant(size) => size,
            Self::Uniform(least, most) => random.random_range(least..=most),
            Self::Pareto(least, most, shape) => {
                let pareto = Pareto::new(f64::from(least.max(1)), shape)
                    .expect("a shape that was checked when it was read");
                (pareto.sample(random) as u32).clamp(least, most)
            }
        }
    }

    /// The mean of the drawn sizes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(size) => f64::from(size),
            Self::Uniform(least, most) => (f64::from(least) + f64::from(most)) / 2.0,
            Self::Pareto(least, most, shape) => {
                // A drawn size is at least x with probability (least/x)^shape, up to the cut.
                let (least, most) = (f64::from(least.max(1)), f64::from(most));
                let rest = 1.0 - shape;
                let tail = if rest.abs() < 1e-9 {
                    least * (most / least).ln()
                } else {
                    least.powf(shape) * (most.powf(rest) - least.powf(rest)) / rest
                };
                least + tail.max(0.0)
            }
        }
    }

    /// The smallest that is drawn.
    #[must_use]
    pub fn min(&self) -> u32 {
        match *self {
            Self::Constant(size) => size,
            Self::Uniform(least, _) | Self::Pareto(least, _, _) => least,
        }
    }

    /// The largest that is drawn.
    #[must_use]
    pub fn max(&self) -> u32 {
        match *self {
            Self::Constant(size) => size,
            Self::Uniform(_, most) | Self::Pareto(_, most, _) => most,
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(size) => write!(f, "{size}"),
            Self::Uniform(least, most) => write!(f, "{least}-{most}"),
            Self::Pareto(least, most, shape) => write!(f, "{least}-{most}/{shape}"),
        }
    }
}

/// A text that is no distribution of sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a size, LEAST-MOST, or LEAST-MOST/SHAPE with a shape above 0, found `{text}`")]
pub struct NoSizes {
    /// Text found.
    pub text: String,
}

impl FromStr for Sizes {
    type Err = NoSizes;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| NoSizes { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Sizes> {
    let Some((least, rest)) = text.split_once('-') else {
        return Some(Sizes::Constant(text.parse().ok()?));
    };
    let (most, shape) = rest.split_once('/').map_or((rest, None), |(most, s)| (most, Some(s)));
    let (least, most): (u32, u32) = (least.parse().ok()?, most.parse().ok()?);
    let sizes = match shape {
        None => Sizes::Uniform(least, most),
        Some(shape) => {
            let shape = shape.parse().ok().filter(|shape: &f64| *shape > 0.0);
            Sizes::Pareto(least, most, shape.filter(|shape| shape.is_finite())?)
        }
    };
    (least <= most).then_some(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_drawn_within_their_limits() {
        let mut random = Random::seeded(1);
        for (text, least, most) in
            [("7", 7, 7), ("0-5", 0, 5), ("100-4000", 100, 4_000), ("16-9999/1.2", 16, 9_999)]
        {
            let sizes: Sizes = text.parse().unwrap();
            assert_eq!((sizes.to_string().as_str(), sizes.max()), (text, most));
            assert!(
                (0..5_000).all(|_| (least..=most).contains(&sizes.draw(&mut random))),
                "{text}"
            );
        }
        for text in ["", "x", "5-4", "1-2/0", "1-2/x", "-1", "1-2/inf"] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_mean_is_that_of_what_is_drawn() {
        let mut random = Random::seeded(1);
        for text in ["300", "16-99", "50-5000/1", "50-5000/1.5", "100-900/0.5"] {
            let sizes: Sizes = text.parse().unwrap();
            let sum: f64 = (0..200_000).map(|_| f64::from(sizes.draw(&mut random))).sum();
            let ratio = sum / 200_000.0 / sizes.mean();
            assert!((ratio - 1.0).abs() < 0.02, "{text}: {ratio}");
        }
    }

    #[test]
    fn pareto_draws_many_small_and_few_large_sizes() {
        let (sizes, mut random) = (Sizes::Pareto(16, 1 << 20, 1.0), Random::seeded(1));
        let drawn: Vec<u32> = (0..10_000).map(|_| sizes.draw(&mut random)).collect();
        // Half of them are below twice the least.
        let small = drawn.iter().filter(|size| **size < 32).count();
        assert!((4_700..5_300).contains(&small), "{small}");
        assert!(drawn.iter().any(|size| *size > 10_000));
    }
}
