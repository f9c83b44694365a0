//! [`TranslationParameters`]: the parameters of a translation layer, as a drive file states them.
//! [`TranslationParameters::settings`] converts them to a scale and to plain units.
//!
//! [`TranslationParameters::flaw`] returns the first value that it finds impossible: of the band,
//! the buffer, the open bands, and the size of the cache. The model expects that there is none.

use serde::Deserialize;
use terrace_env::ByteCount;

use crate::timing::{Scale, Size, Sourced, Span};

/// How much of a band is read and written when something in it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::timing) enum Rewrite {
    /// Rewrite all bytes of the band that were ever written.
    Band,
    /// Rewrite from the first changed byte on: the tracks before it are not overlapped.
    Tail,
}

/// The `[translation]` part of a drive file. The rules are at the head of the
/// [module](super).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::timing) struct TranslationParameters {
    /// Bytes of a band.
    band: Sourced<Size>,
    /// How much of a band is rewritten.
    rewrite: Sourced<Rewrite>,
    /// Bands with an open burst at once.
    open_bands: Sourced<u32>,
    /// A burst ends when its band has not been written for so long.
    burst_idle: Sourced<Span>,
    /// Bytes of bursts that the drive holds at once, those that it is rewriting included.
    burst_buffer: Sourced<Size>,
    /// The persistent cache, if there is one.
    cache: Option<CacheParameters>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheParameters {
    /// Bytes of the cache, at the outer diameter.
    size: Sourced<Size>,
    /// Length of a stream from which on its writes go to their bands.
    bypass: Sourced<Size>,
    /// Time of the head for an entry, without the transfer of its bytes.
    entry: Sourced<Span>,
    /// A band is cleaned when the host has asked nothing for so long.
    idle: Sourced<Span>,
}

/// The parameters at a scale: sizes in bytes, times in nanoseconds.
#[derive(Clone, Debug)]
pub(in crate::timing) struct Settings {
    pub(super) band: u64,
    pub(super) rewrite: Rewrite,
    pub(super) open_bands: usize,
    pub(super) burst_idle: u64,
    pub(super) burst_buffer: u64,
    pub(super) cache: Option<CacheSettings>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::timing) struct CacheSettings {
    pub(super) size: u64,
    pub(super) bypass: u64,
    pub(super) entry: u64,
    pub(super) idle: u64,
}

impl TranslationParameters {
    /// The parameters at a scale. Sizes are whole blocks of 4 KiB.
    pub(in crate::timing) fn settings(&self, scale: Scale) -> Settings {
        let bytes = |size: &Sourced<Size>| (scale.bytes(size.value.0) / 4096 * 4096).max(4096);
        Settings {
            band: bytes(&self.band),
            rewrite: self.rewrite.value,
            open_bands: self.open_bands.value.max(1) as usize,
            burst_idle: scale.span(self.burst_idle.value),
            burst_buffer: bytes(&self.burst_buffer),
            cache: self.cache.as_ref().map(|cache| CacheSettings {
                size: bytes(&cache.size),
                bypass: bytes(&cache.bypass),
                entry: scale.span(cache.entry.value),
                idle: scale.span(cache.idle.value),
            }),
        }
    }

    /// Bands of another size, and a buffer that still holds two of them.
    pub(in crate::timing) fn set_band(&mut self, band: ByteCount) {
        self.band.value = Size(band.0);
        let buffer = &mut self.burst_buffer.value;
        *buffer = Size(buffer.0.max(band.0.saturating_mul(2)));
    }

    /// First reason why no drive can have these parameters, if there is one: parameter, expected,
    /// found.
    pub(in crate::timing) fn flaw(&self) -> Option<(&'static str, &'static str, String)> {
        const BAND: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;
        let (band, buffer) = (self.band.value, self.burst_buffer.value);
        if !BAND.contains(&band.0) {
            return Some(("band", "1 MiB to 1 GiB", format!("{} bytes", band.0)));
        }
        if buffer < band {
            let found = format!("{} bytes", buffer.0);
            return Some(("burst_buffer", "at least a band", found));
        }
        if self.open_bands.value == 0 {
            return Some(("open_bands", "at least 1", "0".to_owned()));
        }
        let cache = self.cache.as_ref()?;
        let small = cache.size.value < band;
        small.then(|| ("cache.size", "at least a band", format!("{} bytes", cache.size.value.0)))
    }

    /// The source of each parameter.
    pub(in crate::timing) fn sources(&self) -> Vec<(&'static str, &str)> {
        let mut sources = vec![
            ("band", self.band.source.as_str()),
            ("rewrite", &self.rewrite.source),
            ("open_bands", &self.open_bands.source),
            ("burst_idle", &self.burst_idle.source),
            ("burst_buffer", &self.burst_buffer.source),
        ];
        if let Some(cache) = &self.cache {
            sources.extend([
                ("cache.size", cache.size.source.as_str()),
                ("cache.bypass", &cache.bypass.source),
                ("cache.entry", &cache.entry.source),
                ("cache.idle", &cache.idle.source),
            ]);
        }
        sources
    }
}

#[cfg(test)]
impl Settings {
    /// Bands of this size, rewritten whole, one burst at a time, without a cache.
    pub(super) fn bands(band: u64) -> Self {
        Self {
            band,
            rewrite: Rewrite::Band,
            open_bands: 1,
            burst_idle: 2_000_000_000,
            burst_buffer: 2 * band,
            cache: None,
        }
    }

    /// The same with a cache of this many bytes, that streams of 1 MiB pass by.
    pub(super) fn cached(band: u64, size: u64) -> Self {
        let cache = CacheSettings { size, bypass: 1 << 20, entry: 7_000_000, idle: 1_000_000_000 };
        Self { cache: Some(cache), ..Self::bands(band) }
    }
}
