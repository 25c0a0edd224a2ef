-- p99 of kernel durations from histograms: the upper end of the bucket that has it.
with sums as (
  select run, name, bucket, sum(count) as n from kernel_durations group by run, name, bucket
), running as (
  select run, name, bucket, sum(n) over (partition by run, name order by bucket) as up_to,
         sum(n) over (partition by run, name) as launches
  from sums
)
select run, name, max(launches) as launches, cast(power(2, min(bucket) + 1) as bigint) as p99_below_ns
from running where 100 * up_to >= 99 * launches group by run, name order by p99_below_ns desc, run, name limit 20
