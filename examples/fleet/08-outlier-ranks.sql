-- Ranks whose kernels of one name take longer than those of the other ranks: slow hardware, or uneven work.
select run, rank, name, total_ns / count as mean_ns, mean_ns / median(mean_ns) over (partition by run, name) as of_median
from (select *, total_ns / count as mean from kernels where count >= 10)
order by of_median desc, run, rank limit 20
