-- p99 of kernel durations from histograms: the upper end of the bucket that has it.
with sums as (select run, name, bucket, sum(count) as n from kernel_durations group by all),
     running as (select *, sum(n) over (partition by run, name order by bucket) as below,
                        sum(n) over (partition by run, name) as total from sums)
select run, name, any_value(total)::bigint as launches, power(2, min(bucket) + 1)::bigint as p99_below_ns
from running where below >= 0.99 * total group by run, name order by p99_below_ns desc, name limit 20
