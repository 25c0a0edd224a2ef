-- Kernels whose duration varies most: standard deviation from sums that add up exactly over ranks.
with sums as (
  select run, name, sum(count) as launches, cast(sum(total_ns) as double) as ns, cast(sum(total_ns2) as double) as ns2
  from kernels group by run, name
)
select run, name, launches, ns / launches as mean_ns,
       sqrt(greatest(ns2 / launches - (ns / launches) * (ns / launches), 0)) as deviation_ns
from sums where launches > 1 order by deviation_ns desc, run, name limit 20
