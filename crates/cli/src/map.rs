//! The map of a drive in text: a cell for each zone, and letters for the shares of its bytes. On a
//! drive without zones a cell is one of many equal stretches.
//!
//! ```text
//!      0 >SS····· |JJJJ░░░ |0000111 |2222░░░ >2222···  ······· |333333░
//! ```
//!
//! - A cell is a mark for the state of the zone, and seven letters. The letters divide the zone's
//!   capacity among its contents: a kind of contents that has a byte there gets at least one
//!   letter, if at most seven kinds have one. A cell that is marked as free shows no contents.
//! - A zone that is free and has not been reset yet has a mark of its own, and shows its dead
//!   bytes.
//! - On a drive with more than [`CELLS_MAX`] zones, several share a cell. Of their marks it has the
//!   one that comes last in [`Mark`].
//!
//! Colours add nothing to the letters.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use terrace::ByteCount;
use terrace::device::{ZoneState, ZoneType};
use terrace::fs::{ZoneUsage, ZoneUse};

use crate::screen::Paint;
use crate::stretches::Stretches;

/// Letters to a cell.
const WIDTH: usize = 7;

/// Columns that a cell takes: mark, letters and a space.
const CELL: usize = WIDTH + 2;

/// Columns before the first cell: the number of its zone.
const LABEL: usize = 7;

/// Cells of the largest map. A drive with more zones puts several into a cell.
const CELLS_MAX: usize = 512;

/// Lines of a map of zones that is drawn whole. In a longer one, free lines that follow each other
/// are drawn once.
const LINES_WHOLE: usize = 24;

/// Use of a byte of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// The superblock.
    Superblock,
    /// The journal.
    Journal,
    /// A write-ahead log.
    Log,
    /// A table of this level.
    Level(u8),
    /// Any other live file.
    Other,
    /// Free, and a write would destroy the data after it.
    Guard,
    /// Written, and of no use any more.
    Dead,
    /// Not written.
    Room,
}

impl Share {
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Superblock => 'S',
            Self::Journal => 'J',
            Self::Log => 'L',
            Self::Level(level @ 0..=9) => char::from(b'0' + level),
            Self::Level(_) => '+',
            Self::Other => 'C',
            Self::Guard => 'G',
            Self::Dead => '░',
            Self::Room => '·',
        }
    }

    fn style(self) -> Style {
        let colour = match self {
            Self::Superblock | Self::Journal => AnsiColor::Magenta,
            Self::Log => AnsiColor::BrightRed,
            Self::Level(0) => AnsiColor::BrightYellow,
            Self::Level(1) => AnsiColor::Yellow,
            Self::Level(2) => AnsiColor::Green,
            Self::Level(3) => AnsiColor::Cyan,
            Self::Level(_) => AnsiColor::Blue,
            Self::Other => AnsiColor::White,
            Self::Guard => AnsiColor::Red,
            Self::Dead | Self::Room => AnsiColor::BrightBlack,
        };
        colour.on_default()
    }
}

/// The state of a zone, as far as the map shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// Holds nothing that counts, and can be taken.
    Free,
    /// Free, but its old data are still there: it is reset when it is taken.
    Stale,
    /// Full, closed, or conventional.
    Resting,
    /// Being written.
    Open,
    /// Can never be written again.
    ReadOnly,
    /// The zone is offline.
    Offline,
}

impl Mark {
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Free => ' ',
            Self::Stale => '~',
            Self::Resting => '|',
            Self::Open => '>',
            Self::ReadOnly => 'r',
            Self::Offline => 'x',
        }
    }
}

/// One zone of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// State of the zone.
    pub(crate) mark: Mark,
    /// Uses of its capacity, in bytes; in the order in which they are drawn.
    pub(crate) shares: Vec<(Share, u64)>,
}

impl Cell {
    fn is_free(&self) -> bool {
        self.mark == Mark::Free
    }
}

impl From<&ZoneUsage> for Cell {
    fn from(zone: &ZoneUsage) -> Self {
        let mark = match (zone.state, zone.used_for) {
            (ZoneState::Offline, _) => Mark::Offline,
            (ZoneState::ReadOnly, _) | (_, ZoneUse::Retired) => Mark::ReadOnly,
            (_, ZoneUse::Free) if awaits_reset(zone) => Mark::Stale,
            (_, ZoneUse::Free | ZoneUse::Unused) => Mark::Free,
            (state, _) if state.is_open() => Mark::Open,
            _ => Mark::Resting,
        };
        let capacity = zone.capacity.0;
        // A conventional zone has no pointer, and in a retired one only live bytes count: nothing
        // else is known about it.
        let held = ByteCount((zone.live.0 + zone.dead.0).max(1));
        let pointer = zone.pointer.filter(|_| zone.used_for != ZoneUse::Retired);
        let written = pointer.unwrap_or(held).0.min(capacity);
        let mut shares = match zone.used_for {
            ZoneUse::Superblock => vec![(Share::Superblock, written)],
            ZoneUse::Journal => vec![(Share::Journal, written)],
            _ => zone.levels.iter().map(|(level, bytes)| (share(zone, *level), bytes.0)).collect(),
        };
        let live: u64 = shares.iter().map(|(_, bytes)| bytes).sum();
        // Bytes that are written and not live are dead, or pinned and as good as dead.
        shares.push((Share::Dead, written.saturating_sub(live)));
        shares.push((Share::Room, capacity - written));
        Self { mark, shares }
    }
}

/// Whether a free zone still holds dead data: resets are as late as they can be.
fn awaits_reset(zone: &ZoneUsage) -> bool {
    let empty = zone.state == ZoneState::Empty || zone.pointer == Some(ByteCount(0));
    !empty && zone.zone_type == ZoneType::Sequential
}

fn share(zone: &ZoneUsage, level: Option<u8>) -> Share {
    match (level, zone.used_for) {
        (Some(level), _) => Share::Level(level),
        (None, ZoneUse::Log) => Share::Log,
        (None, _) => Share::Other,
    }
}

/// Draws the zones, from zone 0 on, in lines of at most `columns`. In a map of more than
/// [`LINES_WHOLE`] lines, free lines that follow each other are the first of them, and a `*`.
pub(crate) fn draw(out: &mut dyn Paint, zones: &[Cell], columns: usize) -> io::Result<()> {
    let group = zones.len().div_ceil(CELLS_MAX).max(1);
    if group > 1 {
        writeln!(out, "each cell stands for {group} zones")?;
    }
    let cells: Vec<Cell> = zones.chunks(group).map(merge).collect();
    let label = |cell| format!("{:>width$}", cell * group, width = LABEL - 1);
    let skips_free = cells.len().div_ceil(cells_of_line(columns)) > LINES_WHOLE;
    rows(out, &cells, columns, skips_free, label)
}

/// Cells of a line of `columns` columns.
fn cells_of_line(columns: usize) -> usize {
    let cells = (columns.saturating_sub(LABEL) / CELL).max(1);
    // Lines that start at round numbers are easier to count in.
    if cells > 4 { cells - cells % 4 } else { cells }
}

/// Draws the stretches of a drive without zones, from its start on; a line begins with the address
/// of its first one. Of lines that are free and follow each other, the first is drawn, and a `*`.
pub(crate) fn draw_stretches(
    out: &mut dyn Paint,
    stretches: &Stretches,
    columns: usize,
) -> io::Result<()> {
    let Stretches { size, cells } = stretches;
    let units = [(ByteCount::gib(1), "GiB"), (ByteCount::mib(1), "MiB")];
    let unit = units.into_iter().find(|(unit, _)| size >= unit);
    let (unit, name) = unit.unwrap_or((ByteCount::kib(1), "KiB"));
    writeln!(out, "each cell stands for {size}; addresses in {name}")?;
    let (width, size) = (LABEL - 1, size.0 / unit.0);
    rows(out, cells, columns, true, |cell| format!("{:>width$}", cell as u64 * size))
}

fn rows(
    out: &mut dyn Paint,
    cells: &[Cell],
    columns: usize,
    skips_free: bool,
    label: impl Fn(usize) -> String,
) -> io::Result<()> {
    let row = cells_of_line(columns);
    let is_free = |cells: &[Cell]| cells.iter().all(|cell| *cell == cells[0] && cell.is_free());
    let mut free_before = 0;
    for (index, cells) in cells.chunks(row).enumerate() {
        free_before = if skips_free && is_free(cells) { free_before + 1 } else { 0 };
        if free_before > 1 {
            if free_before == 2 {
                writeln!(out, "{:>width$}", "*", width = LABEL - 1)?;
            }
            continue;
        }
        write!(out, "{}", label(index * row))?;
        for cell in cells {
            write!(out, " {}", cell.mark.letter())?;
            draw_cell(out, cell)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Meaning of the digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    /// Levels of the tables of a store.
    Levels,
    /// Lifetimes of files with names.
    Lifetimes,
}

impl Digits {
    /// The digit for a file that is placed by this level.
    pub(crate) fn of_level(self, level: u8) -> u8 {
        match self {
            Self::Levels => level,
            Self::Lifetimes => level.saturating_add(1),
        }
    }

    /// The name of the thing that a digit counts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Levels => "level",
            Self::Lifetimes => "lifetime",
        }
    }

    /// A level or a lifetime in a table.
    pub(crate) fn text(self, digit: u8) -> String {
        match self {
            Self::Levels => format!("L{digit}"),
            Self::Lifetimes => digit.to_string(),
        }
    }
}

fn explain_files(out: &mut dyn Write, digits: Digits) -> io::Result<()> {
    let (live, logs) = match digits {
        Digits::Levels => ("0-9 live tables by level", "L log"),
        Digits::Lifetimes => ("1-9 live files by lifetime", "L files that are written"),
    };
    writeln!(out, "{:LABEL$} {live}  {logs}  C other files", "")
}

/// Explains the letters of a drive without zones.
pub(crate) fn legend_of_stretches(
    out: &mut dyn Write,
    digits: Digits,
    has_guards: bool,
) -> io::Result<()> {
    explain_files(out, digits)?;
    writeln!(out, "{:LABEL$} S superblock  J journal  ░ dead  · free", "")?;
    if has_guards {
        writeln!(out, "{:LABEL$} G guard: a write there would destroy the data after it", "")?;
    }
    writeln!(out, "{:LABEL$} | in use  > leased to a writer  * more lines that are free", "")
}

/// Explains the letters.
pub(crate) fn legend(out: &mut dyn Write, digits: Digits) -> io::Result<()> {
    explain_files(out, digits)?;
    writeln!(out, "{:LABEL$} S superblock  J journal  ░ dead  · not written", "")?;
    writeln!(out, "{:LABEL$} > being written  | at rest, in use  r read-only  x offline", "")?;
    writeln!(
        out,
        "{:LABEL$} ~ free: all of it is dead, and it is reset when it is taken  * more free lines",
        ""
    )
}

pub(crate) fn merge(zones: &[Cell]) -> Cell {
    let mut shares = std::collections::BTreeMap::new();
    for (share, bytes) in zones.iter().flat_map(|zone| &zone.shares) {
        *shares.entry(*share).or_insert(0) += bytes;
    }
    let mark = zones.iter().map(|zone| zone.mark).max().unwrap_or(Mark::Free);
    Cell { mark, shares: shares.into_iter().collect() }
}

fn draw_cell(out: &mut dyn Paint, cell: &Cell) -> io::Result<()> {
    let bytes: u64 = cell.shares.iter().map(|(_, bytes)| bytes).sum();
    if cell.mark == Mark::Free || bytes == 0 {
        let style = Share::Room.style();
        return out.paint(style, &"·".repeat(WIDTH));
    }
    let letters = cell.shares.iter().zip(apportion(&cell.shares));
    for ((share, _), letters) in letters.filter(|(_, letters)| *letters > 0) {
        let style = share.style();
        let letters: String = std::iter::repeat_n(share.letter(), letters).collect();
        out.paint(style, &letters)?;
    }
    Ok(())
}

/// How many of the letters each share gets: in proportion, the remainders to the largest; but none
/// that has a byte goes without while another has two.
fn apportion(shares: &[(Share, u64)]) -> Vec<usize> {
    let total: u128 = shares.iter().map(|(_, bytes)| u128::from(*bytes)).sum();
    if total == 0 {
        return vec![0; shares.len()];
    }
    let exact = |bytes: u64| u128::from(bytes) * WIDTH as u128;
    let mut letters: Vec<usize> =
        shares.iter().map(|(_, bytes)| (exact(*bytes) / total) as usize).collect();
    let mut by_rest: Vec<usize> = (0..shares.len()).collect();
    by_rest.sort_by_key(|index| std::cmp::Reverse(exact(shares[*index].1) % total));
    let missing = WIDTH - letters.iter().sum::<usize>();
    for index in by_rest.into_iter().take(missing) {
        letters[index] += 1;
    }
    while let Some(none) = (0..letters.len()).find(|i| letters[*i] == 0 && shares[*i].1 > 0) {
        let most = (0..letters.len()).max_by_key(|i| letters[*i]).expect("a share");
        if letters[most] < 2 {
            break;
        }
        letters[most] -= 1;
        letters[none] += 1;
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Paint for Vec<u8> {
        fn paint(&mut self, _: Style, text: &dyn std::fmt::Display) -> io::Result<()> {
            write!(self, "{text}")
        }
    }

    fn picture(zones: &[Cell], columns: usize) -> String {
        let mut out = Vec::new();
        draw(&mut out, zones, columns).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn cell(mark: Mark, shares: &[(Share, u64)]) -> Cell {
        Cell { mark, shares: shares.to_vec() }
    }

    #[test]
    fn a_cell_shows_state_levels_dead_bytes_and_room() {
        let zones = [
            cell(Mark::Open, &[(Share::Superblock, 1), (Share::Room, 4095)]),
            cell(
                Mark::Resting,
                &[(Share::Level(1), 300), (Share::Level(2), 200), (Share::Dead, 200)],
            ),
            cell(Mark::Free, &[(Share::Dead, 7)]),
            cell(Mark::Stale, &[(Share::Dead, 6), (Share::Room, 1)]),
            cell(Mark::Offline, &[]),
            cell(Mark::Resting, &[(Share::Log, 7), (Share::Level(12), 0), (Share::Other, 7)]),
        ];
        let (free, offline) = ("  ·······", " x·······");
        assert_eq!(
            picture(&zones, 34),
            format!("     0 >S······ |11122░░{free}\n     3 ~░░░░░░·{offline} |LLLLCCC\n")
        );
    }

    #[test]
    fn a_large_empty_drive_fits_a_screen() {
        let mut zones = vec![cell(Mark::Free, &[(Share::Room, 7)]); 57_344];
        zones[0] = cell(Mark::Open, &[(Share::Superblock, 1), (Share::Room, 6)]);
        zones[30_000] = cell(Mark::Resting, &[(Share::Level(1), 7)]);
        let picture = picture(&zones, 80);
        let lines: Vec<&str> = picture.lines().collect();
        assert!(lines.len() < 10, "{picture}");
        assert_eq!(lines[0], "each cell stands for 112 zones");
        assert!(lines[1].starts_with("     0 >S"), "{picture}");
        assert_eq!(lines[3], "     *");
        assert!(picture.contains(" |"), "{picture}");
    }

    #[test]
    fn whatever_has_a_byte_has_a_letter_as_long_as_there_are_enough() {
        let shares: Vec<_> = (0..7).map(|level| (Share::Level(level), 1 << (10 * level))).collect();
        assert_eq!(apportion(&shares), [1; 7]);
        let shares: Vec<_> = (0..9).map(|level| (Share::Level(level), 1)).collect();
        assert_eq!(apportion(&shares).iter().sum::<usize>(), WIDTH);
        assert_eq!(apportion(&[(Share::Dead, 0)]), [0]);
    }

    #[test]
    fn stretches_have_addresses_and_free_lines_are_drawn_once() {
        let free = cell(Mark::Free, &[(Share::Room, 7)]);
        let mut cells = vec![free; 20];
        cells[0] = cell(Mark::Resting, &[(Share::Level(2), 5), (Share::Guard, 2)]);
        cells[17] = cell(Mark::Open, &[(Share::Log, 6), (Share::Room, 1)]);
        let stretches = Stretches { size: ByteCount::mib(2), cells };
        let mut out = Vec::new();
        draw_stretches(&mut out, &stretches, 43).unwrap();
        let picture = String::from_utf8(out).unwrap();
        let (blank, room) = ("  ·······", "  ·······".repeat(3));
        assert_eq!(
            picture,
            format!(
                "each cell stands for 2 MiB; addresses in MiB\n     0 |22222GG{room}\n     8\
                 {blank}{room}\n     *\n    32{blank} >LLLLLL·{blank}{blank}\n"
            )
        );
    }

    #[test]
    fn a_large_drive_shares_cells() {
        let zones = vec![cell(Mark::Resting, &[(Share::Dead, 7)]); 1025];
        let picture = picture(&zones, 80);
        assert!(picture.starts_with("each cell stands for 3 zones\n     0 |░░░░░░░ |"));
        assert!(picture.contains("\n    24 |"), "{picture}");
    }
}
