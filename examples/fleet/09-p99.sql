-- p99 of kernel and collective durations from histograms: the upper end of the bucket that has it.
with each as (
  select run, 'kernel' as what, name, bucket, count from kernel_durations
  union all
  select run, 'collective' as what, concat(collective, ', ', coalesce(cast(message_bytes as varchar(20)), 'unknown'), ' bytes') as name,
         bucket, count
  from collective_durations
), sums as (
  select run, what, name, bucket, sum(count) as n from each group by run, what, name, bucket
), running as (
  select run, what, name, bucket, sum(n) over (partition by run, what, name order by bucket) as up_to,
         sum(n) over (partition by run, what, name) as launches
  from sums
)
select run, what, name, max(launches) as launches, cast(power(2, min(bucket) + 1) as bigint) as p99_below_ns
from running where 100 * up_to >= 99 * launches group by run, what, name order by p99_below_ns desc, run, what, name limit 20
