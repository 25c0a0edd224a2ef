-- Stragglers: ranks with the longest own time per step, compared with the median rank of the step.
-- Own time is all but exposed communication, which includes waiting for others.
with own as (
  select run, rank, step, sum(gpu_time_ns - exposed_communication_ns) as own_ns
  from steps where kernels > 0 group by run, rank, step
), compared as (
  select run, rank, own_ns, median(own_ns) over (partition by run, step) as median_ns,
         row_number() over (partition by run, step order by own_ns desc, rank) as place
  from own
)
select run, rank, count(*) as steps, sum(case when place = 1 then 1 else 0 end) as slowest_in,
       sum(own_ns) / 1e6 as own_ms, (sum(own_ns) - sum(median_ns)) / 1e6 as above_median_ms, sum(own_ns) / sum(median_ns) as of_median
from compared group by run, rank order by above_median_ms desc, run, rank limit 20
