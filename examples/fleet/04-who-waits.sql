-- Who waits for whom: in a collective, the rank that comes last waits least, so the others wait for it.
select run, collective, message_bytes, arg_min(rank, total_ns) as last_to_arrive,
       sum(total_ns - fastest) / 1e6 as wait_of_others_ms
from (select *, min(total_ns) over (partition by run, collective, message_bytes, group_name) as fastest from collectives)
group by run, collective, message_bytes having count(distinct rank) > 1
order by wait_of_others_ms desc limit 20
