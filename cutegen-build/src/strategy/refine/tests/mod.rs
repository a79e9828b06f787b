//! Scripted logs, and what `refine` makes of each of their entries.

mod levers;
mod walk;
