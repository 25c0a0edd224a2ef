-- Files that cannot be read, with the reason.
select run, file, error from files where error is not null order by run, file
