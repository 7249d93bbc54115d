"""What may be done to a queue, one typed method for each function of the library."""
