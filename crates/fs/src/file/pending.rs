//! [`Pending`]: bytes that were appended to a log and are not written yet.

/// Bytes of a log behind its last frame. Some of them may be on their way to the medium.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    bytes: Vec<u8>,
    /// Bytes at the front that are written, and are kept until there are enough of them: moving up
    /// the rest each time would cost more than all other copies.
    written: usize,
}

impl Pending {
    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() - self.written
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The first `len` bytes are written.
    pub(crate) fn note_written(&mut self, len: usize) {
        self.written += len;
        debug_assert!(self.written <= self.bytes.len(), "more written than was appended");
        if self.written >= self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// The bytes are lost.
    pub(crate) fn clear(&mut self) {
        (self.bytes, self.written) = (Vec::new(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_goes_and_the_rest_stays() {
        let mut pending = Pending::default();
        let mut expected: Vec<u8> = Vec::new();
        for round in 0..100_u8 {
            let bytes = vec![round; 7 + usize::from(round % 5)];
            pending.append(&bytes);
            expected.extend(&bytes);
            let written = expected.len().min(usize::from(round % 17));
            pending.note_written(written);
            expected.drain(..written);
            assert_eq!((pending.bytes(), pending.len()), (&expected[..], expected.len()));
        }
        pending.clear();
        assert_eq!(pending.len(), 0);
    }
}
