-- Regressions: operations that take longer per step and rank in the last run (by name) than in the first.
-- Standard errors over ranks tell changes from noise: below 3, ranks differ about as much as runs.
with n_steps as (
  select run, rank, count(distinct step) as steps from steps where kernels > 0 group by run, rank
), per_rank as (
  select operations.run, operation, operations.rank, sum(total_ns) / coalesce(max(steps), 1) as ns
  from operations left join n_steps on n_steps.run = operations.run and n_steps.rank = operations.rank
  group by operations.run, operation, operations.rank
), per_run as (
  select run, operation, count(*) as ranks, avg(ns) as ns, var_samp(ns) / count(*) as error2 from per_rank group by run, operation
), ends as (
  select min(run) as first_run, max(run) as last_run from runs having min(run) < max(run)
)
select a.operation, a.run as run_a, b.run as run_b, b.ranks, a.ns / 1e6 as a_ms, b.ns / 1e6 as b_ms, (b.ns - a.ns) / 1e6 as delta_ms,
       b.ns / nullif(a.ns, 0) as of_a, (b.ns - a.ns) / nullif(sqrt(a.error2 + b.error2), 0) as standard_errors
from ends join per_run a on a.run = first_run join per_run b on b.run = last_run and b.operation = a.operation
order by delta_ms desc, a.operation
