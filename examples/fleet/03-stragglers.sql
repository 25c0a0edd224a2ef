-- Stragglers: ranks with the longest own time per step. Communication includes waiting for others, so it is left out.
select run, rank, step, (gpu_time_ns - exposed_communication_ns) / 1e6 as own_ms,
       own_ms / median(own_ms) over (partition by run, step) as of_median
from steps where kernels > 0
order by of_median desc, run, rank limit 20
