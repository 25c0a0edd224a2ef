-- Who waits for whom: the rank that arrives last at a collective waits least, so its calls are the shortest.
-- What the calls of the others take longer is their wait for it. Ranks are compared within their process group.
with calls as (
  select run, collective, dtype, message_bytes, group_name, rank, count, total_ns / count as mean_ns from collectives
), placed as (
  select *, min(mean_ns) over (partition by run, collective, dtype, message_bytes, group_name) as shortest_ns,
         row_number() over (partition by run, collective, dtype, message_bytes, group_name order by mean_ns, rank) as place,
         row_number() over (partition by run, collective, dtype, message_bytes, group_name order by mean_ns desc, rank) as place_from_end
  from calls
)
select run, collective, message_bytes, group_name, max(case when place = 1 then rank end) as waited_for,
       max(case when place_from_end = 1 then rank end) as longest_waiter, count(*) - 1 as ranks_waiting,
       sum((mean_ns - shortest_ns) * count) / 1e6 as wait_ms, max((mean_ns - shortest_ns) * count) / 1e6 as longest_wait_ms
from placed group by run, collective, dtype, message_bytes, group_name having count(*) > 1
order by wait_ms desc, run, collective, message_bytes, group_name limit 20
