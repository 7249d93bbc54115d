-- revision: reports which revision of the library is loaded. A higher one does everything that a lower one does.
--
-- Used by  whoever loads the library, 13.1
-- flags:   no-writes
-- Returns  a number
return revision
