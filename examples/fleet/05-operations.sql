-- Time by operation over all ranks of a run.
select run, operation, sum(count)::bigint as kernels, sum(total_ns) / 1e6 as total_ms,
       sum(total_ns) / sum(sum(total_ns)) over (partition by run) as share
from operations group by run, operation order by run, total_ms desc
