-- Ranks of each run: read, missing, and how much their traces can tell.
select run, count(*) as files, count(error) as unreadable, sum(skipped) as skipped_records, mode(grade) as grade
from files group by run order by run
