//! The timeline of a file that is still being parsed: it is of the events so far.

use super::support::Random;
use super::{Events, check_rows, check_window, events_by_row, index_of, traces};
use tracedrop::analysis::Query;
use tracedrop::engine::Session;
use tracedrop::timeline::answers::{TimelineAnswer, TimelineAsk, Tracks};
use tracedrop::timeline::{Timeline, Window, of_run};

/// Nanoseconds between times of made events.
const STEP: u64 = 10_000;

/// A made event: thread, phase, and start and length in nanoseconds.
type Made = (u64, char, u64, u64);

/// Complete events on two threads, in no order of time, and on a third one pairs of which the ends come later. Threads are named at
/// the start.
fn made(n: u64) -> Vec<Made> {
    let mut events: Vec<Made> = (1..=3).map(|thread| (thread, 'M', 0, 0)).collect();
    for i in 0..n {
        let at = STEP * (1_000 + i * 7_919 % n);
        events.push((1 + i % 2, 'X', at, STEP / 2));
        match i % 6 {
            1 => events.push((3, 'B', STEP * (1_000 + i), 0)),
            4 => events.push((3, 'E', STEP * (1_000 + i) - 1_000, 0)),
            _ => {}
        }
    }
    // The first one in time is the last one in the file.
    events.push((1, 'X', STEP, STEP));
    events
}

fn line((thread, phase, at, length): &Made) -> String {
    let about = match phase {
        'M' => format!(r#""name":"thread_name","args":{{"name":"worker {thread}"}}"#),
        'X' => format!(r#""name":"even","dur":{}"#, length / 1_000),
        _ => r#""name":"pair""#.to_string(),
    };
    format!("{{\"ph\":\"{phase}\",\"pid\":1,\"tid\":{thread},\"ts\":{},{about}}},\n", at / 1_000)
}

/// By thread: start and length of its slices, from the first time on. What has no end yet lasts to the last time.
fn plain_loop(events: &[Made]) -> Vec<Vec<(u64, u64)>> {
    let times = || events.iter().filter(|event| event.1 != 'M');
    let first = times().map(|event| event.2).min().unwrap();
    let last = times().map(|event| event.2 + event.3).max().unwrap();
    let mut slices = vec![Vec::new(); 3];
    let mut open = None;
    for (thread, phase, at, length) in events {
        match phase {
            'X' => slices[*thread as usize - 1].push((at - first, *length)),
            'B' => open = Some(*at),
            'E' => slices[2].extend(open.take().map(|start: u64| (start - first, at - start))),
            _ => {}
        }
    }
    slices[2].extend(open.map(|start| (start - first, last - start)));
    slices.retain(|slices| !slices.is_empty());
    slices.iter_mut().for_each(|slices| slices.sort_unstable());
    slices.sort_unstable();
    slices
}

fn tracks_of(timeline: &Timeline, session: &Session) -> Tracks {
    match timeline.answer(session.run(), &TimelineAsk::Tracks) {
        TimelineAnswer::Tracks(tracks) => tracks,
        other => panic!("{other:?}"),
    }
}

fn slices_of(events: Events) -> Vec<Vec<(u64, u64)>> {
    let mut slices: Vec<Vec<(u64, u64)>> = events.into_iter().map(|(_, slices)| slices).collect();
    slices.sort_unstable();
    slices
}

#[test]
fn the_timeline_so_far_is_of_a_plain_loop_over_the_events_so_far() {
    let events = made(3_000);
    let lines: Vec<String> = events.iter().map(line).collect();
    let n_bytes = 2 + lines.iter().map(String::len).sum::<usize>();
    let mut session = Session::new("made.json", n_bytes as u64, None, Query::default());
    session.feed(b"[\n");
    let mut fed = 0;
    let mut before: Option<Tracks> = None;
    for upto in [1_500, 1_511, 1_512, 1_513, 2_900, events.len()] {
        lines[fed..upto].iter().for_each(|line| session.feed(line.as_bytes()));
        fed = upto;
        assert!(session.make_partial());
        let timeline = of_run(session.run()).unwrap();
        assert_eq!(
            slices_of(events_by_row(session.run(), &timeline)),
            plain_loop(&events[..upto]),
            "{upto} events"
        );
        let trace = &session.run().traces[0];
        let index = index_of(trace);
        check_rows("made.json", trace, &index);
        for row in 0..index.rows.len() {
            check_window("made.json", trace, &index, row, Window { first_pixel: 0, bits: 18, n_pixels: 130 });
        }
        // Tracks are found again among those of more events.
        let tracks = tracks_of(&timeline, &session);
        if let Some(before) = before {
            for (number, track) in (0..).zip(&before.tracks) {
                let later = before.number_in(&tracks, number).expect("it is still there");
                assert_eq!(tracks.tracks[later as usize].title, track.title);
            }
            assert!(tracks.start_ns <= before.start_ns);
        }
        before = Some(tracks);
    }
    // The last event starts long before all others.
    assert_eq!(before.unwrap().start_ns as u64, STEP);
}

#[test]
fn half_of_a_file_is_drawn_as_a_plain_painter_draws_it() {
    let mut random = Random(27);
    let mut n_drawn = 0;
    for (path, _) in traces() {
        let name = path.file_name().unwrap().to_string_lossy();
        let bytes = std::fs::read(&path).unwrap();
        let mut session = Session::new(&name, bytes.len() as u64, None, Query::default());
        session.feed(&bytes[..bytes.len() / 2]);
        if !session.make_partial() || session.run().traces[0].slices.is_empty() {
            continue;
        }
        n_drawn += 1;
        let trace = &session.run().traces[0];
        let index = index_of(trace);
        check_rows(&name, trace, &index);
        for _ in 0..6 {
            let at = random.below(index.rows.len() as u64) as usize;
            let bits = random.below(40) as u32;
            let order: Vec<u32> = index.row(at).numbers.iter_from(0).collect();
            let near = trace.slices.ts[order[random.below(order.len() as u64) as usize] as usize];
            let first_pixel = (near.wrapping_sub(index.origin) as u64 >> bits).saturating_sub(20);
            check_window(&name, trace, &index, at, Window { first_pixel, bits, n_pixels: 60 });
        }
    }
    assert!(n_drawn > 20, "{n_drawn}");
}
