//! Statistics of arrivals: how arrivals depend on each other over short and long times.
//!
//! They are computed for a *series*: the number of arrivals in each of many equal bins of time
//! ([`bins`]), or the gaps from one arrival to the next ([`gaps`]).
//!
//! - [`autocorrelation()`]: how much a series is like itself some values later.
//! - The Hurst parameter `H`: 0.5 if distant values are independent, and nearer to 1 the more a
//!   series is like itself over long times. There are five [`Estimator`]s, since they differ
//!   (Pitchumani's thesis, section 4.3.3; Taqqu, Teverovsky and Willinger, "Estimators for
//!   long-range dependence: an empirical study", Fractals 1995).
//! - [`Analysis`]: the autocorrelation and the five estimates, for a sequence of arrivals.
//! - [`fractional_noise()`]: a series of known `H`, to test the estimators with.
//! - [`PUBLISHED`]: estimates from the thesis.
//!
//! | file | estimator |
//! |---|---|
//! | `aggregate_variance` | variance of means of blocks |
//! | `rescaled_range` | range over deviation, R/S |
//! | `periodogram` | the lowest frequencies |
//! | `abry_veitch` | wavelets |
//! | `whittle` | likelihood of fractional Gaussian noise |

mod abry_veitch;
mod aggregate_variance;
mod analysis;
mod autocorrelation;
mod estimator;
mod fractional_noise;
mod periodogram;
mod published;
mod regression;
mod rescaled_range;
mod series;
mod spectrum;
mod whittle;

pub use analysis::{Analysis, Estimate, Series};
pub use autocorrelation::autocorrelation;
pub use estimator::Estimator;
pub use fractional_noise::fractional_noise;
pub use published::{PUBLISHED, Published};
pub use series::{bins, gaps};
