//! Kinds and shapes of drives, as one types them: [`DeviceKind`] and [`Shape`]. A shape becomes a
//! `Geometry`. Values that were not typed are the usual ones. Without zones, a real drive
//! (`--drive`) gives the sizes of blocks, whether there is a head, and the size of the drive,
//! unless that is typed or a block device has its own. With zones, the geometry after a real drive
//! is made by `create`.
//!
//! There are three layouts: zones, no zones, and shingled tracks. The kinds `zoned`, `plain` and
//! `tracks` are these layouts. `bands` is `zoned` with other defaults, and cannot be made after a
//! real drive. `drive-managed` and `cached` are `plain`: such drives hide their bands, which show
//! only in the time that requests take, and an image has no timing model. All but `zoned` and
//! `plain` are always rotational.

use terrace_env::ByteCount;
use terrace_zone::{Geometry, Layout, Tracks};

use crate::failure::{Failure, Kind};

/// The size of a band where none is asked for: that of SEALDB, section IV.
const BAND_USUAL: ByteCount = ByteCount::mib(40);
/// The size of a track where none is asked for: about that of a 3.5-inch disk.
const TRACK_USUAL: ByteCount = ByteCount::mib(1);
/// How many tracks a write destroys where nothing is asked for.
const OVERLAP_USUAL: u32 = 2;

/// Kind of drive to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceKind {
    /// Zones that are written front to back and erased whole
    Zoned,
    /// The same with other defaults: `--zone-size 40MiB --conventional 1 --rotational`, for bands
    /// and a region for random access
    Bands,
    /// No zones, an ordinary disk: written anywhere, in place
    Plain,
    /// No zones, but shingled tracks: a write destroys the next tracks
    Tracks,
    /// As `plain --rotational`: a disk that hides its fixed bands. They cost time, which only a
    /// model of a drive has, as in experiments
    DriveManaged,
    /// As `drive-managed`, for a disk with a persistent cache before its bands
    Cached,
}

impl DeviceKind {
    pub(super) fn has_zones(self) -> bool {
        matches!(self, Self::Zoned | Self::Bands)
    }

    /// About the size of a zone of this kind of drive in the demonstration.
    pub(crate) fn usual_zone(self) -> ByteCount {
        if self == Self::Bands { BAND_USUAL } else { Geometry::ZONE_SIZE_USUAL }
    }

    /// A drive of this kind and about this size, with the usual values for the rest.
    pub(crate) fn usual(self, size: ByteCount) -> Result<Geometry, Failure> {
        let shape = Shape { size: Some(size), ..Shape::USUAL };
        if self.has_zones() { shape.zoned(self) } else { shape.without_zones(self, None, None) }
    }

    fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self)
            .map_or_else(String::new, |it| it.get_name().into())
    }
}

/// The shape of a drive, as one types it.
#[derive(clap::Args)]
pub(crate) struct Shape {
    /// Size of the address space; if it is no multiple of the zone size, the last zone is short
    /// [default: 4GiB, or all of the real drive or block device]
    #[arg(long, value_name = "SIZE")]
    pub(super) size: Option<ByteCount>,
    /// From one zone's start to the next one's; need not be a power of two [default: 16MiB, and on
    /// drives below 4GiB less, so that there are 256 zones; 40MiB for bands]
    #[arg(long, value_name = "SIZE")]
    zone_size: Option<ByteCount>,
    /// How much of each sequential zone can be written [default: all of it]
    #[arg(long, value_name = "SIZE")]
    zone_capacity: Option<ByteCount>,
    /// How many zones, from the first on, are conventional [default: none; one for bands]
    #[arg(long, value_name = "ZONES")]
    conventional: Option<u32>,
    /// The most zones that may be open at once [default: no limit]
    #[arg(long, value_name = "ZONES")]
    max_open: Option<u32>,
    /// The most zones that may be open or closed at once [default: no limit]
    #[arg(long, value_name = "ZONES")]
    max_active: Option<u32>,
    /// The most that one append may carry [default: the drive has no append]
    #[arg(long, value_name = "SIZE")]
    max_append: Option<ByteCount>,
    /// The unit of addresses: 512 or 4096
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    logical_block: ByteCount,
    /// The unit of writes: from the logical block to 4096
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    physical_block: ByteCount,
    /// The drive is a disk with a head, for which stores merge with one worker
    #[arg(long)]
    rotational: bool,
    /// Of shingled tracks, the size of a track [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    track: Option<ByteCount>,
    /// The number of shingled tracks that a write destroys after its own [default: 2]
    #[arg(long, value_name = "TRACKS")]
    overlap: Option<u32>,
}

impl Shape {
    /// The shape if nothing is typed.
    const USUAL: Self = Self {
        size: None,
        zone_size: None,
        zone_capacity: None,
        conventional: None,
        max_open: None,
        max_active: None,
        max_append: None,
        logical_block: ByteCount(4096),
        physical_block: ByteCount(4096),
        rotational: false,
        track: None,
        overlap: None,
    };

    /// Refuses options that a kind of drive does not have.
    pub(super) fn check(&self, kind: DeviceKind, real: bool) -> Result<(), Failure> {
        let of_zones = [
            ("--zone-size", self.zone_size.is_some()),
            ("--zone-capacity", self.zone_capacity.is_some()),
            ("--conventional", self.conventional.is_some()),
            ("--max-open", self.max_open.is_some()),
            ("--max-active", self.max_active.is_some()),
            ("--max-append", self.max_append.is_some()),
        ];
        let of_tracks = [("--track", self.track.is_some()), ("--overlap", self.overlap.is_some())];
        let of_own = [("--drive", real)];
        let wrong = |options: &[(&'static str, bool)], fits: bool, expected: &'static str| {
            let given = options.iter().find(|(_, given)| *given && !fits);
            given.map(|(option, _)| (*option, expected))
        };
        if !real && ![512, 4096].contains(&self.logical_block.0) {
            let found = self.logical_block.0;
            let message = format!("--logical-block: expected 512 or 4096, found {found}");
            return Err(Failure::new(Kind::Usage, message));
        }
        if !real && self.physical_block < self.logical_block {
            let (least, found) = (self.logical_block, self.physical_block);
            let message = format!(
                "--physical-block: expected the logical block of {least} or more, found {found}"
            );
            return Err(Failure::new(Kind::Usage, message));
        }
        let wrong = wrong(&of_zones, kind.has_zones(), "zoned or bands")
            .or_else(|| wrong(&of_tracks, kind == DeviceKind::Tracks, "tracks"))
            .or_else(|| wrong(&of_own, kind != DeviceKind::Bands, "zoned, with the drive's zones"));
        let Some((option, expected)) = wrong else { return Ok(()) };
        let found = kind.name();
        let message = format!("{option}: expected --kind {expected}, found --kind {found}");
        Err(Failure::new(Kind::Usage, message))
    }

    /// The geometry of a drive without zones. `real` is the drive after which it is made, `room`
    /// the space on a block device for it.
    pub(super) fn without_zones(
        &self,
        kind: DeviceKind,
        real: Option<&Geometry>,
        room: Option<ByteCount>,
    ) -> Result<Geometry, Failure> {
        let usage = |message: String| Failure::new(Kind::Usage, message);
        let narrow = |size: ByteCount| u32::try_from(size.0).unwrap_or(u32::MAX);
        let whole = real.map(|it| ByteCount(it.blocks() * u64::from(it.logical_block)));
        let size = self.size.or(room).or(whole).unwrap_or(ByteCount::gib(4));
        if let Some(whole) = whole.filter(|whole| size > *whole) {
            let message =
                format!("--size: expected at most the {whole} of the drive, found {size}");
            return Err(usage(message));
        }
        let (logical, physical) = match real {
            Some(real) => (real.logical_block, real.physical_block),
            None => (narrow(self.logical_block), narrow(self.physical_block)),
        };
        // Whole physical blocks; a remainder is not part of the drive.
        let unit = u64::from(physical.max(1));
        let blocks = size.0 / unit * unit / u64::from(logical.max(1));
        if blocks == 0 {
            let found = size.exact();
            let message =
                format!("--size: expected a block of {unit} bytes at least, found {found}");
            return Err(usage(message));
        }
        let managed = matches!(kind, DeviceKind::DriveManaged | DeviceKind::Cached);
        let mut geometry = Geometry {
            logical_block: logical,
            physical_block: physical,
            zone_size: blocks,
            zone_capacity: blocks,
            rotational: self.rotational || managed || real.is_some_and(|real| real.rotational),
            ..Geometry::plain(size)
        };
        if kind == DeviceKind::Tracks {
            let track = self.track.unwrap_or(TRACK_USUAL);
            if !track.0.is_multiple_of(u64::from(logical.max(1))) {
                let message =
                    format!("--track: expected whole blocks of {logical} bytes, found {track}");
                return Err(usage(message));
            }
            let overlap = self.overlap.unwrap_or(OVERLAP_USUAL);
            // One that is written, and the next ones, which it destroys.
            if track.0.saturating_mul(u64::from(overlap) + 1) > size.0 {
                let tracks = u64::from(overlap) + 1;
                let message = format!(
                    "--track: expected {tracks} tracks or more on a drive of {size}, found tracks \
                     of {track}"
                );
                return Err(usage(message));
            }
            let blocks = narrow(ByteCount(track.0 / u64::from(logical.max(1))));
            geometry = geometry.with_tracks(Tracks { blocks, overlap });
        }
        geometry.validate().map_err(|error| usage(error.to_string()))?;
        Ok(geometry)
    }

    /// The geometry of a drive with zones.
    pub(super) fn zoned(&self, kind: DeviceKind) -> Result<Geometry, Failure> {
        let bands = kind == DeviceKind::Bands;
        let block = self.logical_block.0.max(1);
        let blocks = |what: &str, size: ByteCount| match size.0 % block {
            0 => Ok(size.0 / block),
            _ => {
                let found = size.0;
                Err(Failure::new(
                    Kind::Usage,
                    format!("{what}: expected whole blocks of {block} bytes, found {found} bytes"),
                ))
            }
        };
        let size = self.size.unwrap_or(ByteCount::gib(4)).0;
        let usual = || if bands { BAND_USUAL } else { Geometry::usual_zone_size(ByteCount(size)) };
        let zone_size = self.zone_size.unwrap_or_else(usual);
        let zone_size = blocks("zone size", zone_size)?;
        // Whole physical blocks; a remainder is not part of the drive.
        let size = size / self.physical_block.0.max(block) * self.physical_block.0 / block;
        let whole = size.checked_div(zone_size).unwrap_or(0);
        let rest = size.checked_rem(zone_size).unwrap_or(0);
        let narrow = |what: &str, number: u64| {
            u32::try_from(number).map_err(|_| {
                let limit = u32::MAX;
                Failure::new(
                    Kind::Usage,
                    format!("{what}: expected at most {limit}, found {number}"),
                )
            })
        };
        let zones = whole + u64::from(rest > 0);
        let empty = match (size, zone_size) {
            (0, _) => Some(("--size", self.size)),
            (_, 0) => Some(("--zone-size", self.zone_size)),
            _ => None,
        };
        if let Some((flag, found)) = empty {
            let least = self.physical_block.0.max(block);
            let found = found.unwrap_or(ByteCount(0)).exact();
            let message =
                format!("{flag}: expected a block of {least} bytes at least, found {found}");
            return Err(Failure::new(Kind::Usage, message));
        }
        check_zones(zones)?;
        let append = self.max_append.map(|size| blocks("append", size)).transpose()?;
        let conventional = self.conventional.unwrap_or(u32::from(bands));
        let conventional = (conventional > 0).then_some(0..conventional);
        let geometry = Geometry {
            layout: Layout::default(),
            logical_block: narrow("logical block", self.logical_block.0)?,
            physical_block: narrow("physical block", self.physical_block.0)?,
            zone_size,
            zone_capacity: match self.zone_capacity {
                Some(capacity) => blocks("zone capacity", capacity)?,
                None => zone_size,
            },
            zones: narrow("zones", zones)?,
            last_zone_size: (rest > 0).then_some(rest),
            conventional: conventional.into_iter().collect(),
            max_open: self.max_open,
            max_active: self.max_active,
            max_append: append.map(|blocks| narrow("append", blocks)).transpose()?,
            rotational: self.rotational || bands,
        };
        geometry.validate().map_err(|error| Failure::new(Kind::Usage, error.to_string()))?;
        Ok(geometry)
    }
}

/// Refuses a drive whose table of zones would take an unreasonable amount of memory.
fn check_zones(zones: u64) -> Result<(), Failure> {
    let most = u64::from(Geometry::ZONES_MAX);
    if zones <= most {
        return Ok(());
    }
    let memory = |zones: u64| ByteCount(zones.saturating_mul(Geometry::ZONE_MEMORY.0));
    let message = format!(
        "expected at most {most} zones, whose table takes {} of memory; found {zones}, which would \
         take {}; larger zones make fewer",
        memory(most),
        memory(zones)
    );
    Err(Failure::new(Kind::Usage, message))
}
