//! [`caption`]: the sights of a system in a replay, in a few sentences. They say the same as the
//! heads of the systems in `policy`, in the words of the page.

/// The caption of a system, by its text form; its summary, if it has no caption of its own.
pub(super) fn caption(system: &str) -> String {
    let row = system.split(':').next().unwrap_or(system);
    let own = match row {
        "geardb" => {
            "Gear compaction. Each level has a window of zones (brackets). Merges take tables only \
             from windows, so watch a few zones drain while their neighbours stay full. An empty \
             zone flashes as it comes back, and the window turns to other zones."
        }
        "lifetime" => {
            "Lifetime-leveling. A pointer (wedge) sweeps the keys of each level. The tables that \
             it passes were written in the same order, so watch zones die one after the other, \
             whole. Nothing is left in them to be moved."
        }
        "sliced" => {
            "Sliced compaction. New runs stand in tiers; one pointer (wedge) sweeps the last \
             level. Each step takes a slice of all runs at once, so watch the zones of the last \
             level die after the pointer, and no merge that lasts long."
        }
        "leveldb-greedy" | "leveldb-cost-benefit" => {
            "LevelDB with a collector. Tables of all levels lie in the order in which they were \
             written, so zones are half dead. Watch the collector move their live tables \
             elsewhere: the reclaim in the line of time is work that others do not have."
        }
        "level-separated" => {
            "Each level has zones of its own, but tables of a level die in no order. Watch zones \
             stay half dead until the collector moves the rest."
        }
        "bluefs" => {
            "A merged table owns whole zones. Watch zones come and go one by one: a deleted table \
             leaves an empty zone, and nothing is moved."
        }
        "tiered" => {
            "Runs gather in tiers, and a tier goes down as a whole. Watch the space in use rise \
             while a large merge runs, and fall at its end."
        }
        _ => return terrace::System::asked(system).map_or(String::new(), |it| it.summary().into()),
    };
    own.to_owned()
}
