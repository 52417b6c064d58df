//! Arrows and signs, as triangles of a mesh: thousands of them cost one draw call.

use eframe::egui::{self, Color32, Mesh, Rect, pos2, vec2};
use foretrace_gantt::arrows::Line;

use crate::source::EventClass;

/// Returns between which heights an arrow goes from one bar to another.
pub fn heights(from: Rect, to: Rect) -> (f64, f64) {
    let (start, tip) = if from.top() < to.top() {
        (from.bottom() - 4.0, to.top())
    } else {
        (from.top() + 4.0, to.bottom())
    };
    (f64::from(start), f64::from(tip))
}

/// Adds an arrow to a mesh: one draw call for all of them.
pub fn arrow(mesh: &mut Mesh, line: &Line, thick: f32, colour: Color32) {
    shaft(mesh, line, thick, colour);
    tip(mesh, line, thick, colour);
}

/// Adds an arrow's line to a mesh.
pub fn shaft(mesh: &mut Mesh, line: &Line, thick: f32, colour: Color32) {
    let (start, end) = (point(line.start), point(line.end));
    let half = along(line).rot90() * (thick / 2.0);
    let first = mesh.vertices.len() as u32;
    for corner in [start - half, start + half, end + half, end - half] {
        mesh.colored_vertex(corner, colour);
    }
    mesh.add_triangle(first, first + 1, first + 2);
    mesh.add_triangle(first, first + 2, first + 3);
}

/// Adds an arrow's tip to a mesh, where it is in the picture.
pub fn tip(mesh: &mut Mesh, line: &Line, thick: f32, colour: Color32) {
    if line.has_tip {
        let (tip, along) = (point(line.end), along(line));
        let back = tip - along * 6.0;
        let wide = along.rot90() * (3.0 + thick / 2.0);
        triangle(mesh, [tip, back - wide, back + wide], colour);
    }
}

fn point((x, y): (f64, f64)) -> egui::Pos2 {
    pos2(x as f32, y as f32)
}

fn along(line: &Line) -> egui::Vec2 {
    let (x, y) = line.direction();
    vec2(x as f32, y as f32)
}

fn triangle(mesh: &mut Mesh, corners: [egui::Pos2; 3], colour: Color32) {
    let first = mesh.vertices.len() as u32;
    for corner in corners {
        mesh.colored_vertex(corner, colour);
    }
    mesh.add_triangle(first, first + 1, first + 2);
}

/// Adds the sign of a class of operations: shapes, for colours are taken by states.
pub fn sign(mesh: &mut Mesh, class: EventClass, at: egui::Pos2, size: f32, colour: Color32) {
    let (left, right) = (at.x - size, at.x + size);
    let (top, bottom) = (at.y - size, at.y + size);
    let square = |mesh: &mut Mesh, half: egui::Vec2| {
        mesh.add_colored_rect(Rect::from_center_size(at, half * 2.0), colour);
    };
    match class {
        EventClass::Acquire => triangle(
            mesh,
            [pos2(left, top), pos2(right, top), pos2(at.x, bottom)],
            colour,
        ),
        EventClass::Release => triangle(
            mesh,
            [pos2(left, bottom), pos2(right, bottom), pos2(at.x, top)],
            colour,
        ),
        EventClass::Wait => square(mesh, vec2(size * 0.8, size * 0.8)),
        EventClass::Signal => {
            triangle(
                mesh,
                [pos2(left, at.y), pos2(at.x, top), pos2(right, at.y)],
                colour,
            );
            triangle(
                mesh,
                [pos2(left, at.y), pos2(at.x, bottom), pos2(right, at.y)],
                colour,
            );
        }
        EventClass::Life => {
            square(mesh, vec2(size, size * 0.35));
            square(mesh, vec2(size * 0.35, size));
        }
        EventClass::Message => triangle(
            mesh,
            [pos2(left, top), pos2(right, at.y), pos2(left, bottom)],
            colour,
        ),
        EventClass::Io => square(mesh, vec2(size, size * 0.45)),
        EventClass::Other => square(mesh, vec2(size * 0.35, size * 0.9)),
    }
}
