//! Rows survive packing, joining and traveling.

use super::block::remap_row;
use super::packing::{BLOCK_ROWS, lanes_of};
use super::table::MIN_APPENDED_ROWS;
use super::*;
use crate::base::strings::StringId;
use std::sync::Arc;

fn row(i: u64) -> Access {
    Access {
        sample: i,
        ts: 1000 + i as i64 * 7,
        address: u64::MAX - i * 64,
        op: Op::ALL[(i % 3) as usize],
        op_text: (i % 3 == 2).then_some(StringId(9)),
        symbol: (!i.is_multiple_of(5)).then_some(StringId(i as u32 % 40)),
        region: RegionType::ALL[(i % 6) as usize],
        region_id: i as u32,
        latency: i.is_multiple_of(7).then_some(u64::MAX),
        thread: Some(-(i as i64)),
        cpu: Some(3),
        ..Access::default()
    }
}

#[test]
fn columns_are_rows() {
    const ALL: [Optional; 12] = [
        Optional::OpText,
        Optional::Phase,
        Optional::Symbol,
        Optional::Dso,
        Optional::RegionText,
        Optional::Latency,
        Optional::CacheLevel,
        Optional::Remote,
        Optional::Cpu,
        Optional::Thread,
        Optional::TokenIndex,
        Optional::ContextTokens,
    ];
    for n_before in [0, 5] {
        for n in [0, 3, 1024, 5001, 8701] {
            let rows: Vec<Access> = (0..n).map(row).collect();
            let (mut one_by_one, mut at_once) = (AccessTable::default(), AccessTable::default());
            for table in [&mut one_by_one, &mut at_once] {
                (0..n_before).for_each(|i| table.push(&row(i)));
            }
            rows.iter().for_each(|row| one_by_one.push(row));
            let lane = |lane: usize| rows.iter().map(|row| lanes_of(row)[lane]).collect::<Vec<i64>>();
            let each = |lane_number: usize| Numbers::Each(lane(lane_number));
            // The same by indexes into distinct values.
            let codes = |lane_number: usize| {
                let mut distinct = lane(lane_number);
                distinct.sort_unstable();
                distinct.dedup();
                let code = |value: &i64| distinct.binary_search(value).unwrap() as u32;
                Numbers::Codes(lane(lane_number).iter().map(code).collect(), distinct)
            };
            let op = |row: &Access| row.op as u32;
            let ops = match n % 2 {
                0 => Numbers::Each(rows.iter().map(|row| op(row).into()).collect()),
                _ => Numbers::Codes(rows.iter().map(op).collect(), vec![0, 1, 2]),
            };
            let region = |row: &Access| StringId(row.region as u32);
            let regions = Numbers::Texts(rows.iter().map(region).collect(), (0..6).collect());
            let mut columns = AccessColumns::new(rows.len(), codes(3), each(4), ops, regions);
            columns.set_samples(each(2));
            columns.set_region_ids(codes(5), None);
            for which in ALL {
                let valid: Vec<bool> = lane(1).iter().map(|there| there >> which as usize & 1 == 1).collect();
                if valid.iter().any(|valid| *valid) {
                    let number = 6 + which as usize;
                    let numbers = if number.is_multiple_of(2) { each(number) } else { codes(number) };
                    columns.set(which, numbers, Some(valid).filter(|valid| valid.contains(&false)));
                }
            }
            at_once.push_columns(&columns);
            assert!(at_once.iter().eq(one_by_one.iter()), "{n}");
            // Other blocks may be shorter, after which many rows start a block of their own.
            let whole = at_once.blocks.iter().filter(|block| block.n_rows() == BLOCK_ROWS);
            assert!(n_before > 0 && n as usize >= MIN_APPENDED_ROWS || whole.eq(&one_by_one.blocks), "{n}");
            assert_eq!((at_once.span, at_once.is_unordered), (one_by_one.span, one_by_one.is_unordered));
        }
    }
}

#[test]
fn rows_come_back_and_travel() {
    for n in [0, 1, 1023, 1024, 1025, 3000] {
        let mut table = AccessTable::default();
        (0..n).for_each(|i| table.push(&row(i)));
        assert_eq!(table.len() as u64, n);
        assert!(table.iter().eq((0..n).map(row)), "{n}");
        let mut n_seen = 0;
        for wanted in [Wanted::TOUCHES, Wanted::with(&[Optional::Symbol]), Wanted::ALL] {
            let mut blocks = table.blocks(wanted);
            while let Some(rows) = blocks.next_rows() {
                for at in 0..rows.len() {
                    let (own, whole) = (rows.access(at), row(n_seen));
                    assert_eq!((own.ts, own.address, own.op), (whole.ts, whole.address, whole.op));
                    assert_eq!((rows.times()[at], rows.op(at)), (whole.ts, whole.op));
                    assert_eq!(rows.addresses()[at] as u64, whole.address);
                    assert!(wanted == Wanted::TOUCHES || own.symbol == whole.symbol);
                    assert!(wanted != Wanted::ALL || own == whole);
                    n_seen += 1;
                }
            }
            assert_eq!(std::mem::take(&mut n_seen), n);
        }
        assert_eq!(table.get(n as usize), None);
        assert_eq!(table.get(n as usize / 2), (n > 0).then(|| row(n / 2)));
        let bytes = postcard::to_allocvec(&table).unwrap();
        let back: AccessTable = postcard::from_bytes(&bytes).unwrap();
        let (mut around, n_bytes) = (vec![7; 3], bytes.len());
        around.extend(bytes);
        around.push(7);
        let within = AccessTable::within(&Arc::new(around), 3..3 + n_bytes).unwrap();
        assert!(within.blocks == back.blocks && within.iter().eq(back.iter()));
        assert!(back.iter().eq(table.iter()));
        assert_eq!(back.span(), table.span());
        assert!(table.texts_are_below(40) && (n < 40 || !table.texts_are_below(39)));
        let mut twice = table.clone();
        twice.append(&back, &(0..64).map(StringId).collect::<Vec<_>>());
        assert_eq!(twice.get(n as usize), (n > 0).then(|| Access { sample: n, ..row(0) }));
    }
}

#[test]
fn what_there_is_no_room_for_is_counted() {
    let whole: Vec<Access> = (0..20_000).map(row).collect();
    let part = |rows: &[Access]| {
        let mut table = AccessTable::default();
        rows.iter().for_each(|row| table.push(row));
        table
    };
    for max_rows in [0, 1, 5_000, 12_345, 19_999, 20_000, 30_000] {
        let mut by_rows = AccessTable::default();
        by_rows.set_limits(max_rows, usize::MAX);
        whole.iter().for_each(|row| by_rows.push(row));
        let mut by_parts = AccessTable::default();
        by_parts.set_limits(max_rows, usize::MAX);
        by_parts.set_given_positions();
        for rows in whole.chunks(9_000) {
            by_parts.append(&part(rows), &(0..64).map(StringId).collect::<Vec<_>>());
        }
        for table in [by_rows, by_parts] {
            assert!(table.iter().eq(whole.iter().copied().take(max_rows)), "{max_rows}");
            assert_eq!(
                (table.n_left_out(), table.n_seen()),
                (20_000u64.saturating_sub(max_rows as u64), 20_000)
            );
        }
    }
    let mut by_bytes = AccessTable::default();
    by_bytes.set_limits(usize::MAX, 1);
    whole.iter().for_each(|row| by_bytes.push(row));
    assert_eq!((by_bytes.len(), by_bytes.n_seen()), (BLOCK_ROWS, 20_000));
}

#[test]
fn tables_that_are_appended_are_one() {
    let texts: Vec<StringId> = [0].into_iter().chain(8..80).map(StringId).collect();
    let (mut whole, mut joined) = (AccessTable::default(), AccessTable::default());
    for (n, first) in [(3, 0), (9000, 5000), (20_000, 700), (0, 0), (100, 1), (8192, 30_000)] {
        let mut part = AccessTable::default();
        (first..first + n).map(row).for_each(|row| part.push(&Access { sample: row.sample - first, ..row }));
        let n_before = whole.len() as u64;
        part.iter().for_each(|row| whole.push(&remap_row(row, n_before, &texts)));
        joined.append(&part, &texts);
        assert!(joined.iter().eq(whole.iter()), "{n}");
    }
    assert!(joined.blocks.iter().any(|block| block.n_rows() < BLOCK_ROWS));
    let bytes = postcard::to_allocvec(&joined).unwrap();
    let back: AccessTable = postcard::from_bytes(&bytes).unwrap();
    for table in [&joined, &back] {
        assert!(table.iter().eq(whole.iter()));
        let mut again = AccessTable::default();
        again.append(table, &(0..99).map(StringId).collect::<Vec<_>>());
        assert!(again.iter().eq(whole.iter()));
        let about = |table: &AccessTable| (table.span(), table.last_ts, table.first_ts, table.is_unordered);
        assert_eq!(about(table), about(&whole));
        for at in [0, 2, 3, 1026, 1027, 9003, 9004, 29_100, 37_294] {
            assert_eq!(table.get(at), whole.get(at), "{at}");
        }
        let mut rows = Vec::new();
        let mut blocks = table.blocks(Wanted::ALL);
        while let Some(block) = blocks.next_rows() {
            rows.extend((0..block.len()).map(|at| block.access(at)));
        }
        assert!(whole.iter().eq(rows));
    }
}
