//! [`Gaps`]: the distribution of the time from one arrival to the next, as a multiple of its mean
//! (Pitchumani's thesis, section 4.1.3, where it is called the secondary distribution).
//!
//! Exponential gaps give a Poisson process. Pareto's have a heavy tail: the density of a gap `g` is
//! `shape * least^shape / g^(shape + 1)` from `least` on, where `least = (shape - 1) / shape` makes
//! the mean 1. With a shape of 2 or less, the variance is infinite. The nearer the shape is to 1,
//! the slower the mean of many gaps approaches 1. A shape of 1 or less has no finite mean, and
//! [`Gaps::draw`] panics.

use rand_distr::{Distribution, Exp1, Pareto};
use terrace_env::random::Random;

/// The distribution of gaps between arrivals; its mean is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gaps {
    /// Those of a Poisson process.
    Exponential,
    /// Pareto's, with this shape, above 1.
    Pareto(f64),
}

impl Gaps {
    /// Draws a gap.
    pub fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Exponential => Exp1.sample(random),
            Self::Pareto(shape) => {
                let pareto = Pareto::new((shape - 1.0) / shape, shape);
                pareto.expect("a shape above 1, as the text demands").sample(random)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(gaps: Gaps) -> Vec<f64> {
        let mut random = Random::seeded(1);
        (0..200_000).map(|_| gaps.draw(&mut random)).collect()
    }

    #[test]
    fn gaps_have_a_mean_of_one_and_the_quantiles_of_their_distribution() {
        for (gaps, tolerance) in
            [(Gaps::Exponential, 0.01), (Gaps::Pareto(3.0), 0.01), (Gaps::Pareto(1.9), 0.05)]
        {
            let all = drawn(gaps);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            assert!((mean - 1.0).abs() < tolerance, "{gaps:?}: {mean}");
        }
        for shape in [1.1, 1.5, 1.9] {
            let mut all = drawn(Gaps::Pareto(shape));
            all.sort_by(f64::total_cmp);
            let least = (shape - 1.0) / shape;
            assert!(all[0] >= least && all[0] < least * 1.001);
            for share in [0.5, 0.9, 0.99] {
                let expected = least * (1.0_f64 - share).powf(-1.0 / shape);
                let found = all[(share * all.len() as f64) as usize];
                assert!((found / expected - 1.0).abs() < 0.05, "{shape}, {share}: {found}");
            }
        }
    }
}
