-- revision: which library this is. A newer one has a higher number and does all that this one does.
--
-- flags:   no-writes
-- Returns  the number
return revision
