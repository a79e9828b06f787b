//! [`Prompt`]: blocks of text in order. The stable ones come first and are the same in all of a run, so that an endpoint may
//! cache them. Blocks of a rank may be left out where a prompt is too long.

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The stable prefix.
    pub stable: Vec<Block>,
    /// What differs from request to request.
    pub rest: Vec<Block>,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its text; blocks join without anything between them.
    pub text: String,
    /// Whether it may go.
    pub keep: Keep,
}

/// Whether a block may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Never.
    Always,
    /// Where the prompt is too long, the lowest rank first.
    Rank(u8),
}

impl Block {
    /// A block that stays.
    #[must_use]
    pub fn needed(text: impl Into<String>) -> Self {
        Self { text: text.into(), keep: Keep::Always }
    }

    /// A block that may go.
    #[must_use]
    pub fn ranked(text: impl Into<String>, rank: u8) -> Self {
        Self { text: text.into(), keep: Keep::Rank(rank) }
    }
}

impl Prompt {
    /// The stable prefix as one text.
    #[must_use]
    pub fn prefix(&self) -> String {
        joined(&self.stable)
    }

    /// What follows it.
    #[must_use]
    pub fn tail(&self) -> String {
        joined(&self.rest)
    }

    /// Its length.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.stable.iter().chain(&self.rest).map(|block| block.text.len()).sum()
    }

    /// The same without its lowest ranks, until a third of it is gone; none where nothing may go.
    #[must_use]
    pub fn shorter(&self) -> Option<Self> {
        let (mut shorter, most) = (self.clone(), self.bytes() / 3 * 2);
        while shorter.bytes() > most {
            let Some(lowest) = shorter.ranks().min() else { break };
            let stays = |block: &Block| block.keep != Keep::Rank(lowest);
            shorter.stable.retain(stays);
            shorter.rest.retain(stays);
        }
        (shorter != *self).then_some(shorter)
    }

    fn ranks(&self) -> impl Iterator<Item = u8> {
        self.stable.iter().chain(&self.rest).filter_map(|block| match block.keep {
            Keep::Always => None,
            Keep::Rank(rank) => Some(rank),
        })
    }
}

fn joined(blocks: &[Block]) -> String {
    blocks.iter().map(|block| block.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Block, Prompt};

    fn prompt() -> Prompt {
        Prompt {
            stable: vec![Block::needed("x".repeat(300)), Block::ranked("e".repeat(200), 0)],
            rest: vec![Block::ranked("a".repeat(200), 1), Block::needed("?".repeat(200))],
        }
    }

    #[test]
    fn the_lowest_ranks_go_until_a_third_is_gone() {
        let shorter = prompt().shorter().expect("something may go");
        // 900 bytes: 700 are more than 600, so both ranks go
        assert_eq!((prompt().bytes(), shorter.bytes()), (900, 500));
        assert_eq!(shorter.shorter(), None);
        let mut long = prompt();
        long.stable[1].text = "e".repeat(2000);
        assert_eq!(long.shorter().expect("the example goes").bytes(), 700);
    }

    #[test]
    fn the_prefix_and_the_tail_are_the_whole() {
        let all = prompt();
        assert_eq!(all.prefix().len() + all.tail().len(), all.bytes());
        assert!(all.prefix().ends_with('e') && all.tail().ends_with('?'));
    }
}
