//! Statistics of arrivals: how they depend on each other over short and long times.
//!
//! A series is what the statistics are of: the arrivals in each of many equal times ([`bins`]), or
//! the gaps from one arrival to the next ([`gaps`]).
//!
//! - [`autocorrelation`]: how like a series is to itself some places later.
//! - The Hurst parameter `H`: 0.5 where what is far apart is independent, towards 1 the more a
//!   series is like itself over long times. Five [`Estimator`]s, since they differ: thesis, section
//!   4.3.3; Taqqu, Teverovsky and Willinger, "Estimators for long-range dependence: an empirical
//!   study", Fractals 1995.
//! - [`fractional_noise`]: a series whose `H` is known, to hold the estimators against.
//! - [`Analysis`]: all of it, of a sequence of arrivals.
//! - [`PUBLISHED`]: the thesis's table of estimates.
//!
//! | file | estimator | known to be biased |
//! |---|---|---|
//! | `aggregate_variance` | variance of means of blocks | down, from `H` = 0.8 on |
//! | `rescaled_range` | range over deviation, R/S | up near 0.5, down near 1 |
//! | `periodogram` | the lowest frequencies | hardly |
//! | `abry_veitch` | wavelets | hardly |
//! | `whittle` | likelihood of fractional Gaussian noise | where the series is of another kind |
//!
//! A series that is too short, or is everywhere the same, has no estimate. A trend or a period in a
//! series raises the estimates (thesis, section 4.1.3). Everything is pure.

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
