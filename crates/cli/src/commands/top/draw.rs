//! Draws the whole screen: a head of two lines, the map, two rows of panels, and the keys. It is
//! made for 80 columns and 24 lines. More lines go to the map, and to the first row of panels. On a
//! screen that is lower, the second row goes first.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::sample::Sample;
use super::view::View;
use super::{map, panels};
use crate::escape::Visible;

/// Lines of a row of panels, with their titles.
const ROW: u16 = 8;

/// The least lines of the map, with its title.
const MAP_MIN: u16 = 5;

/// Lines of head and keys.
const REST: u16 = 3;

const KEYS: &str = "q quit  p pause  s order  arrows zone  Enter look into it  Esc back";

/// Draws a frame.
pub(super) fn draw(frame: &mut Frame, view: &mut View) {
    let area = frame.area();
    let spare = area.height.saturating_sub(REST + MAP_MIN + 2 * ROW);
    let second = if area.height < REST + MAP_MIN + 2 * ROW { 0 } else { ROW };
    let [head, middle, upper, lower, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(MAP_MIN),
        Constraint::Length(ROW + (spare / 3).min(6)),
        Constraint::Length(second),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_head(frame, head, view);
    let dim = if view.is_coloured { Style::new().fg(Color::DarkGray) } else { Style::new() };
    frame.render_widget(Paragraph::new(KEYS).style(dim), keys);
    let Some(sample) = view.sample().cloned() else { return };
    let inner = framed(frame, middle, "zones", view);
    map::draw(frame, inner, view);
    let (stats, rates) = (&sample.snapshot.overview.stats, view.rates());
    let rates = rates.as_ref();
    let [left, right] =
        Layout::horizontal([Constraint::Length(32), Constraint::Min(20)]).spacing(1).areas(upper);
    list(frame, left, "levels", view, &panels::levels(stats));
    let [jobs, waits] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(right);
    list(frame, jobs, "jobs", view, &panels::jobs(&sample));
    list(frame, waits, "waits", view, &panels::waits(stats, rates));
    if second > 0 {
        let columns = [Constraint::Length(34), Constraint::Length(22), Constraint::Min(20)];
        let [one, two, three] = Layout::horizontal(columns).spacing(1).areas(lower);
        list(frame, one, "rates and latencies", view, &panels::rates(&sample, rates));
        let amplification = panels::amplification(stats, rates);
        list(frame, two, "written per byte put", view, &amplification);
        draw_events(frame, three, view);
    }
    if view.is_inside {
        draw_zone(frame, area, view, &sample);
    }
}

/// The store, the process that has it open, and its space.
fn draw_head(frame: &mut Frame, area: Rect, view: &View) {
    let paused = if view.is_paused { "[paused] " } else { "" };
    let mut lines = Vec::new();
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let Some(sample) = view.sample() else {
        let why = view.note.as_deref().unwrap_or("looking for the store");
        lines.push(Line::styled(view.store.clone(), bold));
        lines.push(Line::from(Visible(why).to_string()));
        frame.render_widget(Paragraph::new(lines), area);
        return;
    };
    let title = match &sample.owner {
        Some(owner) => format!(
            "{paused}{}: open for {} in process {}, `{}`",
            view.store,
            panels::clock(sample.snapshot.age),
            owner.pid,
            owner.command
        ),
        None => format!("{paused}{}: no process has it open; a still picture", view.store),
    };
    lines.push(Line::styled(Visible(&title).to_string(), bold));
    let overview = &sample.snapshot.overview;
    let space = &overview.stats.space;
    let efficiency = overview
        .space_efficiency
        .map_or(String::new(), |share| format!(", efficiency {:.0} %", 100.0 * share));
    let text = format!(
        "{}; {} free, {} live, {} dead of {}{efficiency}; {} for puts",
        overview.system, space.free, space.live, space.dead, space.capacity, space.for_puts
    );
    let text = view.note.clone().unwrap_or(text);
    lines.push(Line::from(Visible(&text).to_string()));
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_events(frame: &mut Frame, area: Rect, view: &View) {
    let room = usize::from(area.height.saturating_sub(1));
    let skipped = view.events.len().saturating_sub(room);
    let lines: Vec<String> = view.events[skipped..].iter().map(panels::event).collect();
    list(frame, area, "events", view, &lines);
}

/// The zone that is looked into, over the rest.
fn draw_zone(frame: &mut Frame, area: Rect, view: &View, sample: &Sample) {
    let zones = view.zones();
    let Some(zone) = zones.get(view.at) else { return };
    let lines = panels::zone(zone, sample.map.has_names);
    let height = (lines.len() as u16 + 2).min(area.height);
    let width = 40.min(area.width);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(format!(" zone {} ", zone.zone));
    let lines: Vec<Line<'_>> = lines.iter().map(|line| Line::raw(line.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

fn framed(frame: &mut Frame, area: Rect, title: &str, view: &View) -> Rect {
    let style = if view.is_coloured { Style::new().fg(Color::Cyan) } else { Style::new() };
    let block = Block::new().borders(Borders::TOP).title(format!(" {title} ")).title_style(style);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn list(frame: &mut Frame, area: Rect, title: &str, view: &View, lines: &[String]) {
    let inner = framed(frame, area, title, view);
    let room = usize::from(inner.height);
    let mut shown: Vec<Line<'_>> =
        lines.iter().take(room).map(|it| Line::raw(it.as_str())).collect();
    let more;
    if lines.len() > room && room > 0 {
        more = format!("and {} more", lines.len() - room + 1);
        shown[room - 1] = Line::raw(more.as_str());
    }
    frame.render_widget(Paragraph::new(shown), inner);
}
