//! [`Dies`]: the dies and channels of a modelled SSD, and when each of them is free.
//!
//! - A channel carries one transfer at a time, in the order of the calls. Die `d` is on channel `d`
//!   modulo the number of channels.
//! - Programs and erases of a die run one after the other, and after the reads that it has taken.
//!   Reads queue among themselves and go before programs: a read waits for the end of the running
//!   program, or until that is suspended, and pushes back the programs that have not ended.
//! - Of the programs of a die only the end of the last one is kept. So the running one is assumed
//!   to take as long as any program, also if it is an erase.
//! - A die keeps the page that it read last until it is given a program or an erase. Reads of this
//!   page need no second read operation.
//! - A write may be reported as ended at a time that a later read then delays. This is not
//!   corrected.
//!
//! Times are nanoseconds. There must be at least one die and one channel.

/// One die.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// When the reads are done that it has taken.
    reads_end: u64,
    /// When the programs and erases are done that it has taken.
    programs_end: u64,
    /// The page in its register.
    page: Option<u64>,
}

/// All dies and channels.
#[derive(Clone, Debug)]
pub(super) struct Dies {
    dies: Vec<Die>,
    channels: Vec<u64>,
    suspend: u64,
}

impl Dies {
    pub(super) fn new(dies: usize, channels: usize, suspend: u64) -> Self {
        Self { dies: vec![Die::default(); dies], channels: vec![0; channels], suspend }
    }

    /// Takes the channel of a die for so long, from `now` on; gives when the transfer is done.
    fn transfer(&mut self, die: usize, now: u64, nanos: u64) -> u64 {
        let channel = die % self.channels.len();
        let free = &mut self.channels[channel];
        *free = (*free).max(now) + nanos;
        *free
    }

    /// Reads `page` from a die at `now`, for `nanos`, then moves the data in `transfer`; gives when
    /// the controller has it. `program` is how long a program takes.
    pub(super) fn read(
        &mut self,
        (die, page): (usize, u64),
        now: u64,
        nanos: u64,
        transfer: u64,
        program: u64,
    ) -> u64 {
        let state = &mut self.dies[die];
        if state.page == Some(page) {
            let ready = now.max(state.reads_end);
            return self.transfer(die, ready, transfer);
        }
        state.page = Some(page);
        let mut start = now.max(state.reads_end);
        if state.programs_end > start {
            // Programs are done one after the other up to the last: one ends when a whole number
            // of them is left.
            let under_way = (state.programs_end - start) % program.max(1);
            start += under_way.min(self.suspend);
            state.programs_end += nanos;
        }
        state.reads_end = start + nanos;
        let end = state.reads_end;
        self.transfer(die, end, transfer)
    }

    /// Moves data to a die from `now` on, in `transfer`, then programs it for `nanos`; gives when
    /// that is done.
    pub(super) fn program(&mut self, die: usize, now: u64, nanos: u64, transfer: u64) -> u64 {
        let moved = self.transfer(die, now, transfer);
        self.occupy(die, moved, nanos)
    }

    /// Keeps a die busy for `nanos`, after all that it has to program already.
    pub(super) fn occupy(&mut self, die: usize, now: u64, nanos: u64) -> u64 {
        let state = &mut self.dies[die];
        state.page = None;
        state.programs_end = state.programs_end.max(state.reads_end).max(now) + nanos;
        state.programs_end
    }

    /// When everything is programmed.
    pub(super) fn programs_end(&self) -> u64 {
        self.dies.iter().map(|die| die.programs_end).max().unwrap_or(0)
    }

    /// The power fails: nothing runs any more.
    pub(super) fn stop(&mut self, now: u64) {
        for die in &mut self.dies {
            *die = Die { reads_end: now, programs_end: now, page: None };
        }
        self.channels.fill(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_goes_before_the_programs_that_wait_and_after_the_one_under_way() {
        let mut dies = Dies::new(2, 1, u64::MAX);
        for end in [100, 200, 300] {
            assert_eq!(dies.program(0, 0, 100, 0), end);
        }
        assert_eq!(dies.read((0, 7), 130, 10, 0, 100), 210);
        assert_eq!(dies.read((1, 7), 130, 10, 0, 100), 210, "the channel carries one at a time");
        assert_eq!(dies.program(0, 130, 100, 0), 410);
    }

    #[test]
    fn a_program_that_can_be_suspended_is_not_waited_for() {
        let mut dies = Dies::new(1, 1, 5);
        dies.program(0, 0, 100, 0);
        assert_eq!(dies.read((0, 7), 20, 10, 1, 100), 36);
        assert_eq!(dies.read((0, 7), 40, 10, 1, 100), 41, "the page is in the register");
        assert_eq!(dies.read((0, 8), 40, 10, 1, 100), 56);
    }
}
