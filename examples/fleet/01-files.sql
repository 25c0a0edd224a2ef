-- Runs: files added and unreadable, ranks missing, hosts, and how much the traces can tell.
with added as (
  select run, max(build) as build, sum(files) as n_files, sum(unreadable) as n_unreadable, sum(skipped) as skipped_records
  from runs group by run
), traces as (
  select run, count(distinct rank) as ranks, max(world_size) as world_size, count(distinct host) as hosts,
         min(grade) as best_grade, max(grade) as worst_grade
  from files group by run
)
select added.run, build, n_files, n_unreadable, skipped_records, ranks, world_size - ranks as ranks_missing, hosts, best_grade, worst_grade
from added join traces on added.run = traces.run order by added.run
