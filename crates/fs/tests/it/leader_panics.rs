//! A leader of a group commit that panics: commits that wait for it fail, those after it are
//! refused, and whatever was acknowledged before is found again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_env::store::{Store, StoreError, Transaction};
use terrace_env::{ByteCount, FileId, runner};
use terrace_fs::{Fs, MountOptions};
use terrace_zone::{Completion, Device, DeviceError, DeviceLayer, Emulator, Geometry, Ticket};

use crate::cuts::facts::note;
use crate::drive::formatted;

const COMMITTERS: usize = 6;

/// A drive that panics once, in the next wait for a request, after time in which others commit.
struct Panicking {
    drive: Arc<Emulator>,
    armed: AtomicBool,
}

impl DeviceLayer for Panicking {
    fn below(&self) -> &dyn Device {
        &*self.drive
    }

    fn wait(&self, ticket: Ticket) -> Result<Completion, DeviceError> {
        if self.armed.swap(false, Ordering::SeqCst) {
            runner::sleep(Duration::from_millis(200));
            panic!("the drive panics");
        }
        self.drive.wait(ticket)
    }
}

fn annotate(fs: &Fs, text: &str) -> Result<(), StoreError> {
    let mut transaction = Transaction::new();
    transaction.annotate(FileId::STORE, note(text));
    fs.commit(transaction)
}

#[test]
fn commits_that_wait_for_a_leader_that_panics_fail_and_nobody_hangs() {
    let drive = formatted(Geometry::uniform(ByteCount::kib(256), 32), 1);
    let device = Panicking { drive: Arc::clone(&drive), armed: AtomicBool::new(false) };
    let device = Arc::new(device);
    let fs = Fs::mount(Arc::clone(&device) as Arc<dyn Device>, &MountOptions::default());
    let fs = fs.expect("a mount");
    annotate(&fs, "acknowledged").expect("a commit");

    device.armed.store(true, Ordering::SeqCst);
    let committer = |number: usize| {
        let fs = Arc::clone(&fs);
        let commit = move || annotate(&fs, &format!("lost {number}"));
        runner::spawn("committer", move || catch_unwind(AssertUnwindSafe(commit)))
    };
    let committers: Vec<_> = (0..COMMITTERS).map(committer).collect();
    let ended: Vec<_> = committers.into_iter().map(runner::JoinHandle::join).collect();
    let errors: Vec<_> = ended.into_iter().filter_map(Result::ok).collect();
    assert_eq!(errors.len(), COMMITTERS - 1, "one led, and panicked");
    for result in errors {
        assert!(matches!(result, Err(StoreError::Stopped(_))), "{result:?}");
    }
    let later = annotate(&fs, "later");
    assert!(matches!(later, Err(StoreError::Stopped(_))), "{later:?}");
    fs.unmount();
    drop((fs, device));

    let fs = Fs::mount(drive, &MountOptions::default()).expect("a mount");
    let kept = fs.info(FileId::STORE).expect("the store's annotation").annotation.clone();
    // The write of the leader's group was submitted, so it may be there, too.
    let lost = (0..COMMITTERS).map(|number| note(&format!("lost {number}")));
    assert!([note("acknowledged")].into_iter().chain(lost).any(|one| one == *kept), "{kept:?}");
    fs.unmount();
}
