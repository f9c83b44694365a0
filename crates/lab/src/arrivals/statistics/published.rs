//! Hurst parameters from table 4.2 of Pitchumani's thesis, for arrivals at 10,000 a second, to
//! compare ours with.
//!
//! The thesis computed them with the tool Selfis. It does not say how long the runs were, nor how
//! many gaps were used. It does not give the sine's amplitude and period either; half of the rate,
//! and ten minutes, are our choice. In our copy the estimates from gaps for a bias of 0.65 stand
//! above their label, in the order of the columns.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The process.
    pub process: &'static str,
    /// Estimates for the gaps in a small part of the run, in the order of
    /// [`super::Estimator::ALL`].
    pub gaps: [f64; 5],
    /// Estimates for the numbers of arrivals in each second.
    pub counts: [f64; 5],
}

/// The rows.
pub const PUBLISHED: [Published; 6] = [
    Published {
        process: "poisson:10000",
        gaps: [0.455, 0.505, 0.481, 0.453, 0.5],
        counts: [0.447, 0.002, 0.469, 0.529, 0.5],
    },
    Published {
        process: "b-model:10000,bias=0.65",
        gaps: [0.728, 0.698, 0.626, 0.695, 0.509],
        counts: [0.859, 0.777, 1.003, 0.986, 0.954],
    },
    Published {
        process: "b-model:10000,bias=0.75",
        gaps: [0.761, 0.636, 0.757, 0.656, 0.559],
        counts: [0.862, 0.663, 1.041, 1.122, 0.996],
    },
    Published {
        process: "sine:10000,period=600,gaps=pareto,shape=1.1",
        gaps: [0.465, 0.501, 0.492, 0.559, 0.5],
        counts: [0.835, 0.666, 0.72, 0.683, 0.766],
    },
    Published {
        process: "sine:10000,period=600,gaps=pareto,shape=1.5",
        gaps: [0.447, 0.491, 0.49, 0.547, 0.5],
        counts: [0.817, 0.631, 0.673, 0.747, 0.775],
    },
    Published {
        process: "sine:10000,period=600,gaps=pareto,shape=1.9",
        gaps: [0.499, 0.482, 0.504, 0.526, 0.5],
        counts: [0.784, 0.306, 1.494, 0.585, 0.999],
    },
];

#[cfg(test)]
mod tests {
    use super::super::super::Process;
    use super::*;

    #[test]
    fn every_row_is_of_a_process_with_the_rate_of_the_thesis() {
        for row in PUBLISHED {
            let process: Process = row.process.parse().unwrap();
            assert_eq!(process.rate(), 10_000.0);
        }
    }
}
