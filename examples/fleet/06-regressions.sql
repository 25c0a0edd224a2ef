-- Regressions: operations whose mean time per rank grew from the first to the last run.
with per_run as (
  select run, operation, sum(total_ns) / count(distinct rank) as ns from operations group by run, operation
), ends as (select min(run) as a, max(run) as b from per_run)
select operation, a.ns / 1e6 as a_ms, b.ns / 1e6 as b_ms, (b.ns - a.ns) / 1e6 as delta_ms
from ends join per_run a on a.run = ends.a join per_run b using (operation) where b.run = ends.b
order by delta_ms desc
