//! Tests of [`Memory`]: which parts of open tables stay, and the memory that reads borrow.

use super::*;
use crate::memory::Part;

const PARTS: u32 = 4096;

/// Filters at even numbers, indexes at odd ones.
struct Slots(Vec<Slot<Part<u32>>>);

impl Owner for Slots {
    fn release(&self, part: u32) -> bool {
        self.0[part as usize].release()
    }
}

fn keep(memory: &Memory, slots: &Arc<Slots>, number: u32, bytes: usize) {
    let class = if number.is_multiple_of(2) { PartClass::Filter } else { PartClass::Index };
    let part = memory.parts(class).part(number, bytes);
    let owner: Weak<dyn Owner> = Arc::downgrade(slots) as _;
    memory.keep(class, &slots.0[number as usize], part, owner, number);
}

fn kept(slots: &Slots, first: u32) -> usize {
    let numbers = (first..PARTS).step_by(2);
    numbers.filter(|&number| slots.0[number as usize].glance().is_some()).count()
}

#[test]
fn indexes_drop_no_filter_and_filters_leave_a_quarter_to_indexes() {
    let memory = ByteCount::mib(8);
    let memory = Memory::new(&EngineOptions { memory, ..EngineOptions::default() });
    let _job = memory.job();
    let _memtables = memory.memtables.lease(memory.shares.memtables.0 as usize);
    memory.share_out();
    let most = memory.shares.tables().0;
    let slots = Arc::new(Slots((0..PARTS).map(|_| Slot::default()).collect()));
    // Filters of half of the memory stay, whatever indexes come.
    let filter = (most / u64::from(PARTS)) as usize - 128;
    (0..PARTS).step_by(2).for_each(|number| keep(&memory, &slots, number, filter));
    (1..PARTS).step_by(2).for_each(|number| keep(&memory, &slots, number, 20_000));
    assert_eq!(kept(&slots, 0), PARTS as usize / 2);
    let indexes = kept(&slots, 1) as u64 * 20_128;
    assert!(indexes <= most / 2 && indexes > most * 2 / 5, "{indexes} of {most}");
    assert!(memory.tables.used().0 <= most);
    // Larger filters drop indexes down to a quarter, and then one another.
    (0..PARTS).step_by(2).for_each(|number| keep(&memory, &slots, number, 3 * filter));
    assert!(memory.parts.used().0 <= most * 3 / 4 && memory.parts.used().0 > most * 7 / 10);
    assert!(memory.indexes.used().0 <= most / 4 && memory.indexes.used().0 > most / 5);
    assert!(memory.tables.used().0 <= most);
}

#[test]
fn reads_have_the_memory_that_memtables_and_jobs_do_not_use() {
    let memory = ByteCount::mib(64);
    let options = EngineOptions { memory, ..EngineOptions::default() };
    let memory = Memory::new(&options.fitted());
    let Shares { memtables, jobs, reads, .. } = memory.shares;
    // Filters have three quarters of three quarters.
    let slots = Arc::new(Slots((0..PARTS).map(|_| Slot::default()).collect()));
    (0..PARTS).step_by(2).for_each(|number| keep(&memory, &slots, number, 100 << 10));
    let all = memory.tables.used().0;
    let idle = reads.0 + jobs.0 + memtables.0 / 8 * 7;
    assert!(all > idle / 2 && all <= idle * 9 / 16, "{all} of {idle}");
    // Before a job begins, and before memtables have grown by a step, tables are dropped.
    let job = memory.job();
    assert!(memory.tables.used().0 <= (idle - jobs.0) * 9 / 16);
    let mut lease = memory.memtables.lease(0);
    for part in 1..=8 {
        lease.resize((memtables.0 / 8 * part) as usize);
        memory.share_out();
        let left = reads.0 + memtables.0.saturating_sub(memtables.0 / 8 * (part + 1));
        assert!(memory.tables.used().0 <= left * 9 / 16 + 8, "{part} parts");
        assert!(memory.stats().used <= memory.budget.0);
    }
    let least = memory.tables.used().0;
    assert!(least > reads.0 / 2, "{least} of {}", reads.0);
    // It comes back.
    drop((job, lease));
    memory.share_out();
    (0..PARTS).step_by(2).for_each(|number| keep(&memory, &slots, number, 100 << 10));
    assert_eq!(memory.tables.used().0, all);
}

#[test]
fn limits_of_tables_and_cache_follow_the_memory_that_reads_have() {
    let budget = ByteCount::mib(64);
    let options = EngineOptions { memory: budget, ..EngineOptions::default() };
    let memory = Memory::new(&options.fitted());
    let Shares { memtables, jobs, .. } = memory.shares;
    let check = |what: &str| {
        let reads = memory.reads.load(Ordering::Relaxed);
        assert_eq!(reads, memory.reads_now(), "{what}");
        let most = memory.tables_max.load(Ordering::Relaxed);
        assert_eq!(most, reads - reads / 4, "{what}");
        assert_eq!(memory.parts.limit(), filters_max(ByteCount(most)), "{what}");
        assert_eq!(memory.indexes.limit(), ByteCount(most), "{what}: no filter is kept");
        reads
    };
    memory.share_out();
    let idle = check("at first");
    let job = memory.job();
    assert_eq!(check("a job"), idle - jobs.0);
    let lease = memory.memtables.lease(memtables.0 as usize);
    memory.share_out();
    let least = check("full memtables");
    assert!(least < idle - jobs.0, "{least} of {idle}");
    drop(lease);
    drop(job);
    assert_eq!(check("at last"), idle);
}
