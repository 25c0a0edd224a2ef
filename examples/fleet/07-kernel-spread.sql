-- Kernels and collectives whose duration varies most: standard deviation from sums that add up exactly over ranks.
with each as (
  select run, 'kernel' as what, name, count, total_ns, total_ns2 from kernels
  union all
  select run, 'collective' as what, concat(collective, ', ', coalesce(cast(message_bytes as varchar(20)), 'unknown'), ' bytes') as name,
         count, total_ns, total_ns2
  from collectives where total_ns2 is not null
), sums as (
  select run, what, name, sum(count) as launches, cast(sum(total_ns) as double) as ns, cast(sum(total_ns2) as double) as ns2
  from each group by run, what, name
)
select run, what, name, launches, ns / launches as mean_ns,
       sqrt(greatest(ns2 / launches - (ns / launches) * (ns / launches), 0)) as deviation_ns
from sums where launches > 1 order by deviation_ns desc, run, what, name limit 20
