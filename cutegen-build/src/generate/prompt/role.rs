//! What an author attends to in a run of several roles: the name of a role for a heading, and its text.

use crate::experience::Role;

/// The heading.
pub(super) fn title(role: Role) -> &'static str {
    match role {
        Role::Fusion => "what is computed together",
        Role::Memory => "how bytes move",
        Role::Launch => "how work is laid out",
        Role::Compute => "what the instructions are",
    }
}

/// What the role is about.
pub(super) fn text(role: Role) -> &'static str {
    match role {
        Role::Fusion => include_str!("role_fusion.md"),
        Role::Memory => include_str!("role_memory.md"),
        Role::Launch => include_str!("role_launch.md"),
        Role::Compute => include_str!("role_compute.md"),
    }
    .trim_ascii_end()
}
