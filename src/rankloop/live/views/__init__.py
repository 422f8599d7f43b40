"""What can be seen of live loops, as plain data: one module for each page, functions of an open `Live`."""
