-- Kernels whose duration varies most: standard deviation from sums that add up exactly over ranks.
select run, name, sum(count)::bigint as launches, sum(total_ns) / sum(count) as mean_ns,
       sqrt(greatest(sum(total_ns2)::double / sum(count) - power(sum(total_ns)::double / sum(count), 2), 0)) as deviation_ns
from kernels group by run, name having sum(count) > 1 order by deviation_ns desc limit 20
