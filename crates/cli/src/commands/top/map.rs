//! The map of zones: a cell of three letters for each zone, or for several if there is no room.
//!
//! The first letter is the state, as in `terrace zones`. The second is the kind of most live bytes:
//! the level of a table, `L` for a log, `J`, `S`, `C`. The third is a bar for the live share of the
//! zone's bytes. Colours add nothing to the letters. A drive without zones is shown by equal
//! stretches.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use terrace::ByteCount;

use super::view::View;
use crate::map::{Cell, Mark, Share, merge};
use crate::stretches::Stretches;

/// Columns of a cell.
const CELL: usize = 3;

/// Columns before the first cell of a row.
const LABEL: usize = 7;

/// Bars from nothing to full.
const BARS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the map.
pub(super) fn draw(frame: &mut Frame, area: Rect, view: &mut View) {
    let Some(sample) = view.sample() else { return };
    let row = (usize::from(area.width).saturating_sub(LABEL) / CELL).max(1);
    // Rows of round numbers are easier to count in.
    let row = if row > 10 { row - row % 5 } else { row };
    let room = row * usize::from(area.height.saturating_sub(1)).max(1);
    let zones = view.zones();
    if !zones.is_empty() {
        let cells: Vec<Cell> = zones.iter().map(|zone| Cell::from(*zone)).collect();
        let group = cells.len().div_ceil(room).max(1);
        let number = |cell: usize| zones[cell * group].zone.to_string();
        let lines = lines(&cells, (row, group), Some(view.at / group), view.is_coloured, &number);
        let sum =
            |of: fn(&&terrace::fs::ZoneUsage) -> u64| ByteCount(zones.iter().map(of).sum::<u64>());
        let mut text = format!(
            "{} zones by {}; live {}, dead {}, pinned {}",
            zones.len(),
            view.order.name(),
            sum(|zone| zone.live.0),
            sum(|zone| zone.dead.0),
            sum(|zone| zone.pinned.0)
        );
        if group > 1 {
            text += &format!("; each cell is {group} zones");
        }
        print(frame, area, lines, text);
        view.row = row * group;
        return;
    }
    let of_tables = sample.map.plain.iter().find(|device| device.free.is_some());
    let Some(device) = of_tables.or(sample.map.plain.first()) else {
        let text = "a directory: the file system of the host places the files";
        frame.render_widget(Paragraph::new(text), area);
        return;
    };
    let Stretches { size, cells } = Stretches::of(&device.runs);
    let group = cells.len().div_ceil(room).max(1);
    let number = |cell: usize| ByteCount(cell as u64 * group as u64 * size.0).to_string();
    let lines = lines(&cells, (row, group), None, view.is_coloured, &number);
    let text = format!("each cell is {}", ByteCount(size.0 * group as u64));
    print(frame, area, lines, text);
}

fn print(frame: &mut Frame, area: Rect, mut lines: Vec<Line<'static>>, sums: String) {
    lines.truncate(usize::from(area.height.saturating_sub(1)));
    lines.push(Line::from(sums));
    frame.render_widget(Paragraph::new(lines), area);
}

/// Rows of cells, with the number of the first one.
fn lines(
    cells: &[Cell],
    (row, group): (usize, usize),
    at: Option<usize>,
    is_coloured: bool,
    number: &dyn Fn(usize) -> String,
) -> Vec<Line<'static>> {
    let cells: Vec<Cell> = cells.chunks(group).map(merge).collect();
    let rows = cells.chunks(row).enumerate().map(|(index, of_row)| {
        let first = index * row;
        let label = number(first);
        let mut spans = vec![Span::raw(format!("{label:>width$} ", width = LABEL - 1))];
        for (place, cell) in of_row.iter().enumerate() {
            let mut style = if is_coloured { style(cell) } else { Style::default() };
            if at == Some(first + place) {
                style = style.add_modifier(Modifier::REVERSED);
            }
            spans.push(Span::styled(letters(cell), style));
        }
        Line::from(spans)
    });
    rows.collect()
}

/// The kind of contents that has most bytes, if any is live.
fn most(cell: &Cell) -> Option<Share> {
    let live = cell.shares.iter().filter(|(share, bytes)| is_live(*share) && *bytes > 0);
    live.max_by_key(|(_, bytes)| *bytes).map(|(share, _)| *share)
}

fn is_live(share: Share) -> bool {
    !matches!(share, Share::Dead | Share::Room | Share::Guard)
}

fn letters(cell: &Cell) -> String {
    let all: u64 = cell.shares.iter().map(|(_, bytes)| bytes).sum();
    let live = cell.shares.iter().filter(|(share, _)| is_live(*share));
    let live: u64 = live.map(|(_, bytes)| bytes).sum();
    let eighths = (u128::from(live) * 8).div_ceil(u128::from(all.max(1))).min(8) as usize;
    let what = match most(cell) {
        Some(share) if cell.mark != Mark::Free => share.letter(),
        _ if cell.mark == Mark::Stale => Share::Dead.letter(),
        _ => Share::Room.letter(),
    };
    let bar = if cell.mark == Mark::Free { BARS[0] } else { BARS[eighths] };
    [cell.mark.letter(), what, bar].into_iter().collect()
}

fn style(cell: &Cell) -> Style {
    if matches!(cell.mark, Mark::ReadOnly | Mark::Offline) {
        return Style::new().fg(Color::LightRed);
    }
    let colour = match most(cell) {
        None => Color::DarkGray,
        Some(Share::Superblock | Share::Journal) => Color::Magenta,
        Some(Share::Log) => Color::LightRed,
        Some(Share::Level(0)) => Color::LightYellow,
        Some(Share::Level(1)) => Color::Yellow,
        Some(Share::Level(2)) => Color::Green,
        Some(Share::Level(3)) => Color::Cyan,
        Some(Share::Level(_)) => Color::LightBlue,
        Some(_) => Color::White,
    };
    Style::new().fg(colour)
}
