//! Scripted logs, and what `islands` makes of each of their entries.

mod levers;
mod script;
mod walk;
