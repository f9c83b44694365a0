//! placeholder

/// placeholder
#[derive(Debug)]
pub struct MemoryStore;
/// placeholder
#[derive(Debug)]
pub enum CrashMode {}
