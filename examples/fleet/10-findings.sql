-- Findings by kind: on how many ranks, and the time at stake.
select run, kind, count(distinct rank) as ranks, sum(time_ns) / 1e6 as total_ms, max(share) as worst_share
from findings group by run, kind order by run, total_ms desc nulls last, kind
