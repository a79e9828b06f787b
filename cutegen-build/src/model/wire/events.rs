//! [`Events`]: server-sent events, cut from bytes as they come. Its memory is bounded.

/// The longest event.
pub const EVENT_MAX: usize = 1 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name, if it has one.
    pub name: String,
    /// Its data, lines joined.
    pub data: String,
}

/// A reader of events.
#[derive(Debug, Default)]
pub struct Events {
    line: Vec<u8>,
    next: Event,
    has_data: bool,
    was_cr: bool,
}

/// An event is longer than [`EVENT_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Events {
    /// Takes bytes; the events that end in them. Comments are no events.
    ///
    /// # Errors
    /// An event is too long.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        for byte in bytes {
            // a line ends with LF, CR or both
            let is_second = *byte == b'\n' && std::mem::take(&mut self.was_cr);
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => {
                    self.was_cr = *byte == b'\r';
                    events.extend(self.line_end());
                }
                _ => {
                    self.was_cr = false;
                    self.line.push(*byte);
                }
            }
            if self.line.len() + self.next.data.len() > EVENT_MAX {
                return Err(TooLong);
            }
        }
        Ok(events)
    }

    /// The event that the stream's end cut off, if its data are there.
    pub fn end(&mut self) -> Option<Event> {
        let last = self.line_end();
        last.or_else(|| self.event())
    }

    fn line_end(&mut self) -> Option<Event> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        if line.is_empty() {
            return self.event();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field.trim_start_matches('\u{feff}') {
            "event" => value.clone_into(&mut self.next.name),
            "data" => {
                if self.has_data {
                    self.next.data.push('\n');
                }
                self.has_data = true;
                self.next.data.push_str(value);
            }
            _ => {}
        }
        None
    }

    fn event(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.next);
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::{EVENT_MAX, Event, Events, TooLong};

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_cut_wherever_the_bytes_are() {
        let stream = "\u{feff}event: a\ndata: 1\n\n: a comment\n\ndata:2\r\ndata: τ\r\n\r\nid: 7\rdata: 3\r\revent: b\n\n";
        let expected = [event("a", "1"), event("", "2\nτ"), event("", "3")];
        for size in 1..=stream.len() {
            let mut events = Events::default();
            let found: Vec<Event> =
                stream.as_bytes().chunks(size).flat_map(|bytes| events.take(bytes).expect("short")).collect();
            assert_eq!(found, expected, "in pieces of {size}");
            assert_eq!(events.end(), None);
        }
    }

    #[test]
    fn an_event_that_is_cut_off_is_told_at_the_end() {
        let mut events = Events::default();
        assert_eq!(events.take(b"data: [DONE]"), Ok(Vec::new()));
        assert_eq!(events.end(), Some(event("", "[DONE]")));
    }

    #[test]
    fn memory_is_bounded() {
        let line = vec![b'x'; EVENT_MAX / 2];
        let mut one = Events::default();
        assert_eq!((one.take(&line), one.take(&line)), (Ok(Vec::new()), Ok(Vec::new())));
        assert_eq!(one.take(b"x"), Err(TooLong));
        let mut many = Events::default();
        let lines = "data: 0123456789\n".repeat(EVENT_MAX / 10);
        assert_eq!(many.take(lines.as_bytes()), Err(TooLong));
    }
}
