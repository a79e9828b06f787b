//! One graph, captured once, replayed a thousand times on inputs that change under it. Every replay is compared with
//! f64: all of the sum and the norm, elements drawn anew of the products.

use std::sync::Arc;

use crate::Fail;
use crate::block::{Block, D, Memory, On};
use crate::capture::capture;
use crate::draw::Draw;
use crate::judge::{Verdict, Which};

const REPLAYS: usize = 1000;
const TOKENS: usize = 1;
/// Elements of each product that are compared after each replay.
const DRAWN: usize = 256;

/// The part.
pub fn run() -> Result<bool, Fail> {
    let (context, kernels) = crate::device()?;
    // SAFETY: all is used on one stream. Capture needs it.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let block = Block::drawn(&stream)?;
    let mut draw = Draw::new(REPLAYS as u64);
    let mut memory = Memory::of(&stream, &draw.values(TOKENS * D, 1.0), &draw.values(TOKENS * D, 1.0))?;
    let mut on =
        On { kernels: &kernels, workspace: kernels.workspace(&stream)?, stream: Arc::clone(&stream) };
    let graph = capture(&stream, || block.launch(&mut on, &mut memory))?;

    let (mut all, mut wrong) = (Verdict::default(), 0);
    for replay in 0..REPLAYS {
        let (x, r) = (draw.values(TOKENS * D, 1.0), draw.values(TOKENS * D, 1.0));
        stream.memcpy_htod(&x, &mut memory.x)?;
        stream.memcpy_htod(&r, &mut memory.r)?;
        graph.launch()?;
        let verdicts = block.judge(&stream, &memory, (&x, &r), Which::Drawn(DRAWN, replay as u64))?;
        wrong += usize::from(verdicts.wrong() > 0);
        all = all.and(verdicts.norm).and(verdicts.gate_up).and(verdicts.down);
    }
    println!(
        "{REPLAYS} replays of one graph at {TOKENS} token, new inputs each: {wrong} wrong; {} elements compared, \
         worst error / bound {:.1}%",
        all.compared,
        all.worst * 100.0
    );
    Ok(wrong == 0)
}
