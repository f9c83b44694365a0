//! Loads that write. Each is measured with and without the settling after it.

use super::line::Round;
use super::load::Load;

/// Puts every number once, in order.
pub(super) fn fill_in_order(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    load.measure(round, "fillseq", 1, load.entries, true, |_, worker| {
        let mut value = Vec::new();
        (0..load.entries).try_for_each(|number| load.put(worker, number, &mut value))?;
        Ok(0)
    })
}

/// Puts every number once, in random order.
pub(super) fn fill(load: &Load, round: &mut Round, name: &str) -> anyhow::Result<()> {
    let order = load.random(1).order(load.entries);
    load.measure(round, name, 1, load.entries, true, |_, worker| {
        let mut value = Vec::new();
        order.iter().try_for_each(|number| load.put(worker, (*number).into(), &mut value))?;
        Ok(0)
    })
}

/// Puts random numbers that are there. Threads share no number.
pub(super) fn overwrite(
    load: &Load,
    round: &mut Round,
    name: &str,
    threads: usize,
) -> anyhow::Result<()> {
    let (every, operations) = (threads as u64, load.entries / threads as u64);
    load.measure(round, name, threads, operations * every, true, |thread, worker| {
        let mut random = load.random(10 + 10 * every + thread as u64);
        let mut value = Vec::new();
        for _ in 0..operations {
            let number = random.below(operations) * every + thread as u64;
            load.put(worker, number, &mut value)?;
        }
        Ok(0)
    })
}

/// Puts random numbers that are there, in batches.
pub(super) fn batches(load: &Load, round: &mut Round, size: usize) -> anyhow::Result<()> {
    let batches = load.entries / size as u64;
    let name = format!("batches of {size}");
    load.measure(round, &name, 1, batches * size as u64, true, |_, worker| {
        let mut random = load.random(100 + size as u64);
        let mut batch = vec![Default::default(); size];
        for _ in 0..batches {
            for entry in &mut batch {
                load.add(random.below(load.entries), entry);
            }
            worker.run(|| load.engine.write(&batch))?;
        }
        Ok(0)
    })
}

/// Deletes half of the numbers, and asks for some of them and of the others.
pub(super) fn delete(load: &Load, round: &mut Round) -> anyhow::Result<()> {
    let order = load.random(2).order(load.entries);
    let (deleted, kept) = order.split_at(order.len() / 2);
    load.measure(round, "deleterandom", 1, deleted.len() as u64, true, |_, worker| {
        for number in deleted {
            let key = crate::generator::key((*number).into());
            worker.run(|| load.engine.delete(&key))?;
        }
        Ok(0)
    })?;
    let mut wrong = 0;
    for (numbers, expected) in [(deleted, false), (kept, true)] {
        for number in numbers.iter().take(1000) {
            let key = crate::generator::key((*number).into());
            load.engine.get(&key, &mut |found| wrong += u64::from(found.is_some() != expected))?;
        }
    }
    anyhow::ensure!(wrong == 0, "deleterandom: found {wrong} wrong answers afterwards");
    Ok(())
}

/// Reads all numbers of a filled store again, unmeasured; returns how many are missing.
pub(super) fn missing(load: &Load) -> anyhow::Result<u64> {
    let mut missing = 0;
    for number in 0..load.entries {
        let key = crate::generator::key(number);
        let mut wrong = 0;
        load.engine.get(&key, &mut |found| match found {
            None => missing += 1,
            Some(found) => wrong += u64::from(!load.values.check(number, 1..=1, found)),
        })?;
        anyhow::ensure!(wrong == 0, "number {number}: found another value");
    }
    Ok(missing)
}
