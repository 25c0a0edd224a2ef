-- Hosts that need longer for the same kernels than the median host: slow hardware, throttling, or uneven work.
-- Communication is left out, as it includes waiting. Files without a host count as a host each, by rank.
with hosts as (
  select run, rank, max(host) as host from files where error is null group by run, rank
), by_host as (
  select kernels.run, coalesce(host, concat('rank ', coalesce(cast(kernels.rank as varchar(20)), 'unknown'))) as host, name,
         sum(count) as launches, sum(total_ns) as ns
  from kernels left join hosts on hosts.run = kernels.run and hosts.rank = kernels.rank
  where operation not in ('All-reduce', 'All-gather', 'Reduce-scatter', 'All-to-all', 'Send/receive', 'Broadcast', 'Communication')
  group by kernels.run, coalesce(host, concat('rank ', coalesce(cast(kernels.rank as varchar(20)), 'unknown'))), name
), compared as (
  select run, host, name, launches, ns, median(ns / launches) over (partition by run, name) as median_ns
  from by_host where launches >= 10
)
select run, host, count(*) as kernel_names, sum(launches) as launches, sum(ns) / 1e6 as total_ms,
       sum(ns - launches * median_ns) / 1e6 as above_median_ms, sum(ns) / sum(launches * median_ns) as of_median
from compared group by run, host order by of_median desc, run, host limit 20
