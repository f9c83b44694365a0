//! [`CStore`]: the calls that the C interfaces of RocksDB and LevelDB have in common, by the prefix
//! of their names. A library is loaded when it is asked for, and stays for the life of the process.
//!
//! # Why this is sound
//! - [`Calls::load`] trusts that a function of a known name has the type of the library's header
//!   `c.h`. The headers of both say that their interface stays as it is.
//! - Handles come from the library, are not null, and are released once: by the `Drop` of the value
//!   that holds them. An iterator and a value borrow the store in the shape of a function's scope.
//! - A slice of a key or of a value lives until the iterator moves or the value is released; it is
//!   handed to a function that cannot keep it.
//! - Both libraries allow concurrent calls of one store and concurrent reads with one set of read
//!   options, so [`CStore`] is `Send` and `Sync`.

use std::ffi::{CStr, CString, c_char, c_uchar, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use libloading::Library;

use super::Seen;
use crate::generator::Key;

/// A handle of the library.
pub(super) type Handle = *mut c_void;
/// Place of an error, a string that the library's `free` takes.
pub(super) type Failure = *mut *mut c_char;

type Get =
    unsafe extern "C" fn(Handle, Handle, *const c_char, usize, *mut usize, Failure) -> Handle;
type Part = unsafe extern "C" fn(Handle, *mut usize) -> *const c_char;
type Entry =
    unsafe extern "C" fn(Handle, Handle, *const c_char, usize, *const c_char, usize, Failure);

/// Addresses of the functions.
#[derive(Clone, Copy)]
struct Calls {
    free: unsafe extern "C" fn(Handle),
    open: unsafe extern "C" fn(Handle, *const c_char, Failure) -> Handle,
    close: unsafe extern "C" fn(Handle),
    put: Entry,
    delete: unsafe extern "C" fn(Handle, Handle, *const c_char, usize, Failure),
    write: unsafe extern "C" fn(Handle, Handle, Handle, Failure),
    get: Get,
    property: unsafe extern "C" fn(Handle, *const c_char) -> *mut c_char,
    batch_create: unsafe extern "C" fn() -> Handle,
    batch_destroy: unsafe extern "C" fn(Handle),
    batch_put: unsafe extern "C" fn(Handle, *const c_char, usize, *const c_char, usize),
    iterator: unsafe extern "C" fn(Handle, Handle) -> Handle,
    iterator_destroy: unsafe extern "C" fn(Handle),
    iterator_seek: unsafe extern "C" fn(Handle, *const c_char, usize),
    iterator_next: unsafe extern "C" fn(Handle),
    iterator_valid: unsafe extern "C" fn(Handle) -> c_uchar,
    iterator_key: Part,
    iterator_value: Part,
    iterator_error: unsafe extern "C" fn(Handle, Failure),
}

/// A loaded library, whose functions begin with a prefix.
pub(super) struct CLibrary {
    library: &'static Library,
    prefix: &'static str,
}

impl CLibrary {
    /// Loads a library; `name` and `package` are for the message if it is missing.
    pub(super) fn load(
        path: &Path,
        prefix: &'static str,
        name: &str,
        package: &str,
    ) -> anyhow::Result<Self> {
        // SAFETY: initialisation of the two libraries has no conditions.
        let library = unsafe { Library::new(path) }.map_err(|error| {
            let file = path.display();
            anyhow!(
                "{name} is left out: {file} not found; install {package}, or state the path of \
                 the library by --{} ({error})",
                name.to_lowercase()
            )
        })?;
        Ok(Self { library: Box::leak(Box::new(library)), prefix })
    }

    /// The function `prefix_name`.
    ///
    /// # Safety
    /// `F` is the type of the function in the library's header.
    pub(super) unsafe fn call<F: Copy>(&self, name: &str) -> anyhow::Result<F> {
        let symbol = format!("{}_{name}", self.prefix);
        // SAFETY: the caller knows the type.
        let found = unsafe { self.library.get::<F>(symbol.as_bytes()) };
        Ok(*found.with_context(|| format!("expected the library to have {symbol}"))?)
    }

    /// An object without arguments, such as options.
    pub(super) fn create(&self, name: &str) -> anyhow::Result<Handle> {
        type Create = unsafe extern "C" fn() -> Handle;
        // SAFETY: the headers declare `PREFIX_NAME_create(void)` for all objects asked for here.
        unsafe { Ok(self.call::<Create>(&format!("{name}_create"))?()) }
    }
}

impl Calls {
    fn load(library: &CLibrary) -> anyhow::Result<Self> {
        // SAFETY: the types above are those of the headers.
        unsafe {
            Ok(Self {
                free: library.call("free")?,
                open: library.call("open")?,
                close: library.call("close")?,
                put: library.call("put")?,
                delete: library.call("delete")?,
                write: library.call("write")?,
                get: library.call("get")?,
                property: library.call("property_value")?,
                batch_create: library.call("writebatch_create")?,
                batch_destroy: library.call("writebatch_destroy")?,
                batch_put: library.call("writebatch_put")?,
                iterator: library.call("create_iterator")?,
                iterator_destroy: library.call("iter_destroy")?,
                iterator_seek: library.call("iter_seek")?,
                iterator_next: library.call("iter_next")?,
                iterator_valid: library.call("iter_valid")?,
                iterator_key: library.call("iter_key")?,
                iterator_value: library.call("iter_value")?,
                iterator_error: library.call("iter_get_error")?,
            })
        }
    }
}

/// An opened store of a library.
pub(super) struct CStore {
    calls: Calls,
    store: Handle,
    reading: Handle,
    writing: Handle,
}

// SAFETY: both libraries take calls of one store from all threads.
unsafe impl Send for CStore {}
// SAFETY: as above.
unsafe impl Sync for CStore {}

impl CStore {
    /// Opens a store. The options live as long as the process, for which there are few of them.
    pub(super) fn open(
        library: &CLibrary,
        dir: &Path,
        options: Handle,
        reading: Handle,
    ) -> anyhow::Result<Self> {
        let calls = Calls::load(library)?;
        let path = CString::new(dir.as_os_str().as_bytes())?;
        // SAFETY: the options are handles of this library, the path ends with a zero.
        let store = calls.check(|failure| unsafe { (calls.open)(options, path.as_ptr(), failure) });
        let store = store.with_context(|| dir.display().to_string())?;
        Ok(Self { calls, store, reading, writing: library.create("writeoptions")? })
    }

    pub(super) fn handle(&self) -> Handle {
        self.store
    }

    pub(super) fn reading(&self) -> Handle {
        self.reading
    }

    /// Makes a call that may fail.
    pub(super) fn check<T>(&self, call: impl FnOnce(Failure) -> T) -> anyhow::Result<T> {
        self.calls.check(call)
    }

    /// The error that is at a place, if there is one.
    ///
    /// # Safety
    /// The place is null or has a string of the library, which nothing else releases.
    pub(super) unsafe fn failed(&self, failure: *mut c_char) -> anyhow::Result<()> {
        // SAFETY: as the caller says.
        unsafe { self.calls.failed(failure) }
    }

    pub(super) fn put(&self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let Self { calls, store, writing, .. } = self;
        // SAFETY: the library copies both before it returns.
        self.check(|failure| unsafe {
            let (key, key_size) = (key.as_ptr().cast(), key.len());
            let (value, value_size) = (value.as_ptr().cast(), value.len());
            (calls.put)(*store, *writing, key, key_size, value, value_size, failure);
        })
    }

    pub(super) fn delete(&self, key: &[u8]) -> anyhow::Result<()> {
        let Self { calls, store, writing, .. } = self;
        // SAFETY: as in `put`.
        self.check(|failure| unsafe {
            (calls.delete)(*store, *writing, key.as_ptr().cast(), key.len(), failure);
        })
    }

    pub(super) fn write(&self, entries: &[(Key, Vec<u8>)]) -> anyhow::Result<()> {
        let Self { calls, store, writing, .. } = self;
        // SAFETY: the batch is made, filled, written and destroyed here; it copies its entries.
        unsafe {
            let batch = (calls.batch_create)();
            for (key, value) in entries {
                let (key, value) = (&key[..], &value[..]);
                let (from, size) = (key.as_ptr().cast(), key.len());
                (calls.batch_put)(batch, from, size, value.as_ptr().cast(), value.len());
            }
            let written = self.check(|failure| (calls.write)(*store, *writing, batch, failure));
            (calls.batch_destroy)(batch);
            written
        }
    }

    /// A read that copies the value.
    pub(super) fn get(&self, key: &[u8], seen: Seen<'_>) -> anyhow::Result<()> {
        let Self { calls, store, reading, .. } = self;
        let mut size = 0;
        // SAFETY: the value is the library's until `free`, and has `size` bytes.
        unsafe {
            let value = self.check(|failure| {
                let (from, length) = (key.as_ptr().cast(), key.len());
                (calls.get)(*store, *reading, from, length, &raw mut size, failure)
            })?;
            if value.is_null() {
                seen(None);
            } else {
                seen(Some(std::slice::from_raw_parts(value.cast(), size)));
                (calls.free)(value);
            }
        }
        Ok(())
    }

    pub(super) fn scan(
        &self,
        from: &[u8],
        limit: u64,
        seen: &mut dyn FnMut(&[u8], &[u8]),
    ) -> anyhow::Result<u64> {
        let Self { calls, store, reading, .. } = self;
        let mut count = 0;
        // SAFETY: the iterator is made and destroyed here; key and value are those of its place,
        // where it stays until both have been seen.
        unsafe {
            let iterator = (calls.iterator)(*store, *reading);
            (calls.iterator_seek)(iterator, from.as_ptr().cast(), from.len());
            while count < limit && (calls.iterator_valid)(iterator) != 0 {
                let part = |call: Part| {
                    let mut size = 0;
                    let start = call(iterator, &raw mut size);
                    std::slice::from_raw_parts(start.cast::<u8>(), size)
                };
                seen(part(calls.iterator_key), part(calls.iterator_value));
                count += 1;
                if count < limit {
                    (calls.iterator_next)(iterator);
                }
            }
            let ended = self.check(|failure| (calls.iterator_error)(iterator, failure));
            (calls.iterator_destroy)(iterator);
            ended?;
        }
        Ok(count)
    }

    /// A number that the store tells about itself.
    pub(super) fn property(&self, name: &CStr) -> anyhow::Result<u64> {
        // SAFETY: the text is the library's until `free`, and ends with a zero.
        let text = unsafe {
            let text = (self.calls.property)(self.store, name.as_ptr());
            if text.is_null() {
                bail!("expected the property {name:?}, found none");
            }
            let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
            (self.calls.free)(text.cast());
            copy
        };
        text.trim().parse().with_context(|| format!("{name:?}: expected a number, found {text:?}"))
    }
}

impl Drop for CStore {
    fn drop(&mut self) {
        // SAFETY: the store is open, and no call of it is running.
        unsafe { (self.calls.close)(self.store) }
    }
}

impl Calls {
    fn check<T>(&self, call: impl FnOnce(Failure) -> T) -> anyhow::Result<T> {
        let mut failure = std::ptr::null_mut();
        let answer = call(&raw mut failure);
        // SAFETY: the library has left null or a string of its own.
        unsafe { self.failed(failure) }?;
        Ok(answer)
    }

    /// # Safety
    /// As for [`CStore::failed`].
    unsafe fn failed(&self, failure: *mut c_char) -> anyhow::Result<()> {
        if failure.is_null() {
            return Ok(());
        }
        // SAFETY: a string of the library, which is released here.
        unsafe {
            let text = CStr::from_ptr(failure).to_string_lossy().into_owned();
            (self.free)(failure.cast());
            Err(anyhow!(text))
        }
    }
}
