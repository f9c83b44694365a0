//! [`TerraceEvent`]: something that happened in a store, as a function of the program is told it.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use terrace::{Event, Job, Listener};

use crate::TerraceCode;
use crate::failure::{given, guard};
use crate::slice::TerraceSlice;
use crate::store::TerraceStore;
use crate::user_data::{TerraceUserData, UserData};

/// The kind of an event. Later versions may add some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TerraceEventKind {
    /// One that this version of the header has no number for; `text` has it.
    Other = 0,
    /// A flush began. `bytes`: the memory of its memtable.
    FlushBegan = 1,
    /// A flush ended. `bytes`: the tables that it wrote; `nanos`: its time.
    FlushEnded = 2,
    /// A compaction began. `from_level`, `to_level`: the levels of its newest input and of its
    /// oldest output.
    CompactionBegan = 3,
    /// A compaction ended. `bytes`, `nanos`, `from_level`, `to_level` as above.
    CompactionEnded = 4,
    /// A flush or a compaction came to nothing, and will be begun again: it failed, found no space,
    /// or the store closes. `nanos`: its time.
    JobGivenUp = 5,
    /// A group of writes took a second or longer, because it had to wait. `nanos`: its time.
    Stalled = 6,
    /// A failure has stopped all writing. `text` has the error.
    Stopped = 7,
    /// Writing goes on after a failure.
    Resumed = 8,
    /// The store has come near the point where puts are refused. `bytes`: about the bytes that
    /// stay; `room`: about the bytes that puts can still bring. A function that comes later is told
    /// when it comes.
    NearlyFull = 9,
}

/// Something that happened. A number that the kind does not name is 0.
#[repr(C)]
pub struct TerraceEvent<'a> {
    /// A `TerraceEventKind`.
    pub kind: u32,
    /// The level of the newest input of a compaction.
    pub from_level: u32,
    /// The level of the oldest output of a compaction.
    pub to_level: u32,
    /// A reserved number, 0.
    pub reserved: u32,
    /// Nanoseconds that it took.
    pub nanos: u64,
    /// Bytes; see the kind.
    pub bytes: u64,
    /// Bytes that puts can still bring.
    pub room: u64,
    /// The event for people, in UTF-8, valid during the call.
    pub text: TerraceSlice<'a>,
}

/// Told of an event, by the thread to which it happened: one of the store, or one of the program in
/// a call of the store. Several threads may call at once. It should return soon, because the job or
/// the call waits for it. It must not call the store, nor leave by `longjmp` or an exception.
pub type TerraceNotice = Option<extern "C" fn(data: *mut c_void, event: &TerraceEvent<'_>)>;

struct Function {
    /// Never null.
    notice: TerraceNotice,
    data: UserData,
}

/// An event with its text.
struct Told {
    kind: TerraceEventKind,
    levels: (u8, u8),
    nanos: u64,
    bytes: u64,
    room: u64,
    text: String,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The job with its levels, and the kinds of its begin and its end.
fn named(job: &Job) -> (String, (u8, u8), [TerraceEventKind; 2]) {
    use TerraceEventKind as Kind;
    match job {
        Job::Flush { memory } => {
            let text = format!("flush of {memory}");
            (text, (0, 0), [Kind::FlushBegan, Kind::FlushEnded])
        }
        Job::Compaction { from, to, inputs } => {
            let text = format!("compaction of {inputs} inputs from level {from} to level {to}");
            (text, (*from, *to), [Kind::CompactionBegan, Kind::CompactionEnded])
        }
        other => (format!("{other:?}"), (0, 0), [Kind::Other; 2]),
    }
}

impl Told {
    fn of(event: &Event) -> Self {
        use TerraceEventKind as Kind;
        let of = |kind, text| Self { kind, levels: (0, 0), nanos: 0, bytes: 0, room: 0, text };
        match event {
            Event::Began { job } => {
                let (text, levels, [began, _]) = named(job);
                let bytes = if let Job::Flush { memory } = job { memory.0 } else { 0 };
                Self { levels, bytes, ..of(began, format!("{text} began")) }
            }
            Event::Ended { job, written: Some(written), time } => {
                let (text, levels, [_, ended]) = named(job);
                let text = format!("{text} ended after {time:.1?}: {written} written");
                Self { levels, nanos: nanos(*time), bytes: written.0, ..of(ended, text) }
            }
            Event::Ended { job, written: None, time } => {
                let (text, levels, _) = named(job);
                let text = format!("{text} given up after {time:.1?}");
                Self { levels, nanos: nanos(*time), ..of(Kind::JobGivenUp, text) }
            }
            Event::Stalled { time, .. } => {
                let text = format!("writes waited for {time:.1?}");
                Self { nanos: nanos(*time), ..of(Kind::Stalled, text) }
            }
            Event::Stopped { error } => of(Kind::Stopped, error.to_string()),
            Event::Resumed => of(Kind::Resumed, "writing goes on".into()),
            Event::NearlyFull { live, room } => {
                let text = format!("nearly full: {live} stay, room for {room}");
                Self { bytes: live.0, room: room.0, ..of(Kind::NearlyFull, text) }
            }
            other => of(Kind::Other, format!("{other:?}")),
        }
    }
}

impl Listener for Function {
    fn notice(&self, event: &Event) {
        let told = Told::of(event);
        let event = TerraceEvent {
            kind: told.kind as u32,
            from_level: told.levels.0.into(),
            to_level: told.levels.1.into(),
            reserved: 0,
            nanos: told.nanos,
            bytes: told.bytes,
            room: told.room,
            text: TerraceSlice::of(told.text.as_bytes()),
        };
        let notice = self.notice.expect("checked when the listener was made");
        notice(self.data.pointer(), &event);
    }
}

/// From now on calls a function with each event of a store, until the store is closed. The user
/// data is taken over if the call succeeds, and destroyed when the store is closed and its last
/// handle is freed.
#[unsafe(no_mangle)]
pub extern "C" fn terrace_store_listen(
    store: Option<&TerraceStore>,
    notice: TerraceNotice,
    data: TerraceUserData,
) -> TerraceCode {
    guard(|| {
        let store = given(store, "store")?;
        given(notice, "notice")?;
        let function = Function { notice, data: UserData::new(data) };
        store.db.listen(Arc::new(function));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use terrace::ByteCount;

    use super::*;

    #[test]
    fn an_event_keeps_its_numbers() {
        let job = Job::Compaction { from: 1, to: 2, inputs: 5 };
        let (time, written) = (Duration::from_millis(1500), Some(ByteCount::mib(3)));
        let told = Told::of(&Event::Ended { job, written, time });
        assert_eq!(told.kind, TerraceEventKind::CompactionEnded);
        assert_eq!((told.levels, told.nanos, told.bytes), ((1, 2), 1_500_000_000, 3 << 20));
        assert!(told.text.starts_with("compaction of 5 inputs from level 1 to level 2"));
        let told = Told::of(&Event::Ended { job, written: None, time });
        assert_eq!((told.kind, told.bytes), (TerraceEventKind::JobGivenUp, 0));
        let (live, room) = (ByteCount(7), ByteCount(8));
        let told = Told::of(&Event::NearlyFull { live, room });
        assert_eq!((told.bytes, told.room), (7, 8));
        assert_eq!(Told::of(&Event::Resumed).kind, TerraceEventKind::Resumed);
    }
}
