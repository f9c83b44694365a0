//! Statistics of arrivals: how arrivals depend on each other over short and long times.
//!
//! The statistics are computed for a *series*: the number of arrivals in each of many equal bins of
//! time ([`bins`]), or the gaps from one arrival to the next ([`gaps`]).
//!
//! - [`autocorrelation()`]: how much a series is like itself some values later.
//! - The Hurst parameter `H`: 0.5 if distant values are independent, and nearer to 1 the more a
//!   series is like itself over long times. There are five [`Estimator`]s, since they differ
//!   (thesis, section 4.3.3; Taqqu, Teverovsky and Willinger, "Estimators for long-range
//!   dependence: an empirical study", Fractals 1995).
//! - [`fractional_noise()`]: a series of known `H`, to test the estimators with.
//! - [`Analysis`]: all of these, for a sequence of arrivals.
//! - [`PUBLISHED`]: the thesis's table of estimates.
//!
//! | file | estimator | known bias |
//! |---|---|---|
//! | `aggregate_variance` | variance of means of blocks | down, from `H` = 0.8 on |
//! | `rescaled_range` | range over deviation, R/S | up near 0.5, down near 1 |
//! | `periodogram` | the lowest frequencies | hardly any |
//! | `abry_veitch` | wavelets | hardly any |
//! | `whittle` | likelihood of fractional Gaussian noise | for series of another kind |
//!
//! There is no estimate for a series that is too short, or whose values are all the same. A trend
//! or a period in a series can raise the estimates (thesis, section 4.1.3). Everything here is
//! pure.

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
