-- Time by operation over ranks and builds: total, share of the run, and the ranks with the least and the most of it.
with by_rank as (
  select run, operation, rank, sum(count) as kernels, sum(total_ns) as ns from operations group by run, operation, rank
), builds as (
  select run, max(build) as build from runs group by run
), by_run as (
  select run, operation, count(*) as ranks, sum(kernels) as kernels, sum(ns) as ns, min(ns) as least_ns, max(ns) as most_ns
  from by_rank group by run, operation
)
select build, by_run.run, operation, ranks, kernels, ns / 1e6 as total_ms, ns / sum(ns) over (partition by by_run.run) as share,
       least_ns / 1e6 as least_ms, most_ns / 1e6 as most_ms
from by_run join builds on builds.run = by_run.run order by by_run.run, ns desc, operation
