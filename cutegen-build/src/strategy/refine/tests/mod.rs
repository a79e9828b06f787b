//! Scripted logs, and what `refine` makes of each of their entries.

mod experience;
mod levers;
mod walk;
