//! [`TerraceUserData`]: a pointer of the program, which its functions get with each call.
//!
//! # Why it is sound
//! The library never follows the pointer. It hands it to functions of the program, from several
//! threads at once, and to `destroy` once, after the last of those calls. The program's part of
//! the contract, which the header states, is that its functions may be called so. The fields are
//! private to this module, and a value is taken over as a whole by [`UserData::new`].

use std::ffi::c_void;

/// A pointer of the program for its functions, and how it is given back.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TerraceUserData {
    /// The first argument of each call of the function; may be null. Threads of the library use it
    /// at the same time.
    data: *mut c_void,
    /// Called once with `data`, by any thread, after the last call of the function; null for
    /// nothing to do.
    destroy: Option<extern "C" fn(data: *mut c_void)>,
}

/// The user data of a function, which it outlives.
pub(crate) struct UserData(TerraceUserData);

// SAFETY: the pointer is never followed here. That the functions which get it may be called by any
// thread is what the program vouches for; see the module.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

impl UserData {
    /// Takes the user data over: it is destroyed with this value.
    pub(crate) fn new(data: TerraceUserData) -> Self {
        Self(data)
    }

    /// The pointer, for a call of the program's function.
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.0.data
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destroy) = self.0.destroy {
            destroy(self.0.data);
        }
    }
}
