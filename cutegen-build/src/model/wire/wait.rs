//! How long to wait before asking again: what an endpoint's headers ask for, else longer each time. Times are milliseconds.

/// The longest wait that grew.
const GROWN_MAX_MS: u64 = 60_000;
/// How far apart those are kept that wait for one moment.
const SPREAD_MAX_MS: u64 = 1_000;

/// Rate headers: what is left, and when it is filled again.
const LIMITS: &[[&str; 2]] = &[
    ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
    ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
    ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
    ["anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"],
    ["anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"],
];

/// What the headers ask for, at a time since 1970.
pub fn asked_ms(header: impl Fn(&str) -> Option<String>, now_ms: u64) -> Option<u64> {
    let exact = header("retry-after-ms").and_then(|value| value.trim().parse::<u64>().ok());
    let after = || header("retry-after").and_then(|value| length_or_date(&value, now_ms));
    let spent = |left: &str| header(left).is_some_and(|value| value.trim() == "0");
    let resets = || {
        let spent = LIMITS.iter().filter(|[left, _]| spent(left));
        spent.filter_map(|[_, reset]| length_or_date(&header(reset)?, now_ms)).max()
    };
    exact.or_else(after).or_else(resets)
}

/// The wait after this many attempts, with a random number: `first_ms` after one, and never less than was asked for.
#[must_use]
pub fn after_ms(first_ms: u64, attempts: u32, asked: Option<u64>, random: u64) -> u64 {
    let grown = first_ms.saturating_mul(1 << attempts.saturating_sub(1).min(10)).clamp(2, GROWN_MAX_MS);
    match asked {
        // many that wait for one moment must not come at one moment
        Some(asked) => asked.saturating_add(random % (asked / 10).clamp(1, SPREAD_MAX_MS)),
        None => grown / 2 + random % (grown / 2),
    }
}

/// Seconds, `6m0s`, or a date.
fn length_or_date(text: &str, now_ms: u64) -> Option<u64> {
    let text = text.trim();
    let until = |date: u64| (date * 1000).saturating_sub(now_ms);
    length(text).or_else(|| date(text).map(until))
}

fn length(text: &str) -> Option<u64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return (0.0..1e9).contains(&seconds).then(|| (seconds * 1000.0).ceil() as u64);
    }
    let (mut all, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value: f64 = rest[..number].parse().ok()?;
        let unit = rest[number..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| number + at);
        all += value * scale(&rest[number..unit])?;
        rest = &rest[unit..];
    }
    (!text.is_empty() && all < 1e12).then(|| all.ceil() as u64)
}

fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3600e3,
        "d" => 86400e3,
        _ => return None,
    })
}

/// Seconds since 1970 of `2026-01-02T03:04:05Z` or `Fri, 02 Jan 2026 03:04:05 GMT`.
fn date(text: &str) -> Option<u64> {
    let (day, time, offset) = if text.contains(',') { of_http(text) } else { of_rfc3339(text) }?;
    let mut clock = time.split(':').map(|part| part.split('.').next()?.parse::<i64>().ok());
    let [hour, minute, second] = [clock.next()??, clock.next()??, clock.next()??];
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let seconds = days(day)? * 86400 + hour * 3600 + minute * 60 + second - offset;
    is_time.then(|| u64::try_from(seconds).ok())?
}

/// Year, month and day; the time; how many seconds its zone is ahead.
type Read<'a> = ([i64; 3], &'a str, i64);

fn of_rfc3339(text: &str) -> Option<Read<'_>> {
    let (day, rest) = text.split_once('T')?;
    let zone = rest.find(['Z', '+', '-'])?;
    let mut parts = day.split('-').map(|part| part.parse().ok());
    let day = [parts.next()??, parts.next()??, parts.next()??];
    Some((day, &rest[..zone], zone_seconds(&rest[zone..])?))
}

fn of_http(text: &str) -> Option<Read<'_>> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, "GMT"] = words.as_slice() else { return None };
    let month = MONTHS.find(month).filter(|at| at % 3 == 0 && month.len() == 3)? as i64 / 3 + 1;
    Some(([year.parse().ok()?, month, day.parse().ok()?], time, 0))
}

fn zone_seconds(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, rest) = (if zone.starts_with('-') { -1 } else { 1 }, zone.get(1..)?);
    let (hours, minutes) = rest.split_once(':')?;
    let seconds =
        hours.parse::<i64>().ok()?.checked_mul(3600)? + minutes.parse::<i64>().ok()?.checked_mul(60)?;
    (seconds.abs() <= 86400).then_some(sign * seconds)
}

/// Days since 1970 in the Gregorian calendar, whose year begins in March here.
fn days([year, month, day]: [i64; 3]) -> Option<i64> {
    let is_near = (1970..3000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let year = if month > 2 { year } else { year - 1 };
    let of_year = || (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    is_near.then(|| 365 * year + year / 4 - year / 100 + year / 400 + of_year() - 719_468)
}

#[cfg(test)]
mod tests {
    use super::{after_ms, asked_ms, length_or_date};

    /// Of `date -u -d 2026-01-02T03:04:05Z +%s`, 10 s earlier.
    const NOW_MS: u64 = (1_767_323_045 - 10) * 1000;

    #[test]
    fn lengths_and_dates_are_read() {
        let cases = [
            ("10", Some(10_000)),
            ("0.5", Some(500)),
            ("6m0s", Some(360_000)),
            ("20ms", Some(20)),
            ("1h2m3.5s", Some(3_723_500)),
            ("2026-01-02T03:04:05Z", Some(10_000)),
            ("2026-01-02T03:04:05.25Z", Some(10_000)),
            ("2026-01-02T05:04:05+02:00", Some(10_000)),
            ("Fri, 02 Jan 2026 03:04:05 GMT", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Thu, 29 Feb 2024 00:00:00 GMT", Some(0)),
        ];
        for (text, ms) in cases {
            assert_eq!(length_or_date(text, NOW_MS), ms, "{text}");
        }
        for wrong in [
            "",
            "-1",
            "soon",
            "1x",
            "NaN",
            "inf",
            "1e300",
            "s",
            "Tz",
            "T",
            "2026-01-02T",
            "9-9-9T1:1:1Z",
            "Fri, 99 Jan 2026 03:04:05 GMT",
            "Fri, 02 anF 2026 03:04:05 GMT",
            "2026-01-02T03:04:05+99999999999999999:00",
        ] {
            assert_eq!(length_or_date(wrong, NOW_MS), None, "{wrong}");
        }
    }

    #[test]
    fn the_most_exact_header_is_obeyed() {
        let with = |headers: &[(&str, &str)]| {
            let value = |name: &str| {
                headers.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            asked_ms(value, NOW_MS)
        };
        assert_eq!(with(&[]), None);
        assert_eq!(with(&[("retry-after", "3"), ("retry-after-ms", "2500")]), Some(2500));
        assert_eq!(with(&[("retry-after", "x"), ("retry-after-ms", "x")]), None);
        let left = ("x-ratelimit-remaining-tokens", "0");
        let requests = [("x-ratelimit-remaining-requests", "5"), ("x-ratelimit-reset-requests", "1h")];
        assert_eq!(with(&[left, ("x-ratelimit-reset-tokens", "7s"), requests[0], requests[1]]), Some(7000));
        assert_eq!(with(&requests), None);
    }

    #[test]
    fn waits_grow_with_jitter_and_are_never_shorter_than_asked() {
        let spread = |attempt| [after_ms(1000, attempt, None, 0), after_ms(1000, attempt, None, u64::MAX)];
        for (attempt, [least, most]) in
            [(1, [500, 1000]), (2, [1000, 2000]), (5, [8000, 16_000]), (40, [30_000, 60_000])]
        {
            let [low, high] = spread(attempt);
            assert!(low == least && (least..most).contains(&high), "{attempt}: {low} {high}");
        }
        for random in [0, 1, 99, u64::MAX] {
            let wait = after_ms(1000, 3, Some(5000), random);
            assert!((5000..5500).contains(&wait), "{wait}");
            assert_eq!(after_ms(1000, 3, Some(0), random), 0);
            assert!(after_ms(0, 1, None, random) < 2);
        }
    }
}
